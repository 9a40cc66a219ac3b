// src/controller/loop/planning.h - keeps one planner pass at a time going on the worker, and hands its proposals back
// to the loop.
#pragma once

#include <functional>
#include <memory>

#include "core/planner/pass.h"
#include "ports/loop.h"

namespace millrace {

class Planning final {
 public:
  struct Source {
    std::move_only_function<const State&()> snapshot;  // durable
    std::move_only_function<void(Plan)> finished;      // on the loop
    std::move_only_function<std::vector<NodeIndex>()> unreachable;
    std::move_only_function<void(const Plan*, std::size_t queued, Duration took)> passed =
        {};                                         // a pass is over; no plan: given up
    std::move_only_function<Duration()> wait = {};  // no job may start before; 0: now
    // The last plan is still being carried out: what it starts would be planned once more. carried_out() says when not.
    std::move_only_function<bool()> carrying = {};
  };
  // A slice of this many steps takes a few milliseconds; between slices a pass can be given up.
  Planning(Loop& loop, Worker& worker, PlannerSettings settings, Source source, std::int64_t steps_per_slice = 200'000);

  // Something changed that may let a job start. While a pass is under way it is noted, and another follows.
  void wanted();
  // What the pass under way stands on is no longer so: it is given up for one on what is, though not twice in a row.
  void outdated();
  // Jobs were added. Behind a job that is blocked already they are looked at a little later, many at a time.
  void wanted_for_new_jobs();
  void carried_out();
  void set_settings(PlannerSettings settings) { settings_ = std::move(settings); }
  void switch_off() { off_ = true; }  // a foreign scheduler drives us

 private:
  bool is_busy() { return pass_ != nullptr || (source_.carrying && source_.carrying()); }
  void start();
  void slice();
  void look_again_in(Duration wait);

  Loop& loop_;
  Worker& worker_;
  PlannerSettings settings_;
  Source source_;
  const std::int64_t steps_per_slice_;
  Memo memo_;  // of the pass under way, on the worker
  std::unique_ptr<Pass> pass_;
  Time began_;              // the pass under way; by the clock that nobody sets
  std::size_t queued_ = 0;  // for it
  bool finished_ = false;
  bool again_ = false;
  bool outdated_ = false;  // the pass under way
  bool gave_up_ = false;   // the one before it: under constant change some pass must come to its end
  bool blocked_ = false;   // the last pass left someone waiting
  Loop::TimerId soon_ = 0;
  bool off_ = false;
};

}  // namespace millrace
