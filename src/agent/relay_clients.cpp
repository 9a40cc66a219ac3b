// src/agent/relay_clients.cpp - see relay_clients.h.
#include "agent/relay_clients.h"

namespace millrace {

RelayClients::~RelayClients() {
  for (const auto& [id, client] : clients_) relay_.close(id);
}

LinkHandler* RelayClients::add(std::unique_ptr<Link> link, std::uint32_t uid, std::uint32_t gid) {
  auto client = std::make_unique<Client>(*this, std::move(link));
  Client& raw = *client;
  raw.id = relay_.open(uid, gid, [&raw](std::string reply) { raw.link->send(std::move(reply)); });
  if (raw.id == 0) return nullptr;
  clients_.emplace(raw.id, std::move(client));
  return &raw;
}

void RelayClients::remove(Relay::ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  relay_.close(id);
  // We are inside a call of this client: it goes in the next turn.
  loop_.post([gone = std::move(found->second)] {});
  clients_.erase(found);
}

}  // namespace millrace
