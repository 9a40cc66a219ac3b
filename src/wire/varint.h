// src/wire/varint.h - protobuf's numbers on the wire, for those who look at a message without making it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

inline std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace millrace
