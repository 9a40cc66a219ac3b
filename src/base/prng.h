// src/base/prng.h - random numbers from a seed, the same on every machine (standard distributions are not).
#pragma once

#include <cstdint>

#include "base/assert.h"

namespace millrace {

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed) : state_(seed) {}
  // splitmix64
  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform below `bound`; the bias of the remainder is far below what a test could see.
  constexpr std::uint64_t below(std::uint64_t bound) {
    MR_ASSERT(bound > 0);
    return next() % bound;
  }
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  constexpr bool chance(std::uint64_t in, std::uint64_t of) { return below(of) < in; }

 private:
  std::uint64_t state_;
};

}  // namespace millrace
