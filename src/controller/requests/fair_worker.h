// src/controller/requests/fair_worker.h - a worker that users share: a piece for each in turn.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "controller/requests/fair_queue.h"
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

  // Something long: `slice` does a part of it, and says whether that was the last. In between others have their turn.
  struct Sliced {
    std::move_only_function<bool()> slice;  // on the worker, again and again
    Task then;                              // on the loop
  };
  using BeginSliced = std::move_only_function<Sliced()>;

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
  // It ends after a slice once its client has left.
  void ask_in_slices(Turn whose, ClientId client, BeginSliced begin) {
    queue_.ask(whose, client, [this, whose, client, begin = std::move(begin)](Task done) mutable {
      run_slice(std::make_shared<UnderWay>(whose, client, begin()), std::move(done));
    });
  }
  void client_left(ClientId client) {
    queue_.client_left(client);
    for (const auto& one : under_way_)
      if (client != 0 && one->client == client) one->left = true;
  }
  std::size_t waiting(Turn whose) const { return queue_.waiting(whose); }

 private:
  struct UnderWay {
    Turn whose;
    ClientId client;
    Sliced work;
    bool over = false, left = false;
  };
  void run_slice(std::shared_ptr<UnderWay> one, Task done) {
    under_way_.push_back(one);
    worker_.run([one] { one->over = one->work.slice(); },
                [this, alive = std::weak_ptr(alive_), one, done = std::move(done)]() mutable {
                  if (alive.expired()) return;
                  std::erase(under_way_, one);
                  if (one->over && !one->left) one->work.then();
                  if (!one->over && !one->left)
                    queue_.ask_next(one->whose, one->client,
                                    [this, one](Task next_done) { run_slice(one, std::move(next_done)); });
                  done();
                });
  }

  static constexpr int at_once_max = 2;  // one is worked on, and the next is there when it is done
  Worker& worker_;
  FairQueue queue_{at_once_max};
  std::vector<std::shared_ptr<UnderWay>> under_way_;  // of what is done in slices: a slice each
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace
