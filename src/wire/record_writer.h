// src/wire/record_writer.h - records as bytes, by their lists of fields (base/fields.h).
//
// write_fields appends the fields that are not zero, empty or absent.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/index_set.h"
#include "wire/record_bytes.h"

namespace millrace::record_bytes {

template <HasFields T>
void write_fields(const T& record, std::string& out, std::uint32_t without = 0);

template <class T>
void put_present(std::string& out, std::uint32_t tag, const T& value);

template <class T>
void put_list(std::string& out, std::uint32_t tag, const std::vector<T>& list) {
  if constexpr (Numeric<T>) {
    if (list.empty()) return;
    const std::size_t start = out.size();
    for (const T& each : list) put_varint(out, to_number(each));
    wrap_message(out, start, tag);
  } else {
    for (const T& each : list) put_present(out, tag, each);
  }
}

inline void put_fixed(std::string& out, std::uint32_t tag, Fixed value) {
  const std::size_t start = out.size();
  if (const auto low = static_cast<std::uint64_t>(value.raw); low != 0) put_fixed64(out, 1, low);
  if (const auto high = static_cast<std::uint64_t>(value.raw >> 64); high != 0) put_fixed64(out, 2, high);
  wrap_message(out, start, tag);
}

// Also where it is zero or empty.
template <class T>
void put_present(std::string& out, std::uint32_t tag, const T& value) {
  if constexpr (Numeric<T>) {
    put_number(out, tag, to_number(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    put_bytes(out, tag, value);
  } else if constexpr (is_shared<T>) {
    put_present(out, tag, *value);
  } else {
    const std::size_t start = out.size();
    if constexpr (is_vector<T>)
      put_list(out, 1, value);
    else
      write_fields(value, out);
    wrap_message(out, start, tag);
  }
}

struct Writer {
  std::string& out;
  std::uint32_t without = 0;
  std::uint32_t flags_tag = 0, flags = 0;

  void end_flags() {
    if (flags != 0) put_number(out, flags_tag, flags);
    flags = 0;
  }

  template <class T>
  void operator()(std::uint32_t tag, std::string_view, const T& value) {
    if (flags != 0 && tag != flags_tag) end_flags();
    if (tag != without || field::Wrapper<T>) put(tag, value);
  }

  template <class T>
  void put(std::uint32_t tag, const T& value) {
    if constexpr (!field::Wrapper<T>) {
      if (tag == 0) return;
    }
    if constexpr (Numeric<T>) {
      if (const std::uint64_t number = to_number(value); number != 0) put_number(out, tag, number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.empty()) put_bytes(out, tag, value);
    } else if constexpr (std::is_same_v<T, Digits>) {
      if (value != Digits{}) put_bytes(out, tag, {reinterpret_cast<const char*>(value.data()), value.size()});
    } else if constexpr (std::is_same_v<T, IndexSet>) {
      for (const IndexSet::Range& range : value.ranges()) {
        const std::size_t start = out.size();
        Writer{out}.put(1, range.first);
        Writer{out}.put(2, range.last);
        wrap_message(out, start, tag);
      }
    } else if constexpr (std::is_same_v<T, Fixed>) {
      put_fixed(out, tag, value);
    } else if constexpr (is_optional<T>) {
      if (value) put_present(out, tag, *value);
    } else if constexpr (is_vector<T>) {
      put_list(out, tag, value);
    } else if constexpr (is_shared_list<T>) {
      if (value) put_list(out, tag, *value);
    } else if constexpr (is_shared<T>) {
      if (value) put_present(out, tag, *value);
    } else if constexpr (HasFields<T>) {
      const std::size_t start = out.size();
      write_fields(value, out);
      if (out.size() > start) wrap_message(out, start, tag);
    } else if constexpr (is_amounts<T>) {
      for (const Fixed each : value) put_fixed(out, tag, each);
    }
  }

  template <class T>
  void put(std::uint32_t tag, const field::Unless<T>& field) {
    if (!(field.value == field.absent)) put_present(out, tag, field.value);
  }
  template <class T>
  void put(std::uint32_t tag, const field::OrDefault<T>& field) {
    put(tag, field.value);
  }
  template <class T>
  void put(std::uint32_t tag, const field::Inverted<T>& field) {
    put(tag, !field.value);
  }
  template <class T>
  void put(std::uint32_t tag, const field::PlusOne<T>& field) {
    put(tag, static_cast<std::remove_const_t<T>>(field.value + 1));
  }
  template <class T>
  void put(std::uint32_t tag, const field::Flag<T>& field) {
    flags_tag = tag;
    if (field.value) flags |= field.mask;
  }
  template <class T>
  void put(std::uint32_t tag, const field::ValueOf<T>& field) {
    put(tag, field.value.value_or(0));
  }
  template <class T>
  void put(std::uint32_t tag, const field::PresenceOf<T>& field) {
    put(tag, field.value.has_value());
  }
  template <class T>
  void put(std::uint32_t, const field::Inlined<T>& field) {
    if constexpr (is_shared<std::remove_const_t<T>>) {
      if (field.value) write_fields(*field.value, out);
    } else {
      write_fields(field.value, out);
    }
  }
  template <class Key, class T>
  void put(std::uint32_t tag, const field::WithKey<Key, T>& field) {
    const std::size_t start = out.size();
    put(1, field.key);
    write_fields(field.value, out);
    wrap_message(out, start, tag);
  }
  template <class Devices, class Counts>
  void put(std::uint32_t tag, const field::BySlot<Devices, Counts>& field) {
    for (std::uint32_t slot = 0; slot < field.counts.size(); ++slot) {
      if (field.counts[slot] == 0) continue;
      const std::size_t start = out.size();
      put(1, slot);
      put(2, field.counts[slot]);
      if (field.devices[slot] != 0) put_list(out, 3, std::vector{field.devices[slot]});
      wrap_message(out, start, tag);
    }
  }
  template <class T>
  void put(std::uint32_t tag, const field::Said<T>& field) {
    put(tag, field.value);
  }
  template <class T>
  void put(std::uint32_t tag, const field::Unshown<T>& field) {
    put(tag, field.value);
  }
  template <class T>
  void put(std::uint32_t tag, const field::Bits<T>& field) {
    put(tag, field.value);
  }
  template <class T>
  void put(std::uint32_t tag, const field::Octal<T>& field) {
    put(tag, field.value);
  }
};

// All of its fields but one.
template <HasFields T>
void write_fields(const T& record, std::string& out, std::uint32_t without) {
  Writer writer{out, without};
  T::fields(record, writer);
  writer.end_flags();
}

template <HasFields T>
std::string bytes_of(const T& record) {
  std::string out;
  write_fields(record, out);
  return out;
}

}  // namespace millrace::record_bytes
