// src/cli/compat/pbs_show.cpp - qstat and pbsnodes: PBS's commands that show something.
#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/compat/compat.h"
#include "cli/compat/pbs_lists.h"
#include "cli/options/option.h"
#include "cli/render/data_text.h"
#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

using Text = std::string_view;
using enum ArgKind;

constexpr ManualHead qstat_head{
    "qstat", "list jobs, as PBS has it",
    "[-f [-1|-F json]] [-a|-r|-i|-n|-s] [-1] [-t] [-x] [-u users] [-q|-Q [-f]|-B [-f]] [job|queue...]",
    "Lists jobs, or with -q and -Q the partitions, which are PBS's queues, or with -B the controller. An array is one "
    "line, 12[], unless -t asks for its tasks."};
constexpr ManualHead pbsnodes_head{
    "pbsnodes", "list nodes, as PBS has it", "[-a|-v] [-l [-n] [all|state]] [-o|-c] [-N note] [node...]",
    "Shows nodes; -l those that are down or offline. -o takes nodes offline (drain), -c takes them back."};

struct StatDraft {
  Asked asked;
  bool full = false, other = false, running = false, idle = false, finished = false, tasks = false, json = false;
  bool queue_limits = false, queues = false, server = false;
  PbsExtras extras;
  std::string users;
};

Result<void> set_stat_form(StatDraft& draft, Text value) {
  if (value != "json")
    return fail(Errc::refused, "-F " + std::string{value} + ": json is what there is besides the plain form");
  draft.json = draft.full = true;
  return {};
}

// clang-format off
constexpr Option<StatDraft> stat_rows[] = {
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](StatDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", '\0', none, "", any_tool, "", "", "show the version", [](StatDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"one-line", '1', none, "", any_tool, "", "", "with -f, -n or -s: a line for each job", [](StatDraft& d, Text) -> Result<void> { d.extras.one_line = true; return {}; }},
    {"all", 'a', none, "", any_tool, "", "", "all jobs, in the other table", [](StatDraft& d, Text) -> Result<void> { d.other = true; return {}; }},
    {"server", 'B', none, "", any_tool, "", "", "the controller", [](StatDraft& d, Text) -> Result<void> { d.server = true; return {}; }},
    {"full", 'f', none, "", any_tool, "", "", "everything about each job, or queue", [](StatDraft& d, Text) -> Result<void> { d.full = true; return {}; }},
    {"form", 'F', required, "<json>", any_tool, "", "", "everything about each job, as JSON", set_stat_form},
    {"idle", 'i', none, "", any_tool, "", "", "jobs that wait", [](StatDraft& d, Text) -> Result<void> { d.other = d.idle = true; return {}; }},
    {"nodes", 'n', none, "", any_tool, "", "", "the nodes of each job below it", [](StatDraft& d, Text) -> Result<void> { d.other = d.extras.nodes = true; return {}; }},
    {"queues", 'q', none, "", any_tool, "", "", "the queues and their limits", [](StatDraft& d, Text) -> Result<void> { d.queue_limits = true; return {}; }},
    {"queue-list", 'Q', none, "", any_tool, "", "", "the queues and their jobs", [](StatDraft& d, Text) -> Result<void> { d.queues = true; return {}; }},
    {"running", 'r', none, "", any_tool, "", "", "jobs that run", [](StatDraft& d, Text) -> Result<void> { d.other = d.running = true; return {}; }},
    {"comments", 's', none, "", any_tool, "", "", "why each job waits, or its comment, below it", [](StatDraft& d, Text) -> Result<void> { d.other = d.extras.comments = true; return {}; }},
    {"tasks", 't', none, "", any_tool, "", "", "tasks of arrays one by one", [](StatDraft& d, Text) -> Result<void> { d.tasks = true; return {}; }},
    {"user", 'u', required, "<users>", any_tool, "", "", "jobs of these users", [](StatDraft& d, Text v) -> Result<void> { d.other = true; d.users = v; return {}; }},
    {"finished", 'x', none, "", any_tool, "", "", "also jobs that have ended", [](StatDraft& d, Text) -> Result<void> { d.finished = true; return {}; }},
    {"wide", 'w', none, "", any_tool, "", "", "wider columns", nullptr, Effect::refused, "-f cuts nothing"},
    {"history", 'H', none, "", any_tool, "", "", "only jobs that have ended", nullptr, Effect::refused, "-x shows them too, sacct all of them"},
    {"gigabytes", 'G', none, "", any_tool, "", "", "sizes in gigabytes", nullptr, Effect::refused, "sizes have the unit that loses nothing"},
    {"megawords", 'M', none, "", any_tool, "", "", "sizes in megawords", nullptr, Effect::refused, "sizes have the unit that loses nothing"},
    {"estimates", 'T', none, "", any_tool, "", "", "when waiting jobs will start", nullptr, Effect::refused, "squeue --start shows it"},
    {"percent", 'p', none, "", any_tool, "", "", "how much of an array is done", nullptr, Effect::refused, "-t shows its tasks"},
};
// clang-format on

