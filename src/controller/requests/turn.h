// src/controller/requests/turn.h - whose turn it is, where users are served one after the other.
#pragma once

#include <compare>
#include <cstdint>

#include "base/quantity.h"
#include "controller/clients.h"

namespace millrace {

// A user's. A compute node speaks for users on its word alone, and may make up as many as it likes: all of one node
// take turns as one.
class Turn {
 public:
  Turn() = default;
  Turn(UserId user) : value_(user.value) {}
  Turn(const Asker& asker) : value_(asker.plain_user ? relays_from + asker.relay : asker.uid.value) {}
  auto operator<=>(const Turn&) const = default;

 private:
  static constexpr std::uint64_t relays_from = 1ULL << 32;  // above all users
  std::uint64_t value_ = 0;
};

}  // namespace millrace
