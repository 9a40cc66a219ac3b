// src/controller/requests/fair_turns.h - work that users want of the loop: a piece per turn of the loop, users in turn.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "controller/clients.h"
#include "controller/requests/turn.h"
#include "ports/loop.h"

namespace millrace {

// However much somebody asks for, others wait for one piece of it and no more, and his own requests are done one after
// the other. What a client wants and is not begun or not done ends with it.
class FairTurns {
 public:
  using Piece = std::move_only_function<bool()>;  // true: there is more to do
  explicit FairTurns(Loop& loop) : loop_(loop) {}

  // The first piece of a turn of the loop is done at once where nothing else waits.
  void add(Turn whose, ClientId client, Piece piece) {
    work_[whose].push_back({client, std::move(piece)});
    if (!posted_) turn();
  }

  void client_left(ClientId client) {
    if (running_ == client) running_ = 0;
    for (auto& [user, pieces] : work_) std::erase_if(pieces, [&](const Wanted& one) { return one.client == client; });
    std::erase_if(work_, [](const auto& one) { return one.second.empty(); });
  }

 private:
  struct Wanted {
    ClientId client;
    Piece piece;
  };

  void turn() {
    posted_ = !work_.empty();
    if (!posted_) return;
    auto next = work_.upper_bound(last_);
    if (next == work_.end()) next = work_.begin();
    last_ = next->first;
    Wanted wanted = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) work_.erase(next);
    running_ = wanted.client;
    const bool more = wanted.piece();  // which may add work, and end its client
    const bool stays = running_ == wanted.client;
    running_ = 0;
    if (more && stays) work_[last_].push_front(std::move(wanted));
    loop_.post([this] { turn(); });
  }

  Loop& loop_;
  std::map<Turn, std::deque<Wanted>> work_;  // of users who want something
  Turn last_;
  ClientId running_ = 0;
  bool posted_ = false;
};

}  // namespace millrace
