// src/controller/fair_worker.h - a worker that users share: a piece for each in turn.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/quantity.h"
#include "controller/clients.h"
#include "ports/loop.h"

namespace millrace {

// The worker itself is given a piece or two at a time, so that whoever asks next waits for no more than these, and
// nobody fills its queue.
class FairWorker {
 public:
  struct Piece {
    Task work, then;  // on the worker; afterwards on the loop
  };
  // Called when its turn has come: what it works on is taken then, so that nothing old is kept while it waits.
  using Begin = std::move_only_function<Piece()>;

  explicit FairWorker(Worker& worker);
  ~FairWorker();

  // With client 0 it is done whoever leaves.
  void ask(UserId user, ClientId client, Begin begin);
  // What it asked for and has not begun is dropped.
  void client_left(ClientId client);
  std::size_t waiting(UserId user) const;

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;  // shared with what is under way
};

}  // namespace millrace
