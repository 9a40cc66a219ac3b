// src/sim/scenario_power.cpp - see scenario_power.h.
#include "sim/scenario_power.h"

#include "base/text.h"

namespace millrace {

Result<void> read_power_line(const std::vector<std::string>& words, Policy& policy, ScenarioPower& power) {
  policy.power.saving = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto parts = split(words[i], '=');
    const auto number = parse_integer(parts.back());
    if (parts.size() != 2 || !number)
      return fail(Errc::invalid, "expected: power [suspend=60] [timeout=10] [boot=20] [resume=120] [keep=2] [rate=1]");
    const auto count = static_cast<std::uint32_t>(*number);
    if (parts[0] == "suspend")
      policy.power.suspend_seconds = count;
    else if (parts[0] == "timeout")
      policy.power.suspend_timeout_seconds = count;
    else if (parts[0] == "resume")
      policy.resume_timeout_seconds = count;
    else if (parts[0] == "keep")
      policy.power.keep_up = {count};
    else if (parts[0] == "boot")
      power.boot = *number;
    else
      return fail(Errc::invalid, "unknown power key '" + words[i] + "'");
  }
  return {};
}

bool ScenarioPower::note_fate(JobKey key, const std::string& node) {
  ill_fated.erase(key);
  if (sick.contains(node)) ill_fated.insert(key);
  return !sick.contains(node);
}

bool read_health(const std::vector<std::string>& words, ScenarioPower& power) {
  if (words[0] == "broken")
    power.broken.insert(words[1]);
  else if (words[0] == "repaired")
    power.broken.erase(words[1]);
  else if (words[0] == "sick")
    power.sick.insert(words[1]);
  else if (words[0] == "healthy")
    power.sick.erase(words[1]);
  else
    return false;
  return true;
}

const char* power_word(PowerChange change) {
  switch (change) {
    case PowerChange::down_wanted:
    case PowerChange::down_asap:
      return "down_wanted";
    case PowerChange::down_forced:
    case PowerChange::going_down:
      return "going_down";
    case PowerChange::off:
      return "off";
    case PowerChange::up_wanted:
      return "up_wanted";
    case PowerChange::coming_up:
      return "coming_up";
    case PowerChange::told:
      return "told";
    case PowerChange::failed:
      return "failed";
    case PowerChange::called_off:
      return "called_off";
  }
  return "unknown";
}

}  // namespace millrace
