// src/base/fields.h - what a list of fields is: each record that is stored says once what it is made of.
//
// A record lists its fields beside its members, each with its number and its name:
//
//   template <class Self, class Visit>
//   static void fields(Self& self, Visit&& visit) {
//     visit(1, "uid", self.uid);
//     visit(2, "gid", self.gid);
//   }
//
// From these lists come the bytes of the log and of snapshots (wire/record_writer.h, wire/record_reader.h), the words
// of `millrace log dump` (wire/record_text.h), and what tests compare two states by (core/ledger/compare.h). A number
// belongs to its field for ever: every later release reads the log. Number 0: the field is not stored, it follows from
// others. The bytes are protobuf's; what is not there reads as zero, empty or not set, whatever the member's own
// default is. The functions below say where a field differs from that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace millrace {

// The number and the name of a kind of event.
struct EventTag {
  std::uint32_t number;
  std::string_view name;
};

namespace field {

// Takes any field of any record.
struct AnyVisit {
  void operator()(std::uint32_t, std::string_view, auto&&) const {}
};

// What is not there means this, and zero is a value like others.
template <class T>
struct Unless {
  using is_wrapper = void;
  T& value;
  std::remove_const_t<T> absent;
};
// What is not there, is zero or is negative means this.
template <class T>
struct OrDefault {
  using is_wrapper = void;
  T& value;
  std::remove_const_t<T> absent;
};
// The opposite is stored.
template <class T>
struct Inverted {
  using is_wrapper = void;
  T& value;
};
// One more is stored, so that the largest number is what is not there.
template <class T>
struct PlusOne {
  using is_wrapper = void;
  T& value;
};
// A bit of a number that several fields share: all of that number follow each other in the list.
template <class T>
struct Flag {
  using is_wrapper = void;
  std::uint32_t mask;
  T& value;
};
// An optional number in two fields: the number, and whether there is one. Old logs have only the first, and no zero.
template <class T>
struct ValueOf {
  using is_wrapper = void;
  T& value;
};
template <class T>
struct PresenceOf {
  using is_wrapper = void;
  T& value;
};
// Its fields are fields of the record it is in. A shared one that is null has none there.
template <class T>
struct Inlined {
  using is_wrapper = void;
  using is_inlined = void;
  T& value;
};
// A record that another table stores under a key: the key is its first field.
template <class Key, class T>
struct WithKey {
  using is_wrapper = void;
  Key& key;
  T& value;
};
// Two numbers for each slot, of which few are not zero: {slot = 1, count = 2, devices = 3}.
template <class Devices, class Counts>
struct BySlot {
  using is_wrapper = void;
  Devices& devices;
  Counts& counts;
};

// Neither stored nor compared: what it holds changes nothing that anybody is told.
template <class T>
struct Cache {
  using is_wrapper = void;
  using is_cache = void;
  T& value;
};

// How people see it: also where it is zero, nothing of it but its size, as positions of bits, as an octal number.
template <class T>
struct Said {
  using is_wrapper = void;
  T& value;
};
template <class T>
struct Unshown {
  using is_wrapper = void;
  T& value;
};
template <class T>
struct Bits {
  using is_wrapper = void;
  T& value;
};
template <class T>
struct Octal {
  using is_wrapper = void;
  T& value;
};

template <class T>
concept Wrapper = requires { typename std::remove_cvref_t<T>::is_wrapper; };

template <class T>
Unless<T> unless(T& value, std::type_identity_t<std::remove_const_t<T>> absent) {
  return {value, std::move(absent)};
}
template <class T>
OrDefault<T> or_default(T& value, std::type_identity_t<std::remove_const_t<T>> absent) {
  return {value, absent};
}
template <class T>
Inverted<T> inverted(T& value) {
  return {value};
}
template <class T>
PlusOne<T> plus_one(T& value) {
  return {value};
}
template <class T>
Flag<T> flag(std::uint32_t mask, T& value) {
  return {mask, value};
}
template <class T>
ValueOf<T> value_of(T& value) {
  return {value};
}
template <class T>
PresenceOf<T> presence_of(T& value) {
  return {value};
}
template <class T>
Inlined<T> inlined(T& value) {
  return {value};
}
template <class Key, class T>
WithKey<Key, T> with_key(Key& key, T& value) {
  return {key, value};
}
template <class Devices, class Counts>
BySlot<Devices, Counts> by_slot(Devices& devices, Counts& counts) {
  return {devices, counts};
}
template <class T>
Cache<T> cache(T& value) {
  return {value};
}
template <class T>
Said<T> said(T& value) {
  return {value};
}
template <class T>
Unshown<T> unshown(T& value) {
  return {value};
}
template <class T>
Bits<T> bits(T& value) {
  return {value};
}
template <class T>
Octal<T> octal(T& value) {
  return {value};
}

}  // namespace field

template <class T>
concept HasFields = requires(T& record) { std::remove_const_t<T>::fields(record, field::AnyVisit{}); };

}  // namespace millrace
