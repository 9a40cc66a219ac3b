// src/core/ledger/compare.cpp - see compare.h.
#include "core/ledger/compare.h"

#include <utility>
#include <vector>

#include "base/fields.h"

namespace millrace {
namespace {

template <class T>
inline constexpr bool is_map = false;
template <class Key, class Value>
inline constexpr bool is_map<SharedMap<Key, Value>> = true;
template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<SharedValue<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
std::string show(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return '"' + value.substr(0, 80) + '"';
  else if constexpr (std::is_enum_v<T>)
    return std::to_string(static_cast<std::int64_t>(value));
  else if constexpr (requires { std::to_string(value); })
    return std::to_string(value);
  else if constexpr (requires { std::to_string(value.value); })
    return std::to_string(value.value);
  else
    return "...";
}

// The path to the first difference is put together from the inside, so that equal states cost no strings.
class Difference {
 public:
  template <class T>
  bool differs(const T& a, const T& b) {
    if constexpr (HasFields<T>) {
      return differs_in_fields(a, b);
    } else if constexpr (is_shared<T>) {
      if (a.get() == b.get()) return false;
      if (!a || !b) return note(std::string{": "} + (a ? "set, not set" : "not set, set"));
      return differs(*a, *b);
    } else if constexpr (is_optional<T>) {
      if (a.has_value() != b.has_value()) return note(a ? ": set, not set" : ": not set, set");
      return a && differs(*a, *b);
    } else if constexpr (is_vector<T>) {
      return differs_in_rows(a, b, [](const auto& list, std::size_t at) -> const auto& { return list[at]; });
    } else if constexpr (is_map<T>) {
      return differs_in_maps(a, b);
    } else if constexpr (std::is_same_v<T, SwitchTree>) {
      return !(a.facts() == b.facts()) && note(": ...");
    } else if constexpr (std::is_same_v<T, Nothing>) {
      return false;
    } else {
      return !(a == b) && note(": " + show(a) + ", " + show(b));
    }
  }

  const std::string& words() const { return words_; }

 private:
  bool note(std::string words) {
    words_ = std::move(words);
    return true;
  }
  bool inside(std::string_view name) {
    words_.insert(0, std::string{name});
    return true;
  }

  // Two records have the same fields in the same order: the first walk remembers where those of one are.
  template <class T>
  bool differs_in_fields(const T& a, const T& b) {
    std::vector<Place> places;
    T::fields(a, [&](std::uint32_t, std::string_view, const auto& member) { places.push_back(place_of(member)); });
    std::size_t at = 0;
    bool found = false;
    T::fields(b, [&](std::uint32_t, std::string_view name, const auto& member) {
      const Place place = places[at++];
      if (!found && differs_in_member(place, member)) found = inside("." + std::string{name});
    });
    return found;
  }

  // A wrapper holds a member or two.
  struct Place {
    const void* member;
    const void* second = nullptr;
  };

  template <class M>
  static Place place_of(const M& member) {
    if constexpr (!field::Wrapper<M>)
      return {&member};
    else if constexpr (requires { member.devices; })
      return {&member.counts, &member.devices};
    else if constexpr (requires { member.key; })
      return {&member.value, &member.key};
    else
      return {&member.value};
  }

  template <class T>
  bool differs_from(const void* a, const T& b) {
    return differs(*static_cast<const T*>(a), b);
  }

  template <class M>
  bool differs_in_member(Place place, const M& member) {
    if constexpr (!field::Wrapper<M>)
      return differs_from(place.member, member);
    else if constexpr (requires { typename M::is_cache; })
      return false;
    else if constexpr (requires { member.devices; })
      return differs_from(place.member, std::as_const(member.counts)) ||
             differs_from(place.second, std::as_const(member.devices));
    else if constexpr (requires { member.key; })
      return differs_from(place.member, std::as_const(member.value)) ||
             differs_from(place.second, std::as_const(member.key));
    else
      return differs_from(place.member, std::as_const(member.value));
  }

  template <class List, class At>
  bool differs_in_rows(const List& a, const List& b, At row) {
    if (a.size() != b.size()) return note(": " + std::to_string(a.size()) + " rows, " + std::to_string(b.size()));
    for (std::size_t i = 0; i < a.size(); ++i)
      if (differs(row(a, i), row(b, i))) return inside("[" + std::to_string(i) + "]");
    return false;
  }

  template <class Map>
  bool differs_in_maps(const Map& a, const Map& b) {
    if (a.size() != b.size()) return note(": " + std::to_string(a.size()) + " rows, " + std::to_string(b.size()));
    auto left = a.begin();
    for (const auto& [key, value] : b) {
      const auto& [other_key, other_value] = *left;
      if (!(key == other_key)) return note(": key " + show(other_key) + ", " + show(key));
      if (differs(other_value, value)) return inside("[" + show(key) + "]");
      ++left;
    }
    return false;
  }

  std::string words_;
};

}  // namespace

std::optional<std::string> first_difference(const State& a, const State& b) {
  Difference difference;
  if (!difference.differs(a, b)) return std::nullopt;
  return difference.words().substr(1);
}

}  // namespace millrace
