// src/sim/sim_network.h - links that lose, double, delay and reorder messages, and break.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ports/transport.h"
#include "sim/sim_world.h"

namespace millrace {

struct NetworkFaults {
  std::uint64_t lost_per_1000 = 0;
  std::uint64_t doubled_per_1000 = 0;
  std::uint64_t broken_per_1000 = 0;  // the link, at a message
  Duration slowest = milliseconds(2);
};

// One server (the controller), many dialing clients, each link named by who dialed.
class SimNetwork {
 public:
  using Accept =
      std::function<void(std::unique_ptr<Link> link, const std::string& from, std::function<void(LinkHandler&)> start)>;
  explicit SimNetwork(SimWorld& world) : world_(world) {}
  NetworkFaults faults;

  void listen(Accept accept) { accept_ = std::move(accept); }  // empty: connections are refused
  std::unique_ptr<Link> dial(const std::string& from, LinkHandler& handler);
  void cut(const std::string& from);  // breaks this client's links

 private:
  class End;
  struct Pipe {
    LinkHandler* handlers[2] = {nullptr, nullptr};  // dialer, server; null once that side has let go
    std::string from;
    bool dead = false;
  };
  void deliver(std::uint64_t pipe, int to, std::string bytes);
  void drop(std::uint64_t pipe, const std::string& why);

  SimWorld& world_;
  Accept accept_;
  std::map<std::uint64_t, Pipe> pipes_;
  std::uint64_t last_ = 0;
};

class SimDialer final : public Dialer {
 public:
  SimDialer(SimNetwork& network, std::string name) : network_(network), name_(std::move(name)) {}
  std::unique_ptr<Link> dial(LinkHandler& handler) override { return network_.dial(name_, handler); }

 private:
  SimNetwork& network_;
  std::string name_;
};

}  // namespace millrace
