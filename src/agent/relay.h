// src/agent/relay.h - carries requests of this host's clients to the controller and its replies back.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "agent.pb.h"
#include "ports/loop.h"

namespace millrace {

// The uid and gid of a client are what the kernel said about its socket; nothing in its messages is believed. A request
// that cannot be answered any more is refused in words, so no client waits for a controller that is away.
//
// All share one link, which ends when too much waits on it. So requests wait here while it is busy, of each user so
// many and then his clients are not read, and users take turns.
class Relay final {
 public:
  using ClientId = std::uint64_t;
  using Answer = std::move_only_function<void(std::string reply)>;
  using Hold = std::move_only_function<void(bool held)>;  // whether the client is not to be read now
  // How requests leave; given while a controller listens, see connected().
  struct Upstream {
    std::move_only_function<void(const wire::RelayedRequest&)> request;
    std::move_only_function<void(ClientId)> closed;
    // As of a Link.
    std::move_only_function<std::size_t()> unsent = [] { return std::size_t{0}; };
    std::move_only_function<void(std::size_t, Task)> when_unsent_below = [](std::size_t, Task then) { then(); };
  };
  static constexpr std::size_t clients_max = 4096;
  static constexpr std::size_t pending_max = 64;  // requests of one client
  // A request goes up while less than this waits for the controller, whatever its own size.
  static constexpr std::size_t unsent_enough = 4u << 20;
  // With so much waiting here a user's clients are held, and all are with so much in all.
  static constexpr std::size_t waiting_per_user_enough = 4u << 20;
  static constexpr std::size_t waiting_enough = 256u << 20;

  // 0: too many clients.
  ClientId open(std::uint32_t uid, std::uint32_t gid, Answer answer, Hold hold = {});
  void request(ClientId client, std::string_view bytes);
  void close(ClientId client);  // the client is gone

  void connected(Upstream upstream);
  void disconnected();  // what was asked and not answered fails now: whether it happened is unknown
  void reply(ClientId client, std::string_view bytes);
  std::size_t clients() const { return clients_.size(); }
  bool waits(ClientId client) const;  // for an answer, or to be read

 private:
  struct Client {
    std::uint32_t uid = 0, gid = 0;
    Answer answer;
    Hold hold;
    std::set<std::uint64_t> pending;  // numbers of requests whose last reply has not come
    bool held = false;
  };
  struct Request {
    ClientId client;
    std::string bytes;
    std::size_t cost() const { return bytes.size() + sizeof(Request); }
  };
  struct Waiting {
    std::deque<Request> requests;
    std::size_t cost = 0;
  };
  void send_up(ClientId id, const Client& client, std::string_view bytes);
  void send_on();
  void forget_waiting(ClientId id, std::uint32_t uid);
  bool is_to_wait(std::uint32_t uid) const;
  void settle_holds();

  std::map<ClientId, Client> clients_;
  ClientId last_client_ = 0;
  bool is_connected_ = false;
  Upstream upstream_;
  std::map<std::uint32_t, Waiting> waiting_;  // by user, those who have something waiting
  std::size_t waiting_cost_ = 0;
  std::uint32_t last_user_ = 0;  // who had a turn
  bool asked_ = false;           // to be called when the link has room
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace millrace
