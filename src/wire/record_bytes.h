// src/wire/record_bytes.h - what a field is in bytes, and which form each type of member has; the format is protobuf's.
//
// Records are written by wire/record_writer.h and read by wire/record_reader.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "base/fixed_point.h"
#include "base/shared_value.h"

namespace millrace::record_bytes {

// One field as it is in the bytes.
struct Raw {
  enum Type : std::uint32_t { number_type = 0, fixed64_type = 1, bytes_type = 2, fixed32_type = 5 };
  std::uint32_t tag = 0;
  Type type{};
  std::uint64_t number = 0;
  std::string_view bytes{};
};

void put_varint(std::string& out, std::uint64_t value);
void put_number(std::string& out, std::uint32_t tag, std::uint64_t value);
void put_fixed64(std::string& out, std::uint32_t tag, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t tag, std::string_view bytes);
// Everything behind `start` becomes a message of this tag.
void wrap_message(std::string& out, std::size_t start, std::uint32_t tag);
// Takes the next field off the front. False: that is no field.
bool next_field(std::string_view& bytes, Raw& out);

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<SharedValue<T>> = true;
template <class T>
inline constexpr bool is_shared_list = false;
template <class T>
inline constexpr bool is_shared_list<SharedValue<std::vector<T>>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
using Digits = std::array<std::uint8_t, 16>;
// Written whole and in order: who reads one counts (`other` of read_record).
template <class T>
inline constexpr bool is_amounts = false;
template <std::size_t N>
inline constexpr bool is_amounts<std::array<Fixed, N>> = true;

template <class T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T>
concept Named =
    !Number<T> && !HasFields<T> && !field::Wrapper<T> && requires(T value) { requires Number<decltype(value.value)>; };
template <class T>
concept Numeric = Number<T> || Named<T>;

template <Numeric T>
std::uint64_t to_number(const T& value) {
  if constexpr (Named<T>) {
    return to_number(value.value);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <Numeric T>
T from_number(std::uint64_t number) {
  if constexpr (Named<T>) {
    return T{from_number<decltype(T{}.value)>(number)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return number != 0;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    const auto folded = static_cast<std::uint32_t>(number);
    return static_cast<std::int32_t>((folded >> 1) ^ (~(folded & 1) + 1));
  } else {
    return static_cast<T>(number);
  }
}

}  // namespace millrace::record_bytes
