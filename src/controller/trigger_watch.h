// src/controller/trigger_watch.h - what strigger's triggers wait for: compares nodes and jobs with what they were when last looked at. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct FiredTrigger {
  TriggerId id;
  std::string about;  // the nodes as a hostlist, or the number of the job: what the program is told
};

// What is true when it first sees a node is old news, so that a controller that starts sets nothing off; what happens while there is none is seen when it is back.
class TriggerWatch {
 public:
  void remember(const State& state, Time now);
  std::vector<FiredTrigger> look(const State& state, const std::set<JobKey>& jobs, const std::set<NodeIndex>& nodes, Time now);
  std::vector<FiredTrigger> reconfigured(const State& state) const;
  // Triggers with an offset, and those of time limits.
  std::vector<FiredTrigger> time_passed(const State& state, Time now);

 private:
  struct Seen {
    bool down = false, drained = false, draining = false, failing = false, drain = false;
    Time idle_since;  // not set: busy, or not usable
  };
  struct Due {
    TriggerId id;
    Time at;
    std::string about;
  };
  void happened(const State& state, TriggerEvent event, const std::string& node, Time now, std::vector<FiredTrigger>& out);
  static Seen look_at(const Node& node);

  std::map<NodeIndex, Seen> nodes_;
  std::vector<Due> due_;  // happened; their offset is not over
};

std::string_view trigger_word(TriggerEvent event);  // "down", "fini", ...

}  // namespace millrace
