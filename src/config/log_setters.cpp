// src/config/log_setters.cpp - keys about the logs of the daemons.
#include "config/key_setters.h"
#include "config/key_words.h"

namespace millrace::setter {
namespace {

Result<LogLevel> level_of(std::string_view value) {
  if (const auto level = parse_log_level(value)) return *level;
  return fail(Errc::invalid,
              "'" + std::string{value} +
                  "' is no level of a log; quiet, fatal, error, info, verbose, debug, debug2 to debug5 would be right");
}

}  // namespace

Result<void> controller_debug(Configuration& c, std::string_view value) {
  MR_TRY(c.log.controller, level_of(value));
  return {};
}

Result<void> agent_debug(Configuration& c, std::string_view value) {
  MR_TRY(c.log.agent, level_of(value));
  return {};
}

Result<void> controller_syslog(Configuration& c, std::string_view value) {
  MR_TRY(c.log.controller_syslog, level_of(value));
  return {};
}

Result<void> agent_syslog(Configuration& c, std::string_view value) {
  MR_TRY(c.log.agent_syslog, level_of(value));
  return {};
}

Result<void> debug_flag_list(Configuration& c, std::string_view value) {
  auto flags = parse_debug_flags(value);
  if (!flags) {
    std::string known;
    for (const DebugFlagRow& row : debug_flags()) known += std::string{row.name} + " ";
    for (const std::string_view word : split(value, ','))
      if (!trim(word).empty() && !parse_debug_flags(word))
        return fail(Errc::invalid, flags.error().story + did_you_mean(trim(word), known));
  }
  MR_TRY(c.log.flags, std::move(flags));
  return {};
}

Result<void> log_time_format(Configuration& c, std::string_view value) {
  MR_TRY(c.log.time, parse_log_time_format(value));
  return {};
}

Result<void> schedule_log_file(Configuration& c, std::string_view value) {
  if (!value.starts_with('/')) return fail(Errc::invalid, "'" + std::string{value} + "' is no absolute path");
  c.log.schedule_file = std::string{value};
  return {};
}

Result<void> schedule_log_level(Configuration& c, std::string_view value) {
  const auto number = parse_integer(value);
  if (number != 0 && number != 1)
    return fail(Errc::invalid, "0 (nothing) and 1 (what the scheduler decides) would be right");
  c.log.schedule = number == 1;
  return {};
}

}  // namespace millrace::setter
