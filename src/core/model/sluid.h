// src/core/model/sluid.h - the name of a job that is never given out again, as Slurm writes its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

constexpr std::string_view sluid_digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

// 's' and thirteen digits to the base 32.
inline std::string sluid_text(std::uint64_t key) {
  std::string out(14, '0');
  out[0] = 's';
  for (std::size_t i = 13; i >= 1; --i, key >>= 5) out[i] = sluid_digits[key & 31];
  return out;
}

// Meant as one: no number of a job has these letters.
inline bool looks_like_sluid(std::string_view text) {
  const auto is_sign = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return text.size() == 14 && (text[0] == 's' || text[0] == 'S') && std::ranges::all_of(text, is_sign);
}

// The key it was made of, its letters large or small; nothing: some are no digits, or they are more than 64 bits.
inline std::optional<std::uint64_t> parse_sluid(std::string_view text) {
  if (!looks_like_sluid(text)) return std::nullopt;
  std::uint64_t key = 0;
  for (const char c : text.substr(1)) {
    const std::size_t digit = sluid_digits.find(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    if (digit == std::string_view::npos || key >> 59 != 0) return std::nullopt;
    key = key << 5 | digit;
  }
  return key;
}

}  // namespace millrace
