// src/config/program_setters.cpp - keys about the site's own programs: prolog and epilog, health check, reboot.
#include "config/key_setters.h"

#include <algorithm>

#include "config/key_words.h"

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
Result<void> controller_prolog(Configuration& c, std::string_view value) {
  return add_program(c.node_life.controller_prolog, value);
}
Result<void> controller_epilog(Configuration& c, std::string_view value) {
  return add_program(c.node_life.controller_epilog, value);
}
Result<void> prolog_limit(Configuration& c, std::string_view value) {
  return set_limit(c.node_life.prolog_limit, value);
}
Result<void> epilog_limit(Configuration& c, std::string_view value) {
  return set_limit(c.node_life.epilog_limit, value);
}

Result<void> prolog_epilog_limit(Configuration& c, std::string_view value) {
  MR_TRY_VOID(set_limit(c.node_life.prolog_limit, value));
  return set_limit(c.node_life.epilog_limit, value);
}

// A prolog runs on each node as soon as the job has it, which is what Alloc asks for.
Result<void> prolog_flags(Configuration& c, std::string_view value) {
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name.empty() || name == "none" || name == "alloc" || name == "x11")
      continue;  // windows are forwarded whoever asks (srun --x11)
    if (name == "forcerequeueonfail") {
      c.node_life.requeue_on_prolog_failure = true;
      continue;
    }
    if (effect_of_word(*find_key_words("PrologFlags"), name) == WordEffect::unknown)
      return fail(Errc::invalid,
                  "'" + std::string{word} + "' is not known; Alloc, X11 and ForceRequeueOnFail would be right");
  }
  return {};
}

Result<void> health_check_program(Configuration& c, std::string_view value) {
  return absolute(c.node_life.health_check, value);
}
Result<void> reboot_program(Configuration& c, std::string_view value) {
  return absolute(c.node_life.reboot_program, value);
}
Result<void> mail_program(Configuration& c, std::string_view value) {
  return absolute(c.node_life.mail_program, value);
}
Result<void> mail_domain(Configuration& c, std::string_view value) {
  c.node_life.mail_domain = value;
  return {};
}

Result<void> reservation_prolog(Configuration& c, std::string_view value) {
  return absolute(c.node_life.reservation_prolog, value);
}
Result<void> reservation_epilog(Configuration& c, std::string_view value) {
  return absolute(c.node_life.reservation_epilog, value);
}

Result<void> completion_type(Configuration& c, std::string_view value) {
  using Kind = JobCompletionSettings::Kind;
  const std::string name = lower(value.starts_with("jobcomp/") ? value.substr(8) : value);
  c.job_completion.kind = Kind::none;
  if (name == "filetxt")
    c.job_completion.kind = Kind::file;
  else if (name == "script")
    c.job_completion.kind = Kind::program;
  else if (name == "elasticsearch" || name == "kafka" || name == "lua" || name == "mysql")
    c.not_built.push_back(
        {"JobCompType", "", 0, "jobcomp/" + name + " is not built yet; jobcomp/filetxt and jobcomp/script are"});
  else if (!name.empty() && name != "none")
    return fail(Errc::invalid, "'" + std::string{value} +
                                   "' is not known; jobcomp/filetxt, jobcomp/script and jobcomp/none would be right");
  return {};
}

// What it must be depends on the type, which may stand below it: it is checked at the end.
Result<void> completion_location(Configuration& c, std::string_view value) {
  c.job_completion.location = std::string{value};
  return {};
}

Result<void> store_flags(Configuration& c, std::string_view value) {
  constexpr std::pair<std::string_view, std::uint32_t> known[] = {{"job_script", store_script},
                                                                  {"job_env", store_environment},
                                                                  {"job_comment", millrace::store_comment},
                                                                  {"job_extra", store_extra}};
  c.store_flags = 0;
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name.empty() || name == "none" || name == "no_stdio") continue;  // names of output files are always kept
    const auto it = std::ranges::find(known, name, [](const auto& row) { return row.first; });
    if (it == std::end(known))
      return fail(Errc::invalid, "'" + std::string{word} +
                                     "' is not known; job_script, job_env, job_comment and job_extra would be right");
    c.store_flags |= it->second;
  }
  return {};
}

Result<void> store_comment(Configuration& c, std::string_view value) {
  if (is_yes(value)) c.store_flags |= millrace::store_comment;
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
    if (name == "any")
      to.check_idle = to.check_busy = true;
    else if (name == "idle")
      to.check_idle = true;
    else if (name == "alloc" || name == "mixed")
      to.check_busy = true;
    else if (name == "start_only")
      to.check_only_at_start = true;
    else if (name == "cycle" || name == "nondrained_idle")
      c.not_built.push_back({"HealthCheckNodeState=" + std::string{trim(word)}, "", 0, "not built yet"});
    else
      return fail(Errc::invalid, "'" + std::string{word} + "' is not one of ANY, IDLE, ALLOC, MIXED, START_ONLY");
  }
  if (!to.check_busy && !to.check_only_at_start) to.check_idle = true;
  return {};
}

Result<void> resume_timeout(Configuration& c, std::string_view value) {
  c.node_life.resume_timeout = seconds(std::max<std::int64_t>(parse_integer(value).value_or(60), 1));
  return {};
}

Result<void> agent_parameters(Configuration& c, std::string_view value) {
  for (const std::string_view word : split(value, ','))
    if (equals_ignoring_case(trim(word), "config_overrides")) c.node_life.config_overrides = true;
  return {};
}

}  // namespace millrace::setter
