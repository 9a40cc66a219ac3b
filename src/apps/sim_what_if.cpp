// src/apps/sim_what_if.cpp - `millrace sim whatif`: reads what the running cluster's log comes to, supposes something,
// and compares the plans.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "apps/log_directory.h"
#include "apps/sim_commands.h"
#include "base/text.h"
#include "cli/options/job_options.h"
#include "cli/options/resource_setters.h"
#include "config/slurm_conf.h"
#include "controller/requests/submission.h"
#include "core/admission/job_selection.h"
#include "platform/name_service.h"
#include "sim/what_if.h"

namespace millrace {
namespace {

constexpr std::uint32_t depth_default = 1000;

constexpr FlagRow rows[] = {
    {"--conf", "FILE",
     "slurm.conf of the cluster (default: SLURM_CONF or /etc/slurm/slurm.conf); its StateSaveLocation is looked at"},
    {"--log", "DIR", "the event log itself, instead of --conf: a copy of it, or the directory of `millrace up`"},
    {"--without-nodes", "LIST", "nothing new starts on these nodes; what runs there runs to its end"},
    {"--submit", "\"OPTIONS\"", "a job with these options of sbatch, by you, comes now"},
    {"--weight", "NAME=N,...", "age, assoc, fairshare, jobsize, partition, qos: PriorityWeight... has another value"},
    {"--limit", "JOB=MINUTES,...", "these jobs, waiting or running, have another time limit"},
    {"--depth", "N", "how many waiting jobs get a planned start (default: 1000)"},
    {"--json", "", "one JSON object instead of a table"},
    {"--help", "", "print this help"},
};
constexpr std::string_view usage =
    "millrace sim whatif [--without-nodes LIST] [--submit \"OPTIONS\"] [--weight NAME=N] [--limit JOB=MINUTES] "
    "[flags]\n"
    "  Plans the waiting jobs of the running cluster twice, as it is and as supposed, and prints whose expected start "
    "changes.\n"
    "  Nothing is changed; the controller is not asked. You must be allowed to read its log. An expected start counts "
    "on time\n"
    "  limits and on nobody new coming; nodes that do not answer at this moment are taken for there.";

Result<std::vector<std::pair<std::string, std::uint32_t>>> read_pairs(const Flags& flags, std::string_view name,
                                                                      std::string_view what) {
  std::vector<std::pair<std::string, std::uint32_t>> out;
  if (!flags.has(name)) return out;
  const std::string text = flags.text(name);
  for (const std::string_view each : split(text, ',')) {
    const std::size_t equals = each.find('=');
    const auto number = equals == std::string_view::npos ? std::nullopt : parse_integer(each.substr(equals + 1));
    if (!number || equals == 0 || *number < 0 || *number >= unlimited)
      return fail(Errc::invalid, std::string{name} + ": '" + std::string{each} + "' is not " + std::string{what});
    out.emplace_back(lower(each.substr(0, equals)), static_cast<std::uint32_t>(*number));
  }
  return out;
}

Result<SubmitJob> read_job(const std::string& options) {
  JobDraft draft;
  Words words;
  for (const std::string_view word : split(options, ' '))
    if (!word.empty()) words.push_back(word);
  MR_TRY(const auto line,
         apply_words(job_options(), sbatch, std::span<const std::string_view>{words}, Operands::end_options, draft));
  if (!line.operands.empty())
    return fail(Errc::invalid,
                "'" + std::string{line.operands[0]} + "' is not an option of sbatch; a script is not needed");
  MR_TRY_VOID(check_draft(draft));
  MR_TRY_VOID(resource::complete(draft));
  MR_TRY(const UserIdentity who, ask_name_service(UserId{getuid()}, GroupId{getgid()}));
  wire::SubmitJob ask;
  *ask.mutable_job() = draft.job;
  if (ask.job().name().empty()) ask.mutable_job()->set_name("submitted");
  ask.mutable_job()->set_work_dir("/");
  ask.set_script("#!/bin/sh\n");
  return to_submit_jobs(ask, who).front();
}

Result<Supposition> read_supposition(const Flags& flags) {
  Supposition out;
  out.without_nodes = flags.text("--without-nodes");
  MR_TRY(out.weights, read_pairs(flags, "--weight", "a weight and its value, as in age=1000"));
  MR_TRY(out.limits, read_pairs(flags, "--limit", "a job and minutes, as in 12=30"));
  if (flags.has("--submit")) {
    MR_TRY(out.submit, in_context(read_job(flags.text("--submit")), "--submit"));
  }
  if (out.without_nodes.empty() && out.weights.empty() && out.limits.empty() && !out.submit)
    return fail(Errc::invalid,
                "nothing is supposed: give --without-nodes, --submit, --weight or --limit; --help says how");
  return out;
}

std::string format_moment(Time at) {
  if (!at.is_set()) return "not in sight";
  const std::time_t second = at.seconds();
  std::tm parts{};
  localtime_r(&second, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

std::string format_change(const StartChange& change) {
  if (!change.before.is_set() || !change.after.is_set()) return "-";
  const std::int64_t by = change.after.seconds() - change.before.seconds();  // of the times as they are shown
  return (by < 0 ? "-" : "+") + format_duration(by < 0 ? -by : by);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string as_json(const State& state, const Consequences& found, std::uint64_t version, Time now) {
  const auto moment = [](Time at) { return at.is_set() ? std::to_string(at.seconds()) : "null"; };
  const auto line = [&](const StartChange& each, bool is_new) {
    const Job& job = state.job(each.key);
    return "{\"job\": " + (is_new ? "null" : quote(shown_name(state, job))) + ", \"name\": " + quote(job.spec->name) +
           ", \"before\": " + moment(each.before) + ", \"after\": " + moment(each.after) + "}";
  };
  std::string jobs;
  for (const StartChange& each : found.changed) jobs += (jobs.empty() ? "" : ", ") + line(each, false);
  return "{\"as_of\": " + moment(now) + ", \"event\": " + std::to_string(version) +
         ", \"later\": " + std::to_string(found.later) + ", \"sooner\": " + std::to_string(found.sooner) +
         ", \"same\": " + std::to_string(found.same) + ", \"no_more\": " + std::to_string(found.no_more) +
         ", \"possible_now\": " + std::to_string(found.possible_now) +
         ", \"unknown\": " + std::to_string(found.unknown) +
         ", \"total_change_seconds\": " + std::to_string(found.total_change.value / 1'000'000) +
         ", \"submitted\": " + (found.submitted ? line(*found.submitted, true) : "null") + ", \"jobs\": [" + jobs +
         "]}\n";
}

std::string count_jobs(std::size_t count) { return std::to_string(count) + (count == 1 ? " job" : " jobs"); }

std::string totals(const Consequences& found) {
  std::string out = "later " + count_jobs(found.later) + ", sooner " + count_jobs(found.sooner) + ", as before " +
                    count_jobs(found.same);
  if (found.no_more > 0) out += ", no more in sight " + count_jobs(found.no_more);
  if (found.possible_now > 0) out += ", in sight at last " + count_jobs(found.possible_now);
  if (found.unknown > 0) out += ", without a planned start in both " + count_jobs(found.unknown);
  const std::size_t both = found.later + found.sooner + found.same;
  if (both == 0) return out + '\n';
  const std::int64_t mean = (found.total_change.value / static_cast<std::int64_t>(both) +
                             (found.total_change.value < 0 ? -500'000 : 500'000)) /
                            1'000'000;
  return out + "\nmean change " + (mean < 0 ? "-" : "+") + format_duration(mean < 0 ? -mean : mean) + " over the " +
         count_jobs(both) + " planned in both\n";
}

std::string as_table(const State& state, const Consequences& found, std::uint64_t version, Time now) {
  std::string out = "As of " + format_moment(now) + ", after event " + std::to_string(version) + " of the log\n\n";
  char line[256];
  const auto add = [&](const std::string& job, const std::string& name, const std::string& before,
                       const std::string& after, const std::string& change) {
    std::snprintf(line, sizeof line, "%-12s %-16.16s %-20s %-20s %s\n", job.c_str(), name.c_str(), before.c_str(),
                  after.c_str(), change.c_str());
    out += line;
  };
  if (!found.changed.empty() || found.submitted) add("JOBID", "NAME", "START", "START IF", "CHANGE");
  if (found.submitted)
    add("new", state.job(found.submitted->key).spec->name, "-", format_moment(found.submitted->after), "-");
  for (const StartChange& each : found.changed) {
    const Job& job = state.job(each.key);
    add(shown_name(state, job), job.spec->name, format_moment(each.before), format_moment(each.after),
        format_change(each));
  }
  if (!found.changed.empty() || found.submitted) out += '\n';
  return out + totals(found);
}

Result<std::string> log_of(const Flags& flags) {
  if (flags.has("--log")) return flags.text("--log");
  MR_TRY(const Configuration configuration,
         load_configuration(flags.has("--conf") ? flags.text("--conf") : configuration_path()));
  return configuration.state_dir;
}

Result<int> look(const Flags& flags) {
  if (!flags.rest.empty())
    return fail(Errc::invalid, "'" + std::string{flags.rest[0]} + "' is not a flag; --help lists them");
  MR_TRY(const Supposition what, read_supposition(flags));
  std::uint32_t depth = depth_default;
  if (flags.has("--depth")) {
    MR_TRY(depth, flag_number(flags, "--depth", 1, UINT32_MAX));
  }
  MR_TRY(const std::string directory, log_of(flags));
  MR_TRY(const auto files, find_log(directory));
  MR_TRY(const State state, in_context(read_state(*files), directory));
  const Time now{
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
  MR_TRY(const Supposed supposed, suppose(state, what, now));
  const Consequences found = compare(state, supposed, planner_settings(*state.policy, depth), now);
  std::fputs((flags.has("--json") ? as_json : as_table)(supposed.state, found, state.version, now).c_str(), stdout);
  return 0;
}

}  // namespace

int run_sim_what_if(const Words& words) {
  const auto flags = read_flags(words, rows);
  if (!flags) return say_failure("sim whatif", flags.error().story);
  if (flags->has("--help")) return std::fputs(flag_help(usage, rows).c_str(), stdout) < 0;
  const auto result = look(*flags);
  return result ? *result : say_failure("sim whatif", result.error().story);
}

}  // namespace millrace
