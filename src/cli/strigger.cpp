// src/cli/strigger.cpp - programs the controller runs when something happens to nodes or jobs: set, listed, taken back.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/options/option.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

constexpr ManualHead strigger_head{
    "strigger", "run programs when something happens to nodes or jobs",
    "--set [--jobid=id | --node[=names]] event --program=path [--offset=seconds] [--flags=perm] | --get | --clear",
    "The program is run once, on the controller's host and as its user, with the names of the nodes or the number of "
    "the job as its argument; with --flags=perm each time. "
    "Only an administrator may set one. It lasts through restarts of the controller."};

// As the log numbers them: core/model/standing.h.
enum Event : std::uint32_t { down, up, drained, draining, resumed, failing, idle, fini, time_limit, reconfig, started };
constexpr std::string_view event_words[] = {"down",
                                            "up",
                                            "drained",
                                            "draining",
                                            "resume",
                                            "fail",
                                            "idle",
                                            "fini",
                                            "time",
                                            "reconfig",
                                            "primary_slurmctld_resumed_operation"};

struct StriggerDraft {
  int verbose = 0;
  Asked asked;
  bool set = false, get = false, clear = false, quiet = false, no_header = false, permanent = false, of_nodes = false;
  std::string nodes, program;
  std::optional<std::string> clusters;
  std::optional<std::uint32_t> job, id, user;
  std::int32_t offset = 0;
  std::vector<std::uint32_t> events;
};

using Text = std::string_view;
using enum ArgKind;

