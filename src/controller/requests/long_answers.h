// src/controller/requests/long_answers.h - answers of very many rows: made some thousand at a time on the query worker,
// once for all who ask the same meanwhile, and kept for readers that are slower than others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "controller/clients.h"
#include "controller/requests/fair_worker.h"
#include "ports/loop.h"

namespace millrace {

// One pass over all rows, from a snapshot of its own.
class RowWalk {
 public:
  virtual ~RowWalk() = default;
  // The next rows as an encoded Reply without a number, `more` set where others follow; runs on the worker. False:
  // these were the last.
  virtual bool advance(std::string& encoded) = 0;
};

// A hundred clients that list a hundred thousand jobs in a loop must not cost a hundred times what one costs. While a
// round of a question is being made, all who ask the same gather for the next one: it begins after they asked, so each
// sees at least what was true when it asked. A crowd gathers a while longer: sending takes the loop's time, for each of
// them. Users take turns: one with a thousand different questions has a few of them made at a time.
class LongAnswers {
 public:
  using Begin = std::move_only_function<std::unique_ptr<RowWalk>()>;
  LongAnswers(Loop& loop, FairWorker& worker, Clients& clients);
  ~LongAnswers();

  // Equal `question`s have equal answers at any one moment, whoever asks. `begin` takes the snapshot, now or later.
  void ask(const Asker& asker, std::uint64_t number, const std::string& question, Begin begin);
  void client_left(ClientId client);

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;  // shared with what is under way on the worker
};

}  // namespace millrace
