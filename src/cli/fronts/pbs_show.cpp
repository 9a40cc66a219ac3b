// src/cli/fronts/pbs_show.cpp - qstat and pbsnodes: PBS's commands that show something.
#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fronts/fronts.h"
#include "cli/fronts/pbs_lists.h"
#include "cli/options/option.h"
#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

using Text = std::string_view;
using enum ArgKind;

constexpr ManualHead qstat_head{"qstat", "list jobs, as PBS has it", "[-f] [-r|-i] [-u users] [-q|-Q] [job|queue...]", "Lists jobs, or with -q and -Q the partitions, which are PBS's queues."};
constexpr ManualHead pbsnodes_head{"pbsnodes", "list nodes, as PBS has it", "[-a] [-l] [-o|-c] [-N note] [node...]", "Shows nodes; -l those that are down or offline. -o takes nodes offline (drain), -c takes them back."};

struct StatDraft {
  Asked asked;
  bool full = false, nodes = false, running = false, idle = false, queues = false, finished = false;
  std::string users;
};

// clang-format off
constexpr Option<StatDraft> stat_rows[] = {
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](StatDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", '\0', none, "", any_tool, "", "", "show the version", [](StatDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"all", 'a', none, "", any_tool, "", "", "all jobs, which is what is shown anyway", [](StatDraft&, Text) -> Result<void> { return {}; }},
    {"full", 'f', none, "", any_tool, "", "", "everything about each job", [](StatDraft& d, Text) -> Result<void> { d.full = true; return {}; }},
    {"idle", 'i', none, "", any_tool, "", "", "jobs that wait", [](StatDraft& d, Text) -> Result<void> { d.idle = true; return {}; }},
    {"nodes", 'n', none, "", any_tool, "", "", "the nodes of each job below it", [](StatDraft& d, Text) -> Result<void> { d.nodes = true; return {}; }},
    {"queues", 'q', none, "", any_tool, "", "", "the queues", [](StatDraft& d, Text) -> Result<void> { d.queues = true; return {}; }},
    {"queue-list", 'Q', none, "", any_tool, "", "", "the queues", [](StatDraft& d, Text) -> Result<void> { d.queues = true; return {}; }},
    {"running", 'r', none, "", any_tool, "", "", "jobs that run", [](StatDraft& d, Text) -> Result<void> { d.running = true; return {}; }},
    {"user", 'u', required, "<users>", any_tool, "", "", "jobs of these users", [](StatDraft& d, Text v) -> Result<void> { d.users = v; return {}; }},
    {"finished", 'x', none, "", any_tool, "", "", "also jobs that have ended", [](StatDraft& d, Text) -> Result<void> { d.finished = true; return {}; }},
};
// clang-format on

struct NodesDraft {
  Asked asked;
  bool all = false, list = false, offline = false, clear = false;
  std::string note;
};

// clang-format off
constexpr Option<NodesDraft> nodes_rows[] = {
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](NodesDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", '\0', none, "", any_tool, "", "", "show the version", [](NodesDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"all", 'a', none, "", any_tool, "", "", "all nodes", [](NodesDraft& d, Text) -> Result<void> { d.all = true; return {}; }},
    {"list", 'l', none, "", any_tool, "", "", "those that are down or offline, a line each", [](NodesDraft& d, Text) -> Result<void> { d.list = true; return {}; }},
    {"offline", 'o', none, "", any_tool, "", "", "take the nodes offline", [](NodesDraft& d, Text) -> Result<void> { d.offline = true; return {}; }},
    {"clear", 'c', none, "", any_tool, "", "", "take them back", [](NodesDraft& d, Text) -> Result<void> { d.clear = true; return {}; }},
    {"reset", 'r', none, "", any_tool, "", "", "take them back", [](NodesDraft& d, Text) -> Result<void> { d.clear = true; return {}; }},
    {"note", 'N', required, "<note>", any_tool, "", "", "why they are taken offline", [](NodesDraft& d, Text v) -> Result<void> { d.note = v; return {}; }},
};
// clang-format on

bool is_number(Text text) { return !text.empty() && text.find_first_not_of("0123456789_[]-+,") == Text::npos; }

std::set<std::string, std::less<>> set_of(Text list) {
  std::set<std::string, std::less<>> out;
  for (const Text word : split(list, ','))
    if (!trim(word).empty()) out.emplace(trim(word));
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
    if (const auto job = is_number(number) ? parse_job_name(number) : std::nullopt) wanted.push_back(*job);
    else queues.insert(word);
  }
  const auto reply = ask_controller(command, request);
  if (!reply) return 1;
  const auto users = set_of(draft.users);
  Names names;
  std::string out;
  int code = 0;
  const std::int64_t now = reply->jobs().now_us();
  std::set<std::uint32_t> found;
  for (const wire::JobView& job : reply->jobs().jobs()) {
    const std::uint32_t array = job.array_job_id();
    const auto is_wanted = [&](const ParsedJobName& each) { return each.id == job.job_id() || (array != 0 && each.id == array && (each.tasks.empty() || (job.has_array_task() && each.tasks == std::to_string(job.array_task())))); };
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
    out += draft.full ? qstat_full(job, now, user) : qstat_row(job, now, user);
    if (draft.nodes && !draft.full) out += "    " + (job.nodes().empty() ? "--" : job.nodes()) + '\n';
  }
  for (const ParsedJobName& each : wanted)
    if (!found.contains(each.id)) {
      say_plain("qstat: Unknown Job Id " + std::to_string(each.id));
      code = 153;
    }
  if (!out.empty()) print(draft.full ? out : qstat_header() + out);
  return code;
}

int list_queues(const Command& command) {
  wire::Request jobs, partitions;
  jobs.mutable_query_jobs()->set_brief(true);
  partitions.mutable_query_partitions()->set_without_hidden(true);
  const auto first = ask_controller(command, partitions);
  const auto second = first ? ask_controller(command, jobs) : first;
  return second ? print(qstat_queues(first->partitions(), second->jobs())) : 1;
}

}  // namespace

std::string qstat_manual() { return man_page(qstat_head, option_texts(std::span<const Option<StatDraft>>{stat_rows}, any_tool)); }
std::string pbsnodes_manual() { return man_page(pbsnodes_head, option_texts(std::span<const Option<NodesDraft>>{nodes_rows}, any_tool)); }

int run_qstat(Command& command) {
  StatDraft draft;
  const std::span<const Option<StatDraft>> table{stat_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, qstat_head, option_texts(table, any_tool))) return 0;
  if (draft.queues) return list_queues(command);
  return list_jobs(command, draft, {line->operands.begin(), line->operands.end()});
}

int run_pbsnodes(Command& command) {
  NodesDraft draft;
  const std::span<const Option<NodesDraft>> table{nodes_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, pbsnodes_head, option_texts(table, any_tool))) return 0;
  std::string names;
  for (const Text word : line->operands) names += (names.empty() ? "" : ",") + std::string{word};
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
    const std::string state = pbs_node_state(node);
    if (!draft.list) out += pbsnodes_record(node);
    else if (state.find("down") != std::string::npos || state.find("offline") != std::string::npos) out += node.name() + std::string(node.name().size() < 20 ? 20 - node.name().size() : 1, ' ') + ' ' + state + '\n';
  }
  for (const std::string& name : missing) say_error(command, "Unknown node " + name);
  print(out);
  return missing.empty() ? 0 : 1;
}

}  // namespace millrace
