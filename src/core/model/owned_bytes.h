// src/core/model/owned_bytes.h - how many bytes the texts and lists of a record have, as its list of fields says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/index_set.h"
#include "base/shared_value.h"

namespace millrace {

template <class T>
std::size_t owned_bytes(const T& value);

namespace owned {

template <class T>
struct Of {
  static std::size_t bytes(const T& value) {
    if constexpr (field::Wrapper<T>) {
      if constexpr (requires { value.value; }) return owned_bytes(value.value);
    } else if constexpr (requires { T::fields(value, field::AnyVisit{}); }) {
      std::size_t sum = 0;
      T::fields(value, [&sum](std::uint32_t, std::string_view, const auto& each) { sum += owned_bytes(each); });
      return sum;
    }
    return 0;
  }
};
template <>
struct Of<std::string> {
  static std::size_t bytes(const std::string& value) { return value.size(); }
};
template <>
struct Of<IndexSet> {
  static std::size_t bytes(const IndexSet& value) { return value.ranges().size() * sizeof(IndexSet::Range); }
};
template <class T>
struct Of<std::vector<T>> {
  static std::size_t bytes(const std::vector<T>& value) {
    std::size_t sum = value.size() * sizeof(T);
    if constexpr (!std::is_arithmetic_v<T>)
      for (const T& each : value) sum += owned_bytes(each);
    return sum;
  }
};
template <class T>
struct Of<std::optional<T>> {
  static std::size_t bytes(const std::optional<T>& value) { return value ? owned_bytes(*value) : 0; }
};
// As if nobody shared it.
template <class T>
struct Of<SharedValue<T>> {
  static std::size_t bytes(const SharedValue<T>& value) { return value ? owned_bytes(*value) : 0; }
};

}  // namespace owned

template <class T>
std::size_t owned_bytes(const T& value) {
  return owned::Of<T>::bytes(value);
}

}  // namespace millrace
