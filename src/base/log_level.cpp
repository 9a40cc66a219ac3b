// src/base/log_level.cpp - see log_level.h.
#include "base/log_level.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::string_view level_names[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                            "debug", "debug2", "debug3", "debug4", "debug5"};
constexpr std::string_view level_prefixes[] = {"",         "fatal: ",  "error: ",  "",         "",
                                               "debug:  ", "debug2: ", "debug3: ", "debug4: ", "debug5: "};

constexpr DebugFlag none = DebugFlag::without_lines;

// clang-format off
constexpr DebugFlagRow flag_rows[] = {
    {"Accrue", "", none},
    {"Agent", "AGENT: ", DebugFlag::agent},
    {"AuditRPCs", "AUDIT_RPCS: ", DebugFlag::audit_rpcs},
    {"AuditTLS", "", none},
    {"Backfill", "BACKFILL: ", DebugFlag::backfill},
    {"BackfillMap", "", none},
    {"BurstBuffer", "", none},
    {"Cgroup", "CGROUP: ", DebugFlag::cgroup},
    {"ConMgr", "", none},
    {"CPU_Bind", "CPU_BIND: ", DebugFlag::cpu_bind},
    {"CpuFrequency", "", none},
    {"Data", "", none},
    {"DB_Archive", "", none},
    {"DB_Assoc", "", none},
    {"DB_Event", "", none},
    {"DB_Job", "", none},
    {"DB_QOS", "", none},
    {"DB_Query", "", none},
    {"DB_Reservation", "", none},
    {"DB_Resource", "", none},
    {"DB_Step", "", none},
    {"DB_TRES", "", none},
    {"DB_Usage", "", none},
    {"DB_WCKey", "", none},
    {"DBD_Agent", "", none},
    {"Dependency", "DEPENDENCY: ", DebugFlag::dependency},
    {"Elasticsearch", "", none},
    {"Energy", "", none},
    {"ExtSensors", "", none},
    {"Federation", "", none},
    {"FrontEnd", "", none},
    {"Gang", "GANG: ", DebugFlag::gang},
    {"GLOB_SILENCE", "", none},
    {"Gres", "GRES: ", DebugFlag::gres},
    {"Hetjob", "HETJOB: ", DebugFlag::hetjob},
    {"Interconnect", "", none},
    {"JobAccountGather", "", none},
    {"JobComp", "", none},
    {"JobContainer", "", none},
    {"License", "LICENSE: ", DebugFlag::license},
    {"Metrics", "", none},
    {"MPI", "", none},
    {"Namespace", "", none},
    {"Network", "NET: ", DebugFlag::network},
    {"NetworkRaw", "", none},
    {"NO_CONF_HASH", "", none},
    {"NodeFeatures", "", none},
    {"Power", "POWER: ", DebugFlag::power},
    {"Priority", "PRIO: ", DebugFlag::priority},
    {"Profile", "", none},
    {"Protocol", "PROTOCOL: ", DebugFlag::protocol},
    {"Reservation", "RESERVATION: ", DebugFlag::reservation},
    {"Route", "", none},
    {"Script", "SCRIPT: ", DebugFlag::script},
    {"SelectType", "SELECT_TYPE: ", DebugFlag::select_type},
    {"Steps", "STEPS: ", DebugFlag::steps},
    {"Switch", "", none},
    {"TimeCray", "", none},
    {"TLS", "", none},
    {"TraceJobs", "TRACE_JOBS: ", DebugFlag::trace_jobs},
    {"Triggers", "TRIGGERS: ", DebugFlag::triggers},
    {"WorkQueue", "", none},
};
// clang-format on
static_assert(std::size(flag_rows) <= 64);

std::string names_where(DebugFlags flags, const auto& wanted) {
  std::string out;
  for (std::size_t i = 0; i < std::size(flag_rows); ++i)
    if ((flags >> i & 1) != 0 && wanted(flag_rows[i])) out += (out.empty() ? "" : ",") + std::string{flag_rows[i].name};
  return out;
}

}  // namespace

