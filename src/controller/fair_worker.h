// src/controller/fair_worker.h - a worker that users share: a piece for each in turn.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "controller/fair_queue.h"
#include "ports/loop.h"

namespace millrace {

// The worker itself is given a piece or two at a time, so that nobody fills its queue.
class FairWorker {
 public:
  struct Piece {
    Task work, then;  // on the worker; afterwards on the loop, unless this is gone
  };
  // Called when its turn has come: what it works on is taken then, so that nothing old is kept while it waits.
  using Begin = std::move_only_function<Piece()>;

  explicit FairWorker(Worker& worker) : worker_(worker) {}

  void ask(Turn whose, ClientId client, Begin begin) {
    queue_.ask(
        whose, client, [&worker = worker_, alive = std::weak_ptr(alive_), begin = std::move(begin)](Task done) mutable {
          Piece piece = begin();
          worker.run(std::move(piece.work), [alive, then = std::move(piece.then), done = std::move(done)]() mutable {
            if (alive.expired()) return;
            then();
            done();
          });
        });
  }
  void client_left(ClientId client) { queue_.client_left(client); }
  std::size_t waiting(Turn whose) const { return queue_.waiting(whose); }

 private:
  static constexpr int at_once_max = 2;  // one is worked on, and the next is there when it is done
  Worker& worker_;
  FairQueue queue_{at_once_max};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace
