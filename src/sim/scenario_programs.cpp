// src/sim/scenario_programs.cpp - see scenario_programs.h.
#include "sim/scenario_programs.h"

#include "wire/event_text.h"

namespace millrace {

std::vector<std::int64_t> ProgramTimes::all(const State& state) const {
  std::vector<std::int64_t> out;
  for (const auto& [key, at] : epilog)
    if (state.active.contains(key)) out.push_back(at);
  for (const auto& [which, at] : controller)
    if (state.active.contains(std::get<0>(which))) out.push_back(at);
  return out;
}

Result<void> read_programs_line(const std::vector<std::string>& words, Policy& policy) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "nodes")
      policy.node_programs = true;
    else if (words[i] == "prolog")
      policy.job_prolog = true;
    else if (words[i] == "epilog")
      policy.job_epilog = true;
    else if (words[i] == "nohold")
      policy.hold_on_prolog_failure = false;
    else if (words[i] == "force_requeue")
      policy.requeue_on_prolog_failure = true;
    else
      return fail(Errc::invalid, "expected: programs [nodes] [prolog] [epilog] [nohold] [force_requeue]");
  }
  return {};
}

bool read_program_key(const std::string& key, std::int64_t number, PlannedPrograms& to) {
  if (key == "prolog")
    to.prolog = number;
  else if (key == "epilog")
    to.epilog = number;
  else if (key == "controller_prolog")
    to.controller_prolog = number;
  else if (key == "controller_epilog")
    to.controller_epilog = number;
  else if (key == "prolog_fails")
    to.prolog_fails = true;
  else if (key == "epilog_fails")
    to.epilog_fails = true;
  else if (key == "controller_prolog_fails")
    to.controller_prolog_fails = true;
  else
    return false;
  return true;
}

std::vector<std::string> end_in_words(const std::string& name, const Job& job) {
  const std::int64_t ran = job.started_at.is_set() ? job.ran_until(job.ended_at).value / 1'000'000 : 0;
  return {"end " + name + " " + std::string{outcome_word(job.outcome)}, "ran " + name + " " + std::to_string(ran)};
}

}  // namespace millrace
