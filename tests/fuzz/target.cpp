// tests/fuzz/target.cpp - see target.h.
#include "target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace millrace::fuzz {

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

std::vector<Seeds>& seed_makers() {
  static std::vector<Seeds> all;
  return all;
}

std::vector<std::string> made_seeds(std::string_view name) {
  for (const Seeds& seeds : seed_makers())
    if (seeds.name == name) return seeds.make();
  return {};
}

const Target* chosen(const char* name) {
  std::ranges::sort(targets(), {}, &Target::name);
  for (const Target& target : targets())
    if (name != nullptr && target.name == name) return &target;
  std::fprintf(stderr, "no such target; there are:");
  for (const Target& target : targets()) std::fprintf(stderr, " %s", std::string{target.name}.c_str());
  std::fprintf(stderr, "\n");
  return nullptr;
}

void must(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", law);
  std::abort();
}

std::uint8_t Pieces::byte() {
  if (rest_.empty()) return 0;
  const auto out = static_cast<std::uint8_t>(rest_[0]);
  rest_.remove_prefix(1);
  return out;
}

std::string_view Pieces::until(char end) {
  const std::size_t at = rest_.find(end);
  const std::string_view out = rest_.substr(0, at);
  rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + 1);
  return out;
}

std::string_view Pieces::sized() {
  const std::size_t low = byte(), high = byte();
  const std::string_view out = rest_.substr(0, low | high << 8);
  rest_.remove_prefix(out.size());
  return out;
}

}  // namespace millrace::fuzz
