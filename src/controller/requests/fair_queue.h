// src/controller/requests/fair_queue.h - things that take a while, a few at a time: users in turn.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "controller/clients.h"
#include "controller/requests/turn.h"
#include "ports/loop.h"

namespace millrace {

// Whoever asks next waits for no more than what is under way and one thing of each other user. What a client asked for
// and is not begun ends with it; with client 0 it is begun whoever leaves.
class FairQueue {
 public:
  // Begins it. The task it is given is called once, when it is done and the next may begin.
  using Begin = std::move_only_function<void(Task done)>;
  explicit FairQueue(int at_once_max) : inner_(std::make_shared<Inner>(at_once_max)) {}

  void ask(Turn whose, ClientId client, Begin begin) {
    inner_->wanted[whose].push_back({client, std::move(begin)});
    inner_->go_on();
  }
  // Before all else of this user: what is begun is brought to its end first.
  void ask_next(Turn whose, ClientId client, Begin begin) {
    inner_->wanted[whose].push_front({client, std::move(begin)});
    inner_->go_on();
  }
  void client_left(ClientId client) {
    if (client == 0) return;
    for (auto& [user, list] : inner_->wanted)
      std::erase_if(list, [&](const Wanted& one) { return one.client == client; });
    std::erase_if(inner_->wanted, [](const auto& one) { return one.second.empty(); });
  }
  std::size_t waiting(Turn whose) const {
    const auto it = inner_->wanted.find(whose);
    return it == inner_->wanted.end() ? 0 : it->second.size();
  }

 private:
  struct Wanted {
    ClientId client;
    Begin begin;
  };
  struct Inner : std::enable_shared_from_this<Inner> {
    explicit Inner(int max) : at_once_max(max) {}
    void go_on() {
      if (std::exchange(going, true)) return;
      while (under_way < at_once_max && !wanted.empty()) {
        auto next = wanted.upper_bound(last);
        if (next == wanted.end()) next = wanted.begin();
        last = next->first;
        Begin begin = std::move(next->second.front().begin);
        next->second.pop_front();
        if (next->second.empty()) wanted.erase(next);
        ++under_way;
        begin([weak = weak_from_this()] {
          const auto self = weak.lock();
          if (!self) return;
          --self->under_way;
          self->go_on();
        });
      }
      going = false;
    }
    const int at_once_max;
    std::map<Turn, std::deque<Wanted>> wanted;  // of users who want something
    Turn last;
    int under_way = 0;
    bool going = false;
  };
  std::shared_ptr<Inner> inner_;  // what is under way may end after this
};

}  // namespace millrace
