// src/wire/record_reader.h - records from their bytes, by their lists of fields (base/fields.h).
//
// read_record first makes every field what an absent one means and then takes what is there; fields it does not know go
// to `other`, or are passed over. It fails on bytes that are no message, never on values: whether a value means
// something is asked where the records are put together (core/ledger/references).
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index_set.h"
#include "wire/record_bytes.h"
#include "wire/varint.h"

namespace millrace::record_bytes {

// Makes each field what an absent one means.
struct Clear {
  template <class T>
  void operator()(std::uint32_t tag, std::string_view, T&& value) const {
    if constexpr (field::Wrapper<T>)
      clear(value);
    else if (tag != 0)
      clear(value);
  }
  template <class T>
  void clear(T& value) const {
    if constexpr (is_shared_list<T>)
      value = T(typename std::remove_cvref_t<decltype(*value)>{});
    else if constexpr (HasFields<T>)
      T::fields(value, *this);
    else
      value = T{};
  }
  template <class T>
  void clear(field::Unless<T>& field) const {
    field.value = field.absent;
  }
  template <class T>
  void clear(field::OrDefault<T>& field) const {
    field.value = field.absent;
  }
  void clear(field::Inverted<bool>& field) const { field.value = true; }
  template <class T>
  void clear(field::PlusOne<T>& field) const {
    field.value = static_cast<T>(-1);
  }
  template <class Key, class T>
  void clear(field::WithKey<Key, T>& field) const {
    clear(field.key);
    clear(field.value);
  }
  template <class Devices, class Counts>
  void clear(field::BySlot<Devices, Counts>& field) const {
    field.devices = {};
    field.counts = {};
  }
  template <class Wrapped>
    requires field::Wrapper<Wrapped>
  void clear(Wrapped& field) const {
    clear(field.value);
  }
};

struct NoOther {
  bool operator()(const Raw&) const { return true; }
};

template <HasFields T, class Other = NoOther>
bool read_record(std::string_view bytes, T& record, Other other = {});

// Whether a record has a field of this number.
template <HasFields T>
bool has_field(std::uint32_t tag) {
  static const std::vector<std::uint32_t> numbers = [] {
    std::vector<std::uint32_t> out;
    T example{};
    T::fields(example, [&](std::uint32_t number, std::string_view, auto&&) { out.push_back(number); });
    return out;
  }();
  return std::ranges::find(numbers, tag) != numbers.end();
}

struct Taker {
  const Raw& raw;
  bool well = true;
  bool known = false;

  template <class T>
  void operator()(std::uint32_t tag, std::string_view, T&& value) {
    if constexpr (requires { typename std::remove_cvref_t<T>::is_inlined; }) {
      take(value);
    } else if constexpr (!is_amounts<std::remove_cvref_t<T>>) {
      if (tag != raw.tag || tag == 0) return;
      known = true;
      take(value);
    }
  }

