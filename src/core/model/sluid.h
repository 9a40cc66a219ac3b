// src/core/model/sluid.h - the name of a job that is never given out again, as Slurm writes its own.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// 's' and thirteen digits to the base 32.
inline std::string sluid_text(std::uint64_t key) {
  constexpr char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string out(14, '0');
  out[0] = 's';
  for (std::size_t i = 13; i >= 1; --i, key >>= 5) out[i] = digits[key & 31];
  return out;
}

}  // namespace millrace
