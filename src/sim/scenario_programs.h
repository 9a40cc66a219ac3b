// src/sim/scenario_programs.h - prologs and epilogs in scenarios: how long they take and whether they fail.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Seconds of each. A prolog that fails does so in the first attempt only: somebody has looked.
struct PlannedPrograms {
  std::int64_t controller_prolog = 0, prolog = 0, epilog = 0, controller_epilog = 0;
  bool controller_prolog_fails = false, prolog_fails = false, epilog_fails = false;
};

// When those that run now are done.
struct ProgramTimes {
  std::map<JobKey, std::int64_t> epilog;  // on the nodes
  std::map<std::tuple<JobKey, Attempt, JobProgram>, std::int64_t> controller;

  std::vector<std::int64_t> all(const State& state) const;
};

// programs [nodes] [prolog] [epilog] [nohold] [force_requeue]
Result<void> read_programs_line(const std::vector<std::string>& words, Policy& policy);
bool read_program_key(const std::string& key, std::int64_t number, PlannedPrograms& to);
// How it ended, and for how many seconds it ran: what its nodes had to do afterwards does not count.
std::vector<std::string> end_in_words(const std::string& name, const Job& job);

}  // namespace millrace
