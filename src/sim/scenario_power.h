// src/sim/scenario_power.h - power saving in scenarios: how long nodes take to boot, and which never do; and which
// launch no jobs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct ScenarioPower {
  std::int64_t boot = 10;                   // seconds
  std::set<std::string> broken;             // they do not come up
  std::set<std::string> sick;               // they launch nothing, and say that it is the job's fault
  std::set<JobKey> ill_fated;               // placed on such a one
  std::map<NodeIndex, std::int64_t> boots;  // when those that boot now are up

  // Whether a job whose first node this is can begin.
  bool note_fate(JobKey key, const std::string& node);
};

// power [suspend=60] [timeout=10] [boot=20] [resume=120] [keep=2] [rate=1]
Result<void> read_power_line(const std::vector<std::string>& words, Policy& policy, ScenarioPower& power);
// broken n0 | repaired n0 | sick n0 | healthy n0
bool read_health(const std::vector<std::string>& words, ScenarioPower& power);
const char* power_word(PowerChange change);

}  // namespace millrace
