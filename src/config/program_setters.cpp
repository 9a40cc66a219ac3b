// src/config/program_setters.cpp - keys about the site's own programs: prolog and epilog, health check, reboot.
#include "config/key_setters.h"

#include <algorithm>

namespace millrace::setter {
namespace {

constexpr std::int64_t no_limit = 65534;

Result<void> add_program(std::vector<std::string>& to, std::string_view value) {
  if (!value.empty()) to.emplace_back(value);
  return {};
}

Result<void> set_limit(Duration& to, std::string_view value) {
  const auto count = parse_integer(value);
  to = count && *count > 0 && *count < no_limit ? seconds(*count) : Duration{};
  return {};
}

Result<void> absolute(std::string& to, std::string_view value) {
  if (!value.empty() && !value.starts_with('/'))
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, the absolute name of a program would be right");
  to = std::string{value};
  return {};
}

}  // namespace

Result<void> prolog(Configuration& c, std::string_view value) { return add_program(c.node_life.prolog, value); }
Result<void> epilog(Configuration& c, std::string_view value) { return add_program(c.node_life.epilog, value); }
Result<void> controller_prolog(Configuration& c, std::string_view value) { return add_program(c.node_life.controller_prolog, value); }
Result<void> controller_epilog(Configuration& c, std::string_view value) { return add_program(c.node_life.controller_epilog, value); }
Result<void> prolog_limit(Configuration& c, std::string_view value) { return set_limit(c.node_life.prolog_limit, value); }
Result<void> epilog_limit(Configuration& c, std::string_view value) { return set_limit(c.node_life.epilog_limit, value); }

Result<void> prolog_epilog_limit(Configuration& c, std::string_view value) {
  MR_TRY_VOID(set_limit(c.node_life.prolog_limit, value));
  return set_limit(c.node_life.epilog_limit, value);
}

// A prolog runs on each node as soon as the job has it, which is what Alloc asks for.
Result<void> prolog_flags(Configuration& c, std::string_view value) {
  constexpr std::string_view later[] = {"contain", "deferbatch", "nohold", "serial", "runinjob", "reportstepstart"};
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name.empty() || name == "none" || name == "alloc" || name == "x11") continue;  // windows are forwarded whoever asks (srun --x11)
    if (name == "forcerequeueonfail") {
      c.node_life.requeue_on_prolog_failure = true;
      continue;
    }
    if (std::ranges::find(later, name) == std::end(later))
      return fail(Errc::invalid, "'" + std::string{word} + "' is not known; Alloc, X11 and ForceRequeueOnFail would be right");
    c.not_built.push_back({"PrologFlags=" + std::string{trim(word)}, "", 0, "not built yet"});
  }
  return {};
}

Result<void> health_check_program(Configuration& c, std::string_view value) { return absolute(c.node_life.health_check, value); }
Result<void> reboot_program(Configuration& c, std::string_view value) { return absolute(c.node_life.reboot_program, value); }
Result<void> mail_program(Configuration& c, std::string_view value) { return absolute(c.node_life.mail_program, value); }
Result<void> mail_domain(Configuration& c, std::string_view value) {
  c.node_life.mail_domain = value;
  return {};
}

Result<void> health_check_interval(Configuration& c, std::string_view value) {
  c.node_life.health_check_interval = seconds(parse_integer(value).value_or(0));
  return {};
}

Result<void> health_check_limit(Configuration& c, std::string_view value) {
  c.node_life.health_check_limit = seconds(parse_integer(value).value_or(0));
  return {};
}

Result<void> health_check_state(Configuration& c, std::string_view value) {
  NodeLifeSettings& to = c.node_life;
  to.check_idle = to.check_busy = to.check_only_at_start = false;
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name == "any") to.check_idle = to.check_busy = true;
    else if (name == "idle") to.check_idle = true;
    else if (name == "alloc" || name == "mixed") to.check_busy = true;
    else if (name == "start_only") to.check_only_at_start = true;
    else if (name == "cycle" || name == "nondrained_idle") c.not_built.push_back({"HealthCheckNodeState=" + std::string{trim(word)}, "", 0, "not built yet"});
    else return fail(Errc::invalid, "'" + std::string{word} + "' is not one of ANY, IDLE, ALLOC, MIXED, START_ONLY");
  }
  if (!to.check_busy && !to.check_only_at_start) to.check_idle = true;
  return {};
}

Result<void> resume_timeout(Configuration& c, std::string_view value) {
  c.node_life.resume_timeout = seconds(std::max<std::int64_t>(parse_integer(value).value_or(60), 1));
  return {};
}

Result<void> agent_parameters(Configuration& c, std::string_view value) {
  for (const std::string_view word : split(value, ',')) {
    if (equals_ignoring_case(trim(word), "config_overrides")) c.node_life.config_overrides = true;
    else if (!trim(word).empty()) c.not_built.push_back({"SlurmdParameters=" + std::string{trim(word)}, "", 0, "not built yet"});
  }
  return {};
}

}  // namespace millrace::setter
