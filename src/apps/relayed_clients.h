// src/apps/relayed_clients.h - clients that come through relays: each becomes a session of the controller, whose
// requests are judged by the relay's key.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "adapters/own_agents.h"
#include "controller/controller.h"
#include "controller/requests/sessions.h"

namespace millrace {

class RelayedClients {
 public:
  RelayedClients(Sessions& sessions, OwnAgents& agents, Controller& controller,
                 std::function<bool(UserId)> is_privileged)
      : sessions_(sessions), agents_(agents), controller_(controller), is_privileged_(std::move(is_privileged)) {}
  // Must outlive the agents they are given to.
  OwnAgents::RelayHooks hooks();

 private:
  using RelayId = OwnAgents::RelayId;
  ClientId accept(RelayId relay, const KeyName& key, std::uint64_t number, UserId uid, GroupId gid);
  static constexpr std::size_t clients_max = 8192;  // of one relay, which itself lets 4,096 in
  std::size_t of_relay(RelayId relay) const;
  void turn_away(RelayId relay, std::uint64_t number);
  void gone(RelayId relay);

  Sessions& sessions_;
  OwnAgents& agents_;
  Controller& controller_;
  const std::function<bool(UserId)> is_privileged_;
  std::map<std::pair<RelayId, std::uint64_t>, ClientId> clients_;  // by relay and its number for them
};

}  // namespace millrace