std::string_view name_of(LogLevel level) { return level_names[static_cast<std::size_t>(level)]; }
std::string_view prefix_of(LogLevel level) { return level_prefixes[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  if (const auto number = parse_integer(text)) {
    if (*number < 0 || *number > static_cast<int>(loudest)) return std::nullopt;
    return static_cast<LogLevel>(*number);
  }
  for (std::size_t i = 0; i < std::size(level_names); ++i)
    if (equals_ignoring_case(level_names[i], text)) return static_cast<LogLevel>(i);
  return std::nullopt;
}

LogLevel raised(LogLevel from, unsigned by) {
  const auto highest = static_cast<unsigned>(loudest);
  return static_cast<LogLevel>(std::min(highest, static_cast<unsigned>(from) + std::min(by, highest)));
}

std::span<const DebugFlagRow> debug_flags() { return flag_rows; }

DebugFlags bit_of(DebugFlag flag) {
  static constexpr auto bits = [] {
    std::array<DebugFlags, static_cast<std::size_t>(DebugFlag::without_lines) + 1> out{};
    for (std::size_t i = 0; i < std::size(flag_rows); ++i)
      if (flag_rows[i].flag != none) out[static_cast<std::size_t>(flag_rows[i].flag)] = DebugFlags{1} << i;
    return out;
  }();
  return bits[static_cast<std::size_t>(flag)];
}

Result<DebugFlags> parse_debug_flags(std::string_view list) {
  DebugFlags out = 0;
  for (const std::string_view word : split(list, ',')) {
    const std::string_view name = trim(word);
    if (name.empty()) continue;
    const auto* const row = std::ranges::find_if(
        flag_rows, [&](const DebugFlagRow& each) { return equals_ignoring_case(each.name, name); });
    if (row == std::end(flag_rows))
      return fail(Errc::invalid, "there is no debug flag " + std::string{name} +
                                     "; Backfill, Steps, TraceJobs and the other names of Slurm are");
    out |= DebugFlags{1} << (row - std::begin(flag_rows));
  }
  return out;
}

std::string names_of_flags(DebugFlags flags) {
  return names_where(flags, [](const DebugFlagRow&) { return true; });
}

std::string flags_without_lines(DebugFlags flags) {
  return names_where(flags, [](const DebugFlagRow& row) { return row.flag == none && row.name != "NO_CONF_HASH"; });
}

Result<LogTimeFormat> parse_log_time_format(std::string_view text) {
  constexpr std::pair<std::string_view, LogTimeFormat> rows[] = {
      {"iso8601", LogTimeFormat::iso8601},  {"iso8601_ms", LogTimeFormat::iso8601_ms},
      {"rfc5424", LogTimeFormat::rfc5424},  {"rfc5424_ms", LogTimeFormat::rfc5424_ms},
      {"rfc3339", LogTimeFormat::rfc3339},  {"clock", LogTimeFormat::clock},
      {"short", LogTimeFormat::short_form}, {"thread_id", LogTimeFormat::thread_id},
  };
  LogTimeFormat out = LogTimeFormat::iso8601_ms;
  for (const std::string_view word : split(text, ',')) {
    const std::string_view name = trim(word);
    if (name.empty() || equals_ignoring_case(name, "format_stderr"))
      continue;  // lines on standard error have times always
    const auto* const row =
        std::ranges::find_if(rows, [&](const auto& each) { return equals_ignoring_case(each.first, name); });
    if (row == std::end(rows))
      return fail(Errc::invalid,
                  "there is no form of times called " + std::string{name} +
                      "; iso8601, iso8601_ms, rfc5424, rfc5424_ms, rfc3339, clock, short, thread_id would be right");
    out = row->second;
  }
  return out;
}

}  // namespace millrace