template <Event event>
Result<void> on_event(StriggerDraft& d, Text) {
  d.events.push_back(event);
  return {};
}
template <auto field>
Result<void> on(StriggerDraft& d, Text) {
  d.*field = true;
  return {};
}
template <auto field>
Result<void> keep_number(StriggerDraft& d, Text v) {
  const auto number = parse_integer(v);
  if (!number || *number <= 0 || *number > UINT32_MAX)
    return fail(Errc::invalid, "'" + std::string{v} + "' is no number of a job or trigger");
  d.*field = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> keep_job(StriggerDraft& d, Text v) {
  const auto job = parse_job_name(v);
  const std::string wrong = "'" + std::string{v} + "' is no number of a job or trigger";
  if (!job || !job->tasks.empty()) return fail(Errc::invalid, job ? wrong : told(job.error(), wrong));
  d.job = job->id;
  return {};
}

constexpr Text no_standby = "there is one controller and no standby that would notice";
constexpr Text no_database = "there is no database: records are in the controller's log";

// clang-format off
constexpr Option<StriggerDraft> strigger_rows[] = {
    {"set", '\0', none, "", any_tool, "", "", "set a trigger", on<&StriggerDraft::set>},
    {"get", '\0', none, "", any_tool, "", "", "list triggers", on<&StriggerDraft::get>},
    {"clear", '\0', none, "", any_tool, "", "", "take triggers back: --id, --jobid or --user says which", on<&StriggerDraft::clear>},
    {"down", 'd', none, "", any_tool, "", "", "a node goes down", on_event<down>},
    {"up", 'u', none, "", any_tool, "", "", "a node that was down is back", on_event<up>},
    {"drained", 'D', none, "", any_tool, "", "", "a node is drained and empty", on_event<drained>},
    {"draining", '\0', none, "", any_tool, "", "", "a node with jobs is to be drained", on_event<draining>},
    {"resume", '\0', none, "", any_tool, "", "", "a drained node takes jobs again", on_event<resumed>},
    {"fail", 'F', none, "", any_tool, "", "", "a node is marked as failing", on_event<failing>},
    {"idle", 'I', none, "", any_tool, "", "", "a node has been idle for --offset seconds", on_event<idle>},
    {"fini", 'f', none, "", any_tool, "", "", "the job ends", on_event<fini>},
    {"time", 't', none, "", any_tool, "", "", "the job has --offset seconds left", on_event<time_limit>},
    {"reconfig", 'r', none, "", any_tool, "", "", "the configuration is read again", on_event<reconfig>},
    {"jobid", 'j', required, "<id>", any_tool, "", "", "about this job, or its nodes", keep_job},
    {"id", 'i', required, "<id>", any_tool, "", "", "the trigger with this number", keep_number<&StriggerDraft::id>},
    {"node", 'n', optional, "<names>", any_tool, "", "", "about these nodes, or all", [](StriggerDraft& d, Text v) -> Result<void> { d.of_nodes = true; d.nodes = v; return {}; }},
    {"program", 'p', required, "<path>", any_tool, "", "", "the program, and arguments before the one it is given", [](StriggerDraft& d, Text v) -> Result<void> { d.program = v; return {}; }},
    {"offset", 'o', required, "<seconds>", any_tool, "", "", "so long after it happened; with --time: before the end", [](StriggerDraft& d, Text v) -> Result<void> {
       const auto number = parse_integer(v);
       if (!number || *number < -86400 * 30 || *number > 86400 * 30) return fail(Errc::invalid, "'" + std::string{v} + "' is no number of seconds");
       d.offset = static_cast<std::int32_t>(*number);
       return {};
     }},
    {"flags", '\0', required, "<perm>", any_tool, "", "", "perm: it stays after it was run", [](StriggerDraft& d, Text v) -> Result<void> {
       if (!equals_ignoring_case(v, "perm")) return fail(Errc::invalid, "--flags=" + std::string{v} + " is wrong, --flags=perm would be right");
       d.permanent = true;
       return {};
     }},
    {"user", '\0', required, "<user>", any_tool, "", "", "those of this user", [](StriggerDraft& d, Text v) -> Result<void> {
       d.user = parse_user(v);
       return d.user ? Result<void>{} : Result<void>{fail(Errc::invalid, "Invalid user: " + std::string{v})};
     }},
    {"noheader", 'N', none, "", any_tool, "", "", "no header", on<&StriggerDraft::no_header>},
    {"quiet", 'Q', none, "", any_tool, "", "", "neither a message nor an error code when it cannot be set or cleared", on<&StriggerDraft::quiet>},
    {"clusters", 'M', required, "<names>", any_tool, "SLURM_CLUSTERS", "", "this cluster by its name, or all", [](StriggerDraft& d, Text v) -> Result<void> { d.clusters = std::string{v}; return {}; }},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](StriggerDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](StriggerDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say what is sent", [](StriggerDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](StriggerDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"primary_slurmctld_resumed_operation", 'A', none, "", any_tool, "", "", "the controller has started again", on_event<started>},
    {"primary_slurmctld_failure", 'a', none, "", any_tool, "", "", "the controller fails", nullptr, Effect::refused, no_standby},
    {"primary_slurmctld_resumed_control", 'b', none, "", any_tool, "", "", "the controller leads again", nullptr, Effect::refused, no_standby},
    {"primary_slurmctld_acct_buffer_full", 'e', none, "", any_tool, "", "", "records for the database pile up", nullptr, Effect::refused, no_database},
    {"backup_slurmctld_failure", 'B', none, "", any_tool, "", "", "the standby fails", nullptr, Effect::refused, no_standby},
    {"backup_slurmctld_resumed_operation", 'c', none, "", any_tool, "", "", "the standby is back", nullptr, Effect::refused, no_standby},
    {"backup_slurmctld_assumed_control", 'C', none, "", any_tool, "", "", "the standby leads", nullptr, Effect::refused, no_standby},
    {"primary_slurmdbd_failure", 'g', none, "", any_tool, "", "", "the database daemon fails", nullptr, Effect::refused, no_database},
    {"primary_slurmdbd_resumed_operation", 'G', none, "", any_tool, "", "", "the database daemon is back", nullptr, Effect::refused, no_database},
    {"primary_database_failure", 'h', none, "", any_tool, "", "", "the database fails", nullptr, Effect::refused, no_database},
    {"primary_database_resumed_operation", 'H', none, "", any_tool, "", "", "the database is back", nullptr, Effect::refused, no_database},
    {"front_end", '\0', optional, "<names>", any_tool, "", "", "about front end nodes", nullptr, Effect::refused, "there are no front end nodes"},
    {"burst_buffer", '\0', none, "", any_tool, "", "", "a burst buffer fails", nullptr, Effect::refused, "there are no burst buffers"},
};
// clang-format on

// What a command line asks for must be one thing.
std::optional<std::string> problem_of(const StriggerDraft& d) {
  if (d.set + d.get + d.clear != 1) return "You must use exactly one of the following options: --set, --get or --clear";
  if (d.clear && !d.id && !d.job && !d.user) return "--clear needs --id, --jobid or --user";
  if (!d.set) return std::nullopt;
  if (d.events.size() != 1) return "--set needs one event, such as --down or --fini";
  const std::uint32_t event = d.events.front();
  if ((event == fini || event == time_limit) && !d.job)
    return "--" + std::string{event_words[event]} + " needs --jobid";
  if (d.job && (event == reconfig || event == idle || event == started))
    return "--" + std::string{event_words[event]} + " is not about a job";
  if (d.of_nodes && (d.job || event >= fini)) return "--node goes with events of nodes, and not with --jobid";
  if (d.offset < 0 && event != time_limit) return "--offset is negative; seconds after the event would be right";
  if (d.program.empty() || d.program[0] != '/') return "--program needs an absolute path";
  return std::nullopt;
}

std::string row_of(const wire::Trigger& t, Names& names) {
  const bool of_job = t.job_id() != 0, of_controller = t.event() >= reconfig;
  const std::string what = of_job              ? std::to_string(t.job_id())
                           : of_controller     ? "*"
                           : t.nodes().empty() ? "*"
                                               : t.nodes();
  char text[512];
  std::snprintf(text, sizeof text, "%7u %-9s %7s %-35s %6d %-8s %-5s ", t.id(),
                of_job          ? "job"
                : of_controller ? "slurmctld"
                                : "node",
                what.c_str(),
                t.event() < std::size(event_words) ? std::string{event_words[t.event()]}.c_str() : "unknown",
                t.offset_seconds(), names.user(t.uid()).c_str(), t.permanent() ? "PERM" : "");
  return text + t.program() + '\n';
}

int list(const StriggerDraft& draft, const wire::Triggers& triggers) {
  Names names;
  std::string out =
      draft.no_header ? ""
                      : "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM\n";
  for (const wire::Trigger& t : triggers.triggers()) {
    if (draft.id && t.id() != *draft.id) continue;
    if (draft.job && t.job_id() != *draft.job) continue;
    if (draft.user && t.uid() != *draft.user) continue;
    if (draft.of_nodes && t.job_id() != 0) continue;
    if (!draft.events.empty() && std::ranges::find(draft.events, t.event()) == draft.events.end()) continue;
    out += row_of(t, names);
  }
  return print(out);
}

int act(const Command& command, const StriggerDraft& draft, const ClientSettings& settings) {
  wire::Request request;
  if (draft.set) {
    wire::Trigger& t = *request.mutable_set_trigger()->mutable_trigger();
    t.set_event(draft.events.front());
    t.set_job_id(draft.job.value_or(0));
    t.set_nodes(draft.nodes);
    t.set_offset_seconds(draft.offset);
    t.set_permanent(draft.permanent);
    t.set_program(draft.program);
  } else if (draft.clear) {
    wire::ClearTriggers& ask = *request.mutable_clear_triggers();
    ask.set_id(draft.id.value_or(0));
    ask.set_job_id(draft.job.value_or(0));
    if (draft.user) ask.set_uid(*draft.user);
  } else {
    request.mutable_query_triggers();
  }
  if (draft.set)
    say_more(command, 1,
             "setting " + std::string{event_words[draft.events.front()]} + " for " +
                 (draft.job             ? "job " + std::to_string(*draft.job)
                  : draft.nodes.empty() ? "any node"
                                        : draft.nodes) +
                 ": " + draft.program);
  Session session(*session_options(settings, command, 1));
  std::vector<std::string> notes;
  const auto reply = ask_all(session, request, &notes);
  if (reply) return draft.get ? list(draft, reply->triggers()) : 0;
  if (draft.quiet && !draft.get) return 0;
  say_trouble(command, session);
  for (const std::string& note : notes) say_error(command, note);
  say_error(command, std::string{draft.set     ? "slurm_set_trigger: "
                                 : draft.clear ? "slurm_clear_trigger: "
                                               : "slurm_get_triggers: "} +
                         reply.error().story);
  return 1;
}

}  // namespace

std::vector<OptionText> strigger_options() {
  return option_texts(std::span<const Option<StriggerDraft>>{strigger_rows}, any_tool);
}
std::string strigger_manual() { return man_page(strigger_head, strigger_options()); }

int run_strigger(Command& command) {
  StriggerDraft draft;
  const std::span<const Option<StriggerDraft>> table{strigger_rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, strigger_head, option_texts(table, any_tool))) return 0;
  command.verbose = draft.verbose;
  if (!line->operands.empty())
    return say_usage_error(command, {Errc::refused, "'" + std::string{line->operands[0]} + "' belongs to no option"});
  if (const auto problem = problem_of(draft)) return say_usage_error(command, {Errc::refused, *problem});
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto known = check_clusters(draft.clusters, *settings); !known)
    return say_usage_error(command, known.error());
  return act(command, draft, *settings);
}

}  // namespace millrace
