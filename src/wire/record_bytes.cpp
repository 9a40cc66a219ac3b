// src/wire/record_bytes.cpp - see record_bytes.h.
#include "wire/record_bytes.h"

#include "wire/varint.h"

namespace millrace::record_bytes {

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

static void put_head(std::string& out, std::uint32_t tag, Raw::Type type) {
  put_varint(out, std::uint64_t{tag} << 3 | type);
}

void put_number(std::string& out, std::uint32_t tag, std::uint64_t value) {
  put_head(out, tag, Raw::number_type);
  put_varint(out, value);
}

void put_fixed64(std::string& out, std::uint32_t tag, std::uint64_t value) {
  put_head(out, tag, Raw::fixed64_type);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

void put_bytes(std::string& out, std::uint32_t tag, std::string_view bytes) {
  put_head(out, tag, Raw::bytes_type);
  put_varint(out, bytes.size());
  out += bytes;
}

void wrap_message(std::string& out, std::size_t start, std::uint32_t tag) {
  std::string head;
  put_head(head, tag, Raw::bytes_type);
  put_varint(head, out.size() - start);
  out.insert(start, head);
}

bool next_field(std::string_view& bytes, Raw& out) {
  const auto head = take_varint(bytes);
  if (!head || *head >> 3 == 0 || *head >> 32 != 0) return false;
  out.tag = static_cast<std::uint32_t>(*head >> 3);
  out.type = static_cast<Raw::Type>(*head & 7);
  out.number = 0;
  out.bytes = {};
  const auto take = [&](std::uint64_t count) {
    if (count > bytes.size()) return false;
    out.bytes = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return true;
  };
  switch (out.type) {
    case Raw::number_type: {
      const auto number = take_varint(bytes);
      if (number) out.number = *number;
      return number.has_value();
    }
    case Raw::fixed64_type:
      if (!take(8)) return false;
      for (std::size_t i = 8; i-- > 0;) out.number = out.number << 8 | static_cast<unsigned char>(out.bytes[i]);
      return true;
    case Raw::bytes_type: {
      const auto size = take_varint(bytes);
      return size && take(*size);
    }
    case Raw::fixed32_type:
      return take(4);
  }
  return false;
}

}  // namespace millrace::record_bytes
