// src/controller/fair_worker.cpp - see fair_worker.h.
#include "controller/fair_worker.h"

#include <deque>
#include <map>
#include <utility>

namespace millrace {
namespace {

constexpr int given_max = 2;  // one is worked on, and the next is there when it is done

}  // namespace

struct FairWorker::Inner : std::enable_shared_from_this<Inner> {
  explicit Inner(Worker& w) : worker(w) {}

  struct Wanted {
    ClientId client;
    Begin begin;
  };
  Worker& worker;
  std::map<UserId, std::deque<Wanted>> wanted;  // of users who want something
  UserId last;
  int given = 0;

  void go_on() {
    while (given < given_max && !wanted.empty()) {
      auto next = wanted.upper_bound(last);
      if (next == wanted.end()) next = wanted.begin();
      last = next->first;
      Begin begin = std::move(next->second.front().begin);
      next->second.pop_front();
      if (next->second.empty()) wanted.erase(next);
      ++given;
      Piece piece = begin();
      worker.run(std::move(piece.work), [weak = weak_from_this(), then = std::move(piece.then)]() mutable {
        const auto self = weak.lock();
        if (!self) return;
        --self->given;
        then();
        self->go_on();
      });
    }
  }
};

FairWorker::FairWorker(Worker& worker) : inner_(std::make_shared<Inner>(worker)) {}
FairWorker::~FairWorker() = default;

void FairWorker::ask(UserId user, ClientId client, Begin begin) {
  inner_->wanted[user].push_back({client, std::move(begin)});
  inner_->go_on();
}

void FairWorker::client_left(ClientId client) {
  if (client == 0) return;
  for (auto& [user, pieces] : inner_->wanted)
    std::erase_if(pieces, [&](const Inner::Wanted& one) { return one.client == client; });
  std::erase_if(inner_->wanted, [](const auto& one) { return one.second.empty(); });
}

std::size_t FairWorker::waiting(UserId user) const {
  const auto it = inner_->wanted.find(user);
  return it == inner_->wanted.end() ? 0 : it->second.size();
}

}  // namespace millrace
