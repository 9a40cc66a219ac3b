// src/sim/scenario_job.h - the words of a scenario about one job: what it asks for, whose it is, and how it will run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/admission/submit_job.h"
#include "sim/scenario_accounts.h"
#include "sim/scenario_programs.h"

namespace millrace {

struct PlannedRun {
  std::int64_t run = 0;
  std::uint32_t exit_code = 0;
  bool out_of_memory = false;
  PlannedPrograms programs;
};

// What `submit` says before a ':', or after it.
struct ScenarioJob {
  SubmitJob ask;
  PlannedRun planned;
  Owner owner{UserId{1000}, GroupId{1000}, "user", "group", {1000}, "host", {}};
};

// KEY=VALUE ...; what is not known goes to the problems. Dependencies stay as they are written.
void read_job(const std::string& name, std::span<const std::string> words, ScenarioUsers& users, ScenarioJob& out,
              std::vector<std::string>& problems);

}  // namespace millrace
