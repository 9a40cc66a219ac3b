// src/controller/fair_turns.h - work of requests that takes many turns of the loop: a piece per turn, users in turn.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "base/quantity.h"
#include "ports/loop.h"

namespace millrace {

// However much somebody asks for, others wait for one piece of it and no more, and his own requests are done one after
// the other.
class FairTurns {
 public:
  using Piece = std::move_only_function<bool()>;  // true: there is more to do
  explicit FairTurns(Loop& loop) : loop_(loop) {}

  // The first piece is done at once where nothing else waits.
  void add(UserId user, Piece piece) {
    work_[user].push_back(std::move(piece));
    if (!posted_) turn();
  }

 private:
  void turn() {
    posted_ = true;
    auto next = work_.upper_bound(last_);
    if (next == work_.end()) next = work_.begin();
    last_ = next->first;
    Piece piece = std::move(next->second.front());
    next->second.pop_front();
    const bool more = piece();  // which may add work
    next = work_.find(last_);
    if (more) next->second.push_front(std::move(piece));
    if (next->second.empty()) work_.erase(next);
    posted_ = !work_.empty();
    if (posted_) loop_.post([this] { turn(); });
  }

  Loop& loop_;
  std::map<UserId, std::deque<Piece>> work_;
  UserId last_{};
  bool posted_ = false;
};

}  // namespace millrace
