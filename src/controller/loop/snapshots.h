// src/controller/loop/snapshots.h - has the log write a snapshot whenever it has grown by so much.
//
// The state is encoded on the query worker, in its turn with the questions of users, and written by the log. Payloads
// that jobs of the snapshot name are kept, and those of jobs that were submitted meanwhile.
#pragma once

#include <string>
#include <vector>

#include "controller/loop/context.h"
#include "controller/requests/fair_worker.h"
#include "ports/event_log.h"

namespace millrace {

class Snapshots final {
 public:
  Snapshots(const Context& context, EventLog& log, FairWorker& worker) : c_(context), log_(log), worker_(worker) {}
  void write_where_due();

 private:
  void write(const State& state, std::string bytes, const std::vector<PayloadId>& of_state);

  const Context& c_;
  EventLog& log_;
  FairWorker& worker_;
  bool running_ = false;
};

}  // namespace millrace
