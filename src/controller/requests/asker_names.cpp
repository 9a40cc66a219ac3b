// src/controller/requests/asker_names.cpp - see asker_names.h.
#include "controller/requests/asker_names.h"

namespace millrace {
namespace {

constexpr Duration fresh = seconds(600);
constexpr Duration ask_again = seconds(60);
constexpr std::size_t names_max = 10'000;

}  // namespace

bool AskerNames::wants(UserId uid, Time steady) const {
  const auto it = known_.find(uid);
  return it == known_.end() || it->second.since + fresh <= steady;
}

void AskerNames::learn(UserId uid, std::string name, Time steady) {
  if (known_.size() >= names_max && !known_.contains(uid)) {
    std::erase_if(known_, [&](const auto& each) { return each.second.since + fresh <= steady; });
    if (known_.size() >= names_max) known_.clear();  // they are looked up again
  }
  known_.insert_or_assign(uid, Known{std::move(name), steady});
}

void AskerNames::postpone(UserId uid, Time steady) {
  const std::string* known = find(uid);
  learn(uid, known ? *known : std::string{}, steady - fresh + ask_again);
}

void AskerNames::doubt_all() {
  for (auto& [uid, known] : known_) known.since = known.since - fresh;
}

const std::string* AskerNames::find(UserId uid) const {
  const auto it = known_.find(uid);
  return it == known_.end() ? nullptr : &it->second.name;
}

}  // namespace millrace
