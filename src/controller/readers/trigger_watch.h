// src/controller/readers/trigger_watch.h - what strigger's triggers wait for: compares nodes and jobs with what they
// were when last looked at. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct FiredTrigger {
  TriggerId id;
  std::string about;  // the nodes as a hostlist, or the number of the job: what the program is told; empty: its job is
                      // forgotten, and so is the trigger
};

// What is true when it first sees a node is old news, so that a controller that starts sets nothing off twice.
class TriggerWatch {
 public:
  // At the start. A trigger that is there once and whose job has ended was missed: it is set off now.
  std::vector<FiredTrigger> remember(const State& state, Time now);
  std::vector<FiredTrigger> look(const State& state, const std::set<JobKey>& jobs, const std::set<NodeIndex>& nodes,
                                 Time now);
  // Those of time limits and idle nodes.
  std::vector<FiredTrigger> time_passed(const State& state, Time now);

 private:
  struct Seen {
    bool down = false, drained = false, draining = false, failing = false, drain = false;
    Time idle_since{};                // not set: busy, or not usable
    std::set<TriggerId> idle_told{};  // of this idleness
  };
  static Seen look_at(const Node& node);
  void look_at_job(const State& state, const Trigger& trigger, std::vector<FiredTrigger>& out);

  const std::set<std::string>& named_by(const Trigger& trigger);
  void happened(const State& state, TriggerEvent event, const std::string& node, std::vector<FiredTrigger>& out);

  std::map<NodeIndex, Seen> nodes_;
  std::map<TriggerId, std::set<std::string>> named_;  // nodes; a trigger keeps its list
  std::set<TriggerId> told_;                          // of the end of their job, or of its time, as it is now
};

// Of the controller itself: a new configuration, a start.
std::vector<FiredTrigger> fired_by(const State& state, TriggerEvent event);

struct TriggerCall {
  std::string program, about;
  UserId uid{};  // who set it
};

// Facts come first: the calls are made when the events are durable. So a program is run at most once for what happened,
// and not at all when the controller dies in between.
struct TriggerDecision {
  std::vector<Event> events;
  std::vector<TriggerCall> calls;
};
// One with an offset remembers what happened; the others are run.
TriggerDecision decide_fired(const State& state, const std::vector<FiredTrigger>& fired, Time now);
TriggerDecision decide_due(const State& state, Time now);

}  // namespace millrace
