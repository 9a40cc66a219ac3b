// src/sim/sim_network.cpp - see sim_network.h.
#include "sim/sim_network.h"

#include <algorithm>
#include <vector>

namespace millrace {

class SimNetwork::End final : public Link {
 public:
  End(SimNetwork& network, std::uint64_t pipe, int side) : network_(network), pipe_(pipe), side_(side) {}
  ~End() override { close(); }
  void send(std::string bytes) override {
    if (network_.pipes_.contains(pipe_)) network_.deliver(pipe_, 1 - side_, std::move(bytes));
  }
  void close() override {
    const auto it = network_.pipes_.find(pipe_);
    if (it == network_.pipes_.end()) return;
    it->second.handlers[side_] = nullptr;
    network_.drop(pipe_, "closed by the peer");
  }
  std::size_t unsent() const override { return 0; }

 private:
  SimNetwork& network_;
  std::uint64_t pipe_;
  int side_;
};

std::unique_ptr<Link> SimNetwork::dial(const std::string& from, LinkHandler& handler) {
  const std::uint64_t number = ++last_;
  Pipe& pipe = pipes_[number];
  pipe.from = from;
  pipe.handlers[0] = &handler;
  auto mine = std::make_unique<End>(*this, number, 0);
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(world_.random.below(1000))}, [this, number] {
    const auto it = pipes_.find(number);
    if (it == pipes_.end() || it->second.dead) return;
    if (!accept_) return drop(number, "connection refused");
    auto theirs = std::make_unique<End>(*this, number, 1);
    accept_(std::move(theirs), it->second.from, [this, number](LinkHandler& server) {
      const auto pipe = pipes_.find(number);
      if (pipe != pipes_.end()) pipe->second.handlers[1] = &server;
    });
  });
  return mine;
}

void SimNetwork::deliver(std::uint64_t number, int to, std::string bytes) {
  Prng& random = world_.random;
  if (random.chance(faults.broken_per_1000, 1000)) return drop(number, "connection reset");
  if (random.chance(faults.lost_per_1000, 1000)) return;
  const bool doubled = random.chance(faults.doubled_per_1000, 1000);
  for (int copy = 0; copy < (doubled ? 2 : 1); ++copy) {
    // Each copy takes its own time: that is what reorders.
    const Duration delay{1 + static_cast<std::int64_t>(
                                 random.below(static_cast<std::uint64_t>(faults.slowest.value) * (doubled ? 20 : 1)))};
    world_.at(world_.now() + delay, [this, number, to, bytes] {
      const auto it = pipes_.find(number);
      if (it != pipes_.end() && !it->second.dead && it->second.handlers[to]) it->second.handlers[to]->message(bytes);
    });
  }
}

// Each side still there hears of it a little later, as from a real socket; a dead process has let go before.
void SimNetwork::drop(std::uint64_t number, const std::string& why) {
  const auto it = pipes_.find(number);
  if (it == pipes_.end() || it->second.dead) return;
  it->second.dead = true;
  world_.at(world_.now() + microseconds(1), [this, number, why] {
    for (int side = 0; side < 2; ++side) {
      const auto pipe = pipes_.find(number);
      if (pipe == pipes_.end()) return;
      if (LinkHandler* handler = std::exchange(pipe->second.handlers[side], nullptr)) handler->closed(why);
    }
    pipes_.erase(number);
  });
}

void SimNetwork::cut(const std::string& from) {
  std::vector<std::uint64_t> mine;
  for (const auto& [number, pipe] : pipes_)
    if (pipe.from == from) mine.push_back(number);
  for (const std::uint64_t number : mine) drop(number, "network cut");
}

}  // namespace millrace
