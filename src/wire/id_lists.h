// src/wire/id_lists.h - lists of identities as repeated numbers, both ways.
#pragma once

#include <vector>

namespace millrace {

template <class Id>
void put_ids(const std::vector<Id>& from, auto* to) {
  for (const Id id : from) to->Add(id.value);
}

template <class Id>
std::vector<Id> get_ids(const auto& from) {
  std::vector<Id> out;
  for (const auto number : from) out.push_back(Id{number});
  return out;
}

}  // namespace millrace
