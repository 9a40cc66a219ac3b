// src/sim/what_if.h - two plans of one moment, as the cluster is and as it is supposed to be: who starts later, who
// sooner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/admission/submit_job.h"
#include "core/planner/plan.h"

namespace millrace {

struct Supposition {
  std::string without_nodes;        // a hostlist: nothing new starts there; what runs there runs to its end
  std::optional<SubmitJob> submit;  // decided as if its owner had submitted it
  std::vector<std::pair<std::string, std::uint32_t>> weights;  // age, assoc, fairshare, jobsize, partition, qos
  std::vector<std::pair<std::string, std::uint32_t>> limits;   // a job as users name it (12, 12_3), minutes
};

struct Supposed {
  State state;
  JobKey submitted;  // 0: none
};

// An error says which node, job or weight was not known, or why the job would be refused.
Result<Supposed> suppose(const State& state, const Supposition& what, Time now);

struct StartChange {
  JobKey key;          // of an array's rest: its first waiting task
  Time before, after;  // not set: no start is in sight
};

struct Consequences {
  std::vector<StartChange> changed;             // by the start after, those without one last
  std::optional<StartChange> submitted;         // `before` is never set
  std::size_t later = 0, sooner = 0, same = 0;  // of those with a start in both plans
  std::size_t no_more = 0, possible_now = 0;    // with a start only before, only after
  std::size_t unknown = 0;                      // with a start in neither: held, limited, or beyond the depth
  Duration total_change{};                      // of those with a start in both: positive is later
};

// Both are planned with these settings at this time, each from nothing.
Consequences compare(const State& before, const Supposed& after, const PlannerSettings& settings, Time now);

}  // namespace millrace