struct NodesDraft {
  Asked asked;
  bool all = false, list = false, notes = false, offline = false, clear = false;
  std::string note;
};

// clang-format off
constexpr Option<NodesDraft> nodes_rows[] = {
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](NodesDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", '\0', none, "", any_tool, "", "", "show the version", [](NodesDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"all", 'a', none, "", any_tool, "", "", "all nodes", [](NodesDraft& d, Text) -> Result<void> { d.all = true; return {}; }},
    {"list", 'l', none, "", any_tool, "", "", "those that are down or offline, a line each; or all, or those in the state that follows", [](NodesDraft& d, Text) -> Result<void> { d.list = true; return {}; }},
    {"notes", 'n', none, "", any_tool, "", "", "with -l: and why", [](NodesDraft& d, Text) -> Result<void> { d.notes = d.list = true; return {}; }},
    {"offline", 'o', none, "", any_tool, "", "", "take the nodes offline", [](NodesDraft& d, Text) -> Result<void> { d.offline = true; return {}; }},
    {"clear", 'c', none, "", any_tool, "", "", "take them back", [](NodesDraft& d, Text) -> Result<void> { d.clear = true; return {}; }},
    {"reset", 'r', none, "", any_tool, "", "", "take them back", [](NodesDraft& d, Text) -> Result<void> { d.clear = true; return {}; }},
    {"note", 'N', required, "<note>", any_tool, "", "", "why they are taken offline", [](NodesDraft& d, Text v) -> Result<void> { d.note = v; return {}; }},
    {"vnodes", 'v', none, "", any_tool, "", "", "parts of nodes, of which each node has one", [](NodesDraft&, Text) -> Result<void> { return {}; }},
    {"summary", 'S', none, "", any_tool, "", "", "a line for each node", nullptr, Effect::refused, "-l all, and sinfo -N -l, show a line for each"},
    {"jobs", 'j', none, "", any_tool, "", "", "jobs of each node", nullptr, Effect::refused, "squeue -w NODE shows them"},
    {"long", 'L', none, "", any_tool, "", "", "a longer line for each node", nullptr, Effect::refused, "sinfo -N -l shows it"},
    {"form", 'F', required, "<form>", any_tool, "", "", "another form", nullptr, Effect::refused, "sinfo --json shows nodes as JSON"},
    {"quiet", 'q', none, "", any_tool, "", "", "no messages", nullptr, Effect::refused, "2>/dev/null does it"},
    {"server", 's', required, "<server>", any_tool, "", "", "another server", nullptr, Effect::refused, "SLURM_CONF names the cluster"},
};
// clang-format on

constexpr Text node_state_words[] = {"all", "free", "offline", "down", "job-exclusive", "busy", "up", "active"};

bool is_in_state(const wire::NodeView& node, Text word) {
  const std::string state = pbs_node_state(node);
  const bool away = state.find("down") != std::string::npos || state.find("offline") != std::string::npos;
  if (word.empty()) return away;
  if (word == "all") return true;
  if (word == "up") return !away;
  if (word == "active") return node.allocated_cpus() > 0;
  if (word == "busy") word = "job-exclusive";
  return state.find(word) != std::string::npos;
}

