// src/agent/relay.h - carries requests of this host's clients to the controller and its replies back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "agent.pb.h"

namespace millrace {

// The uid and gid of a client are what the kernel said about its socket; nothing in its messages is believed. A request
// that cannot be answered any more is refused in words, so no client waits for a controller that is away.
class Relay final {
 public:
  using ClientId = std::uint64_t;
  using Answer = std::move_only_function<void(std::string reply)>;
  // How requests leave; given while a controller listens, see connected().
  struct Upstream {
    std::move_only_function<void(const wire::RelayedRequest&)> request;
    std::move_only_function<void(ClientId)> closed;
  };
  static constexpr std::size_t clients_max = 4096;
  static constexpr std::size_t pending_max = 64;  // requests of one client

  // 0: too many clients.
  ClientId open(std::uint32_t uid, std::uint32_t gid, Answer answer);
  void request(ClientId client, std::string_view bytes);
  void close(ClientId client);  // the client is gone

  void connected(Upstream upstream);
  void disconnected();  // what was asked and not answered fails now: whether it happened is unknown
  void reply(ClientId client, std::string_view bytes);
  std::size_t clients() const { return clients_.size(); }
  bool waits(ClientId client) const;  // for an answer

 private:
  struct Client {
    std::uint32_t uid = 0, gid = 0;
    Answer answer;
    std::set<std::uint64_t> pending;  // numbers of requests whose last reply has not come
  };
  std::map<ClientId, Client> clients_;
  ClientId last_client_ = 0;
  bool is_connected_ = false;
  Upstream upstream_;
};

}  // namespace millrace
