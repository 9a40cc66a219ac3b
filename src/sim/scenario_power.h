// src/sim/scenario_power.h - power saving in scenarios: how long nodes take to boot, and which never do.
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
  std::map<NodeIndex, std::int64_t> boots;  // when those that boot now are up
};

// power [suspend=60] [timeout=10] [boot=20] [resume=120] [keep=2] [rate=1]
Result<void> read_power_line(const std::vector<std::string>& words, Policy& policy, ScenarioPower& power);
const char* power_word(PowerChange change);

}  // namespace millrace
