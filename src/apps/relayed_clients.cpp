// src/apps/relayed_clients.cpp - see relayed_clients.h.
#include "apps/relayed_clients.h"

#include <iterator>
#include <memory>

#include "controller/relay_rights.h"

namespace millrace {

ClientId RelayedClients::accept(const KeyName& relay, std::uint64_t number, UserId uid, GroupId gid) {
  const std::string& node = relay.node;
  auto path = std::make_unique<RelayedPath>(
      [this, node, number](std::string reply) { agents_.reply_relayed(node, number, std::move(reply)); },
      [this, node] { return agents_.unsent_to(node); },
      [this, node](std::size_t bytes, Task then) { agents_.when_unsent_below(node, bytes, std::move(then)); });
  auto judge = [this, relay, uid](const wire::Request& request) {
    return relay_refusal(controller_.durable(), {relay, uid, is_privileged_(uid)}, request);
  };
  return sessions_.accept_relayed(uid, gid, std::move(path), std::move(judge), !lends_offices(relay.role));
}

// A relay has a limit of its own; a stolen key has none.
std::size_t RelayedClients::of_relay(const std::string& node) const {
  return static_cast<std::size_t>(
      std::distance(clients_.lower_bound({node, 0}), clients_.upper_bound({node, UINT64_MAX})));
}

void RelayedClients::turn_away(const std::string& node, std::uint64_t number) {
  wire::Reply reply;  // without a number: it answers whatever was asked
  reply.mutable_failure()->set_code(2037);
  reply.mutable_failure()->set_text("too many clients of this relay; try again later");
  agents_.reply_relayed(node, number, reply.SerializeAsString());
}

void RelayedClients::gone(const std::string& node) {
  for (auto it = clients_.lower_bound({node, 0}); it != clients_.end() && it->first.first == node;) {
    sessions_.relayed_closed(it->second);
    it = clients_.erase(it);
  }
}

OwnAgents::RelayHooks RelayedClients::hooks() {
  OwnAgents::RelayHooks hooks;
  hooks.request = [this](const KeyName& relay, std::uint64_t number, UserId uid, GroupId gid, std::string_view bytes) {
    auto it = clients_.find({relay.node, number});
    if (it == clients_.end() && of_relay(relay.node) >= clients_max) return turn_away(relay.node, number);
    if (it == clients_.end())
      it = clients_.emplace(std::pair{relay.node, number}, accept(relay, number, uid, gid)).first;
    sessions_.relayed_message(it->second, bytes);
  };
  hooks.closed = [this](const std::string& node, std::uint64_t number) {
    const auto it = clients_.find({node, number});
    if (it == clients_.end()) return;
    sessions_.relayed_closed(it->second);
    clients_.erase(it);
  };
  hooks.relay_gone = [this](const std::string& node) { gone(node); };
  return hooks;
}

}  // namespace millrace
