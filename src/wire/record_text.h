// src/wire/record_text.h - records as words "name=value" for people, by their lists of fields (base/fields.h).
//
// What is zero, empty or not set is left out, unless the first value of its type is one like others. A record inside
// another stands in parentheses, a list in brackets. There is never a line break or another control character in it,
// and nothing of a secret but its size.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/text.h"
#include "core/model/assign.h"
#include "wire/event_text.h"
#include "wire/log_words.h"
#include "wire/record_writer.h"

namespace millrace::record_text {

template <HasFields T>
std::string words_of(const T& record);

inline std::string hex_of(const record_bytes::Digits& bytes) {
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Also where it is zero or empty.
template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_same_v<T, Time>) {
    return value.is_set() ? describe_time(value) : "none";
  } else if constexpr (requires { log_word(value); }) {
    return std::string{log_word(value)};
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return value == UINT32_MAX ? "unlimited" : std::to_string(value);
  } else if constexpr (record_bytes::Named<T>) {
    return std::to_string(value.value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::uint32_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return quote_text(value);
  } else if constexpr (std::is_same_v<T, record_bytes::Digits>) {
    return hex_of(value);
  } else if constexpr (std::is_same_v<T, IndexSet>) {
    return '[' + format_ranges(value) + ']';
  } else if constexpr (record_bytes::is_vector<T>) {
    std::string inside;
    for (const auto& each : value) inside += (inside.empty() ? "" : " ") + text_of(each);
    return '[' + inside + ']';
  } else if constexpr (record_bytes::is_shared<T>) {
    return text_of(*value);
  } else if constexpr (HasFields<T>) {
    return '(' + words_of(value) + ')';
  } else {
    return {};  // follows from others: never shown
  }
}

// Of these the first value means something: it is shown too.
template <class T>
inline constexpr bool is_said_always = false;
template <>
inline constexpr bool is_said_always<NodeIndex> = true;
template <>
inline constexpr bool is_said_always<PartitionIndex> = true;
template <>
inline constexpr bool is_said_always<Attempt> = true;
template <>
inline constexpr bool is_said_always<UserId> = true;
template <>
inline constexpr bool is_said_always<Availability> = true;
template <>
inline constexpr bool is_said_always<AttemptEnd> = true;
template <>
inline constexpr bool is_said_always<Hold> = true;
template <>
inline constexpr bool is_said_always<NodeOrder> = true;
template <>
inline constexpr bool is_said_always<PowerChange> = true;

template <class T>
bool says_something(const T& value) {
  if constexpr (is_said_always<T>)
    return true;
  else if constexpr (record_bytes::Numeric<T>)
    return record_bytes::to_number(value) != 0;
  else if constexpr (std::is_same_v<T, std::string> || record_bytes::is_vector<T> || std::is_same_v<T, IndexSet>)
    return !value.empty();
  else if constexpr (std::is_same_v<T, record_bytes::Digits>)
    return value != T{};
  else if constexpr (record_bytes::is_shared_list<T>)
    return value && !value->empty();
  else if constexpr (record_bytes::is_shared<T>)
    return static_cast<bool>(value);
  else if constexpr (HasFields<T>)
    return !record_bytes::bytes_of(value).empty();
  else
    return false;
}

struct Words {
  std::string& out;

  void word(std::string_view name, std::string_view value) {
    if (!out.empty()) out += ' ';
    out += name;
    out += '=';
    out += value;
  }

  template <class T>
  void operator()(std::uint32_t tag, std::string_view name, const T& value) {
    if constexpr (field::Wrapper<T>)
      show(name, value);
    else if (tag != 0)
      show(name, value);
  }

  template <class T>
  void show(std::string_view name, const T& value) {
    if constexpr (record_bytes::is_optional<T>) {
      if (value) word(name, text_of(*value));
    } else {
      if (says_something(value)) word(name, text_of(value));
    }
  }
  template <class T>
  void show(std::string_view name, const field::Unless<T>& field) {
    if (!(field.value == field.absent)) word(name, text_of(field.value));
  }
  template <class T>
  void show(std::string_view name, const field::OrDefault<T>& field) {
    if (field.value != field.absent) word(name, text_of(field.value));
  }
  template <class T>
  void show(std::string_view name, const field::Inverted<T>& field) {
    if (!field.value) word(name, "no");
  }
  template <class T>
  void show(std::string_view name, const field::PlusOne<T>& field) {
    if (field.value != static_cast<T>(-1)) word(name, text_of(field.value));
  }
  template <class T>
  void show(std::string_view name, const field::Flag<T>& field) {
    if (field.value) word(name, "yes");
  }
  template <class T>
  void show(std::string_view name, const field::ValueOf<T>& field) {
    show(name, field.value);
  }
  template <class T>
  void show(std::string_view, const field::Inlined<T>& field) {
    if constexpr (record_bytes::is_shared<std::remove_const_t<T>>) {
      if (field.value) std::remove_cvref_t<decltype(*field.value)>::fields(*field.value, *this);
    } else {
      std::remove_const_t<T>::fields(field.value, *this);
    }
  }
  template <class Key, class T>
  void show(std::string_view name, const field::WithKey<Key, T>& field) {
    const std::string inside = words_of(field.value);
    word(name, "(key=" + text_of(field.key) + (inside.empty() ? "" : ' ' + inside) + ')');
  }
  template <class Devices, class Counts>
  void show(std::string_view name, const field::BySlot<Devices, Counts>& field) {
    std::string inside;
    for (std::size_t slot = 0; slot < field.counts.size(); ++slot) {
      if (field.counts[slot] == 0) continue;
      const std::string devices = format_bits({&field.devices[slot], 1});
      inside += (inside.empty() ? "" : " ") + std::to_string(slot) + ':' + std::to_string(field.counts[slot]) +
                (devices.empty() ? "" : '@' + devices);
    }
    if (!inside.empty()) word(name, '[' + inside + ']');
  }
  template <class T>
  void show(std::string_view name, const field::Unshown<T>& field) {
    if (!field.value.empty()) word(std::string{name} + "_bytes", std::to_string(field.value.size()));
  }
  template <class T>
  void show(std::string_view name, const field::Bits<T>& field) {
    if (!field.value.empty()) word(name, format_bits(field.value));
  }
  template <class T>
  void show(std::string_view name, const field::Said<T>& field) {
    word(name, text_of(field.value));
  }
  template <class T>
  void show(std::string_view name, const field::Octal<T>& field) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "0%o", field.value);
    if (field.value != 0) word(name, digits);
  }
  template <class T>
  void show(std::string_view, const field::PresenceOf<T>&) {}
};

template <HasFields T>
std::string words_of(const T& record) {
  std::string out;
  T::fields(record, Words{out});
  return out;
}

}  // namespace millrace::record_text
