// src/sim/scenario_accounts.h - the lines of a scenario about accounts, shares, priorities and limits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/ledger/state.h"

namespace millrace {

using ScenarioWords = std::vector<std::string>;

// `priority multifactor age=1000 half_life=60 ...`, `enforce limits,safe`, `track gres/nic`, `billing main
// cpu=1,mem=0.5G`; false: none of them.
Result<bool> read_priority_line(const ScenarioWords& words, Policy& policy, std::vector<PartitionDef>& partitions);

// Names of users and their numbers: alice becomes 1001, the next 1002.
class ScenarioUsers {
 public:
  std::uint32_t uid_of(const std::string& name);

 private:
  std::map<std::string, std::uint32_t> known_;
};

// `sacctmgr add user alice account=physics` as events, or the line sacctmgr would print.
Result<std::vector<Event>> sacctmgr_events(const State& state, const ScenarioWords& words, Time now);

// What `expect t=5 priority a 100`, `factor a age 0.5`, `usage physics/alice 3600`, `fairshare alice 0.5` or `why a
// ...` are told; empty: not one of these.
std::string account_answer(const State& state, const ScenarioWords& expectation, const Job* job, Time now);

}  // namespace millrace