  // Another type than the field's is passed over, as an unknown field is.
  template <class T>
  void take(T& value) {
    if constexpr (Numeric<T>) {
      if (raw.type == Raw::number_type) value = from_number<T>(raw.number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (raw.type == Raw::bytes_type) value = raw.bytes;
    } else if constexpr (std::is_same_v<T, Digits>) {
      if (raw.type == Raw::bytes_type && raw.bytes.size() == value.size())
        std::memcpy(value.data(), raw.bytes.data(), value.size());
    } else if constexpr (std::is_same_v<T, IndexSet>) {
      take_range(value);
    } else if constexpr (std::is_same_v<T, Fixed>) {
      take_fixed(value);
    } else if constexpr (is_optional<T>) {
      if (is_of<typename T::value_type>()) take_present(value.emplace());
    } else if constexpr (is_shared_list<T>) {
      take_list(value.edit());
    } else if constexpr (is_shared<T>) {
      if (!is_of<std::remove_cvref_t<decltype(*value)>>()) return;
      std::remove_cvref_t<decltype(*value)> inside;
      take(inside);
      value = T(std::move(inside));
    } else if constexpr (is_vector<T>) {
      take_list(value);
    } else if constexpr (HasFields<T>) {
      if (raw.type == Raw::bytes_type) well = well && read_record(raw.bytes, value);
    }
  }

  // A list that may be missing as a whole is a message of its own.
  template <class T>
  void take_present(T& value) {
    if constexpr (is_vector<T>) {
      std::string_view rest = raw.bytes;
      for (Raw each; !rest.empty();) {
        if (!next_field(rest, each)) return void(well = false);
        Taker inside{each};
        if (each.tag == 1) inside.take_list(value);
        well = well && inside.well;
      }
    } else {
      take(value);
    }
  }

  template <class T>
  bool is_of() const {
    return Numeric<T> ? raw.type == Raw::number_type : raw.type == Raw::bytes_type;
  }

  template <class T>
  void take_list(std::vector<T>& list) {
    if constexpr (Numeric<T>) {
      if (raw.type == Raw::number_type) return list.push_back(from_number<T>(raw.number));
      if (raw.type != Raw::bytes_type) return;
      for (std::string_view rest = raw.bytes; !rest.empty();) {
        const auto number = take_varint(rest);
        if (!number) return void(well = false);
        list.push_back(from_number<T>(*number));
      }
    } else {
      if (raw.type == Raw::bytes_type) take(list.emplace_back());
    }
  }

  void take_fixed(Fixed& value) {
    if (raw.type != Raw::bytes_type) return;
    std::uint64_t halves[2] = {0, 0};
    std::string_view rest = raw.bytes;
    for (Raw each; !rest.empty();) {
      if (!next_field(rest, each)) return void(well = false);
      if ((each.tag == 1 || each.tag == 2) && each.type == Raw::fixed64_type) halves[each.tag - 1] = each.number;
    }
    value.raw = static_cast<__int128>(static_cast<unsigned __int128>(halves[1]) << 64 | halves[0]);
  }

  void take_range(IndexSet& set) {
    if (raw.type != Raw::bytes_type) return;
    std::string_view rest = raw.bytes;
    std::uint32_t ends[2] = {0, 0};
    for (Raw each; !rest.empty();) {
      if (!next_field(rest, each)) return void(well = false);
      if ((each.tag == 1 || each.tag == 2) && each.type == Raw::number_type)
        ends[each.tag - 1] = static_cast<std::uint32_t>(each.number);
    }
    if (ends[0] <= ends[1]) set.insert(ends[0], ends[1]);
  }

  template <class T>
  void take(field::Unless<T>& field) {
    take(field.value);
  }
  template <class T>
  void take(field::OrDefault<T>& field) {
    take(field.value);
    if (!(field.value > T{})) field.value = field.absent;
  }
  void take(field::Inverted<bool>& field) {
    take(field.value);
    field.value = !field.value;
  }
  template <class T>
  void take(field::PlusOne<T>& field) {
    take(field.value);
    --field.value;
  }
  void take(field::Flag<bool>& field) { field.value = raw.type == Raw::number_type && (raw.number & field.mask) != 0; }
  template <class T>
  void take(field::ValueOf<T>& field) {
    if (raw.type == Raw::number_type && raw.number != 0) take(field.value);
  }
  template <class T>
  void take(field::PresenceOf<T>& field) {
    if (raw.type == Raw::number_type && raw.number != 0 && !field.value) field.value.emplace();
  }
  template <class T>
  void take(field::Inlined<T>& field) {
    if constexpr (is_shared<T>) {
      using Inside = std::remove_cvref_t<decltype(*field.value)>;
      if (!has_field<Inside>(raw.tag)) return;
      if (!field.value) {
        Inside inside;
        Clear{}.clear(inside);
        field.value = T(std::move(inside));
      }
      Inside::fields(field.value.edit(), *this);
    } else {
      T::fields(field.value, *this);
    }
  }
  template <class Key, class T>
  void take(field::WithKey<Key, T>& field) {
    if (raw.type != Raw::bytes_type) return;
    well = well && read_record(raw.bytes, field.value, [&](const Raw& other) {
             if (other.tag == 1 && other.type == Raw::number_type) field.key = from_number<Key>(other.number);
             return true;
           });
  }
  template <class Devices, class Counts>
  void take(field::BySlot<Devices, Counts>& field) {
    if (raw.type != Raw::bytes_type) return;
    std::uint64_t slot = 0, count = 0;
    std::vector<std::uint64_t> devices;
    std::string_view rest = raw.bytes;
    for (Raw each; !rest.empty();) {
      if (!next_field(rest, each)) return void(well = false);
      Taker inside{each};
      if (each.tag == 1) inside.take(slot);
      if (each.tag == 2) inside.take(count);
      if (each.tag == 3) inside.take_list(devices);
      well = well && inside.well;
    }
    if (slot >= field.counts.size()) return;
    field.counts[slot] = static_cast<std::int64_t>(count);
    if (!devices.empty()) field.devices[slot] = devices.front();
  }
  template <class Wrapped>
    requires field::Wrapper<Wrapped>
  void take(Wrapped& field) {
    take(field.value);
  }
};

// Takes what is there, without clearing the record before.
template <HasFields T, class Other>
bool take_fields(std::string_view bytes, T& record, Other& other) {
  for (Raw raw; !bytes.empty();) {
    if (!next_field(bytes, raw)) return false;
    Taker taker{raw};
    T::fields(record, taker);
    if (!taker.well || (!taker.known && !other(raw))) return false;
  }
  return true;
}

template <HasFields T, class Other>
bool read_record(std::string_view bytes, T& record, Other other) {
  Clear{}.clear(record);
  return take_fields(bytes, record, other);
}

}  // namespace millrace::record_bytes
