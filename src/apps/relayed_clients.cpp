// src/apps/relayed_clients.cpp - see relayed_clients.h.
#include "apps/relayed_clients.h"

#include <iterator>
#include <memory>

#include "controller/requests/relay_rights.h"

namespace millrace {

ClientId RelayedClients::accept(RelayId relay, const KeyName& key, std::uint64_t number, UserId uid, GroupId gid) {
  auto path = std::make_unique<RelayedPath>(
      [this, relay, number](std::string reply) { agents_.reply_relayed(relay, number, std::move(reply)); },
      [this, relay] { return agents_.unsent_to(relay); },
      [this, relay](std::size_t bytes, Task then) { agents_.when_unsent_below(relay, bytes, std::move(then)); });
  auto judge = [this, key, uid](const wire::Request& request) {
    return relay_refusal(controller_.durable(), {key, uid, is_privileged_(uid)}, request);
  };
  const auto node = lends_offices(key.role) ? std::nullopt : std::optional{relay};
  return sessions_.accept_relayed(uid, gid, std::move(path), std::move(judge), node);
}

// A relay has a limit of its own; a stolen key has none.
std::size_t RelayedClients::of_relay(RelayId relay) const {
  return static_cast<std::size_t>(
      std::distance(clients_.lower_bound({relay, 0}), clients_.upper_bound({relay, UINT64_MAX})));
}

void RelayedClients::turn_away(RelayId relay, std::uint64_t number) {
  wire::Reply reply;  // without a number: it answers whatever was asked
  reply.mutable_failure()->set_code(2037);
  reply.mutable_failure()->set_text("too many clients of this relay; try again later");
  agents_.reply_relayed(relay, number, reply.SerializeAsString());
}

void RelayedClients::gone(RelayId relay) {
  for (auto it = clients_.lower_bound({relay, 0}); it != clients_.end() && it->first.first == relay;) {
    sessions_.relayed_closed(it->second);
    it = clients_.erase(it);
  }
}

OwnAgents::RelayHooks RelayedClients::hooks() {
  OwnAgents::RelayHooks hooks;
  hooks.request = [this](RelayId relay, const KeyName& key, std::uint64_t number, UserId uid, GroupId gid,
                         std::string_view bytes) {
    auto it = clients_.find({relay, number});
    if (it == clients_.end() && of_relay(relay) >= clients_max) return turn_away(relay, number);
    if (it == clients_.end())
      it = clients_.emplace(std::pair{relay, number}, accept(relay, key, number, uid, gid)).first;
    sessions_.relayed_message(it->second, bytes);
  };
  hooks.closed = [this](RelayId relay, std::uint64_t number) {
    const auto it = clients_.find({relay, number});
    if (it == clients_.end()) return;
    sessions_.relayed_closed(it->second);
    clients_.erase(it);
  };
  hooks.relay_gone = [this](RelayId relay) { gone(relay); };
  return hooks;
}

}  // namespace millrace
