// src/agent/relay_clients.h - the connections of this host's clients, each tied to its place in the relay.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "agent/relay.h"
#include "ports/loop.h"
#include "ports/transport.h"

namespace millrace {

class RelayClients final {
 public:
  RelayClients(Loop& loop, Relay& relay);
  ~RelayClients();
  // Takes the link over; whoever made it starts it with the handler. Nothing: too many clients, and the link is closed.
  LinkHandler* add(std::unique_ptr<Link> link, std::uint32_t uid, std::uint32_t gid);

 private:
  struct Client final : LinkHandler {
    Client(RelayClients& all, std::unique_ptr<Link> connection) : owner(all), link(std::move(connection)) {}
    void message(std::string_view bytes) override {
      idle_sweeps = 0;
      owner.relay_.request(id, bytes);
    }
    void closed(std::string_view) override { owner.remove(id); }
    RelayClients& owner;
    std::unique_ptr<Link> link;
    Relay::ClientId id = 0;
    int idle_sweeps = 0;
  };
  void remove(Relay::ClientId id);
  // Once a minute: closes connections that have asked nothing for a while and wait for nothing.
  void sweep();

  Loop& loop_;
  Relay& relay_;
  Loop::TimerId timer_ = 0;
  std::map<Relay::ClientId, std::unique_ptr<Client>> clients_;
};

}  // namespace millrace
