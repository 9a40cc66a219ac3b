// src/agent/relay_clients.cpp - see relay_clients.h.
#include "agent/relay_clients.h"

#include <vector>

namespace millrace {

RelayClients::RelayClients(Loop& loop, Relay& relay) : loop_(loop), relay_(relay) {
  timer_ = loop_.after(seconds(60), [this] { sweep(); });
}

RelayClients::~RelayClients() {
  loop_.cancel(timer_);
  for (const auto& [id, client] : clients_) relay_.close(id);
}

LinkHandler* RelayClients::add(std::unique_ptr<Link> link, std::uint32_t uid, std::uint32_t gid) {
  auto client = std::make_unique<Client>(*this, std::move(link));
  Client& raw = *client;
  raw.id = relay_.open(
      uid, gid, [&raw](std::string reply) { raw.link->send(std::move(reply)); },
      [&raw](bool held) { raw.link->hold(held); });
  if (raw.id == 0) return nullptr;
  clients_.emplace(raw.id, std::move(client));
  return &raw;
}

void RelayClients::sweep() {
  constexpr int idle_sweeps_max = 10;
  std::vector<Relay::ClientId> idle;
  for (auto& [id, client] : clients_) {
    client->idle_sweeps = relay_.waits(id) || client->link->unsent() > 0 ? 0 : client->idle_sweeps + 1;
    if (client->idle_sweeps > idle_sweeps_max) idle.push_back(id);
  }
  for (const Relay::ClientId id : idle) remove(id);
  timer_ = loop_.after(seconds(60), [this] { sweep(); });
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