bool is_number(Text text) { return !text.empty() && text.find_first_not_of("0123456789_[]-+,") == Text::npos; }

std::set<std::string, std::less<>> set_of(Text list) {
  std::set<std::string, std::less<>> out;
  for (const Text word : split(list, ','))
    if (!trim(word).empty()) out.emplace(trim(word));
  return out;
}

std::string rendered(const StatDraft& draft, const std::vector<PbsRow>& rows, const std::string& server,
                     std::int64_t now_us) {
  if (draft.json) {
    DataMap jobs;
    for (const PbsRow& row : rows) jobs.emplace_back(pbs_number(row), qstat_data(row));
    return to_json(DataMap{{"timestamp", now_us / 1'000'000}, {"pbs_server", server}, {"Jobs", std::move(jobs)}});
  }
  std::string out = draft.full ? "" : draft.other ? qstat_other_header(server) : qstat_header();
  for (const PbsRow& row : rows)
    out += draft.full    ? qstat_full(row, draft.extras.one_line)
           : draft.other ? qstat_other_row(row, draft.extras)
                         : qstat_row(row);
  return out;
}

// Operands are jobs or queues; a job that is not there is an error of its own.
int list_jobs(const Command& command, const StatDraft& draft, const std::vector<std::string>& operands) {
  wire::Request request;
  request.mutable_query_jobs()->set_finished_too(true);
  request.mutable_query_jobs()->set_without_hidden(operands.empty());
  std::set<std::string, std::less<>> queues;
  std::vector<ParsedJobName> wanted;
  for (const std::string& word : operands) {
    const std::string number = job_number(word);
    if (const auto job = is_number(number) ? parse_job_name(number) : Result<ParsedJobName>{fail(Errc::invalid, "")})
      wanted.push_back(*job);
    else
      queues.insert(word);
  }
  const auto reply = ask_controller(command, request);
  if (!reply) return 1;
  const auto users = set_of(draft.users);
  const auto settings = read_client_settings();
  const std::string server = settings ? settings->controller_host : "";
  Names names;
  std::vector<PbsRow> rows;
  const std::int64_t now = reply->jobs().now_us();
  const bool names_task = std::ranges::any_of(wanted, [](const ParsedJobName& each) { return !each.tasks.empty(); });
  std::set<std::uint32_t> found;
  for (const wire::JobView& job : reply->jobs().jobs()) {
    const std::uint32_t array = job.array_job_id();
    const auto is_wanted = [&](const ParsedJobName& each) {
      return each.id == job.job_id() ||
             (array != 0 && each.id == array &&
              (each.tasks.empty() || (job.has_array_task() && each.tasks == std::to_string(job.array_task()))));
    };
    const bool named = std::ranges::any_of(wanted, is_wanted);
    if (!wanted.empty() && !named) continue;
    for (const ParsedJobName& each : wanted)
      if (is_wanted(each)) found.insert(each.id);
    if (is_ended(job) && !draft.finished && !named) continue;
    if (draft.running && (is_pending(job) || is_ended(job))) continue;
    if (draft.idle && !is_pending(job)) continue;
    if (!queues.empty() && !queues.contains(job.partition())) continue;
    const std::string& user = names.user(job.uid());
    if (!users.empty() && !users.contains(user)) continue;
    rows.push_back({.job = &job, .user = user, .now_us = now});
  }
  rows = pbs_rows(rows, draft.tasks || names_task);
  if (names_task)
    std::erase_if(rows, [&](const PbsRow& row) {
      return std::ranges::none_of(wanted, [&](const ParsedJobName& each) {
        return (each.id == row.job->job_id() || each.id == row.job->array_job_id()) &&
               (each.tasks.empty() || (row.task && each.tasks == std::to_string(*row.task)));
      });
    });
  int code = 0;
  for (const ParsedJobName& each : wanted)
    if (!found.contains(each.id)) {
      say_plain("qstat: Unknown Job Id " + std::to_string(each.id));
      code = 153;
    }
  if (!rows.empty() || draft.json) print(rendered(draft, rows, server, now));
  return code;
}

// Queues, or the server, which is all of them.
int list_queues(const Command& command, const StatDraft& draft, const std::vector<std::string>& operands) {
  wire::Request jobs, partitions;
  jobs.mutable_query_jobs()->set_brief(true);
  partitions.mutable_query_partitions()->set_without_hidden(operands.empty());
  auto first = ask_controller(command, partitions);
  const auto second = first ? ask_controller(command, jobs) : first;
  const auto settings = read_client_settings();
  if (!second || !settings) return 1;
  const std::string& server = settings->controller_host;
  if (draft.server) return print(qstat_server(server, second->jobs(), draft.full));
  wire::Partitions shown;
  std::set<std::string, std::less<>> missing(operands.begin(), operands.end());
  for (const wire::PartitionView& each : first->partitions().partitions())
    if (operands.empty() || missing.erase(each.name()) > 0) *shown.add_partitions() = each;
  for (const std::string& name : missing) say_plain("qstat: Unknown queue " + name);
  if (operands.empty() || shown.partitions_size() > 0)
    print(draft.queue_limits ? qstat_limits(server, shown, second->jobs())
          : draft.full       ? qstat_queues_full(shown, second->jobs())
                             : qstat_queues(shown, second->jobs()));
  return missing.empty() ? 0 : 170;
}

}  // namespace

std::string qstat_words() {
  return offered_words(option_texts(std::span<const Option<StatDraft>>{stat_rows}, any_tool));
}
std::string qstat_manual() {
  return man_page(qstat_head, option_texts(std::span<const Option<StatDraft>>{stat_rows}, any_tool));
}
std::string pbsnodes_words() {
  return offered_words(option_texts(std::span<const Option<NodesDraft>>{nodes_rows}, any_tool));
}
std::string pbsnodes_manual() {
  return man_page(pbsnodes_head, option_texts(std::span<const Option<NodesDraft>>{nodes_rows}, any_tool));
}

int run_qstat(Command& command) {
  StatDraft draft;
  const std::span<const Option<StatDraft>> table{stat_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, qstat_head, option_texts(table, any_tool))) return 0;
  const std::vector<std::string> operands{line->operands.begin(), line->operands.end()};
  return draft.queues || draft.queue_limits || draft.server ? list_queues(command, draft, operands)
                                                            : list_jobs(command, draft, operands);
}

int run_pbsnodes(Command& command) {
  NodesDraft draft;
  const std::span<const Option<NodesDraft>> table{nodes_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, pbsnodes_head, option_texts(table, any_tool))) return 0;
  std::string names, state;
  for (const Text word : line->operands)
    if (draft.list && std::ranges::find(node_state_words, word) != std::end(node_state_words))
      state = word;
    else
      names += (names.empty() ? "" : ",") + std::string{word};
  if (draft.offline || draft.clear) {
    if (names.empty()) return say_usage_error(command, {Errc::refused, "which nodes? Their names would be right"});
    std::vector<std::string> words{"update", "NodeName=" + names, draft.offline ? "State=DRAIN" : "State=RESUME"};
    if (draft.offline) words.push_back("Reason=" + (draft.note.empty() ? "pbsnodes -o" : draft.note));
    return run_as(command, run_scontrol, words);
  }
  wire::Request request;
  request.mutable_query_nodes();
  const auto reply = ask_controller(command, request);
  if (!reply) return 1;
  std::set<std::string, std::less<>> missing;
  if (const auto list = expand_hostlist(names); list && !names.empty()) missing.insert(list->begin(), list->end());
  std::string out;
  for (const wire::NodeView& node : reply->nodes().nodes()) {
    if (!names.empty() && missing.erase(node.name()) == 0) continue;
    if (!draft.list)
      out += pbsnodes_record(node);
    else if (is_in_state(node, state))
      out += pbsnodes_line(node, draft.notes);
  }
  for (const std::string& name : missing) say_error(command, "Unknown node " + name);
  print(out);
  return missing.empty() ? 0 : 1;
}

}  // namespace millrace
