// src/cli/squeue.cpp - lists jobs: what to ask the controller, what to show, in which order.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <set>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "cli/render/columns.h"
#include "cli/render/job_words.h"
#include "cli/squeue_steps.h"
#include "millrace.pb.h"

namespace millrace {
namespace {

constexpr ManualHead head{"squeue", "list jobs", "[options]",
                          "Shows the jobs that wait or run, or those the options choose. Ended jobs stay visible with -t all for MinJobAge seconds."};

struct Draft {
  Asked asked;
  std::optional<std::string> format, long_format, sort, jobs, step_ids, users, states, partitions, names, nodes, accounts, qos;
  bool job_flag = false, step_flag = false, all = false, array = false, long_view = false, no_header = false, start = false, only_state = false, me = false, not_me = false;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> keep(Draft& d, Text v) {
  d.*field = std::string{v};
  return {};
}
template <auto field>
Result<void> on(Draft& d, Text) {
  d.*field = true;
  return {};
}

// clang-format off
constexpr Option<Draft> rows[] = {
    {"account", 'A', required, "<names>", any_tool, "SQUEUE_ACCOUNT", "", "jobs of these accounts", keep<&Draft::accounts>},
    {"all", 'a', none, "", any_tool, "SQUEUE_ALL", "", "jobs in hidden partitions too", on<&Draft::all>},
    {"array", 'r', none, "", any_tool, "SQUEUE_ARRAY", "", "one line per task of an array", on<&Draft::array>},
    {"format", 'o', required, "<format>", any_tool, "", "", "columns by letter, as in %.18i %.9P %j", keep<&Draft::format>},
    {"Format", 'O', required, "<format>", any_tool, "", "", "columns by name, as in JobID:10,Name,State", keep<&Draft::long_format>},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](Draft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"hide", '\0', none, "", any_tool, "", "", "no jobs in hidden partitions", [](Draft& d, Text) -> Result<void> { d.all = false; return {}; }},
    {"jobs", 'j', optional, "<ids>", any_tool, "", "", "these jobs", [](Draft& d, Text v) -> Result<void> { d.job_flag = true; if (!v.empty()) d.jobs = std::string{v}; return {}; }},
    {"long", 'l', none, "", any_tool, "", "", "the state in full, and the time limit", on<&Draft::long_view>},
    {"me", '\0', none, "", any_tool, "", "", "one's own jobs", on<&Draft::me>},
    {"name", 'n', required, "<names>", any_tool, "SQUEUE_NAMES", "", "jobs with these names", keep<&Draft::names>},
    {"noconvert", '\0', none, "", any_tool, "", "", "accepted: sizes are never rounded here", [](Draft&, Text) -> Result<void> { return {}; }},
    {"nodelist", 'w', required, "<nodes>", any_tool, "", "", "jobs on any of these nodes", keep<&Draft::nodes>},
    {"noheader", 'h', none, "", any_tool, "", "", "no header line", on<&Draft::no_header>},
    {"notme", '\0', none, "", any_tool, "", "", "the jobs of others", on<&Draft::not_me>},
    {"only-job-state", '\0', none, "", any_tool, "", "", "ids and states only", on<&Draft::only_state>},
    {"partition", 'p', required, "<names>", any_tool, "SQUEUE_PARTITION", "", "jobs in these partitions", keep<&Draft::partitions>},
    {"priority", 'P', none, "", any_tool, "SQUEUE_PRIORITY", "", "accepted: a job waits in one partition here", [](Draft&, Text) -> Result<void> { return {}; }},
    {"qos", 'q', required, "<names>", any_tool, "SQUEUE_QOS", "", "jobs of these qualities of service", keep<&Draft::qos>},
    {"sort", 'S', required, "<letters>", any_tool, "SQUEUE_SORT", "", "order by these columns; - before one reverses it", keep<&Draft::sort>},
    {"steps", 's', optional, "<ids>", any_tool, "", "", "the steps that run, of these jobs or these steps", [](Draft& d, Text v) -> Result<void> { d.step_flag = true; if (!v.empty()) d.step_ids = std::string{v}; return {}; }},
    {"start", '\0', none, "", any_tool, "", "", "expected start of jobs that wait", on<&Draft::start>},
    {"states", 't', required, "<states>", any_tool, "SQUEUE_STATES", "", "jobs in these states, or all", keep<&Draft::states>},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](Draft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"user", 'u', required, "<names>", any_tool, "SQUEUE_USERS", "", "jobs of these users", keep<&Draft::users>},
    {"users", '\0', required, "<names>", any_tool, "", "", "the same as --user", keep<&Draft::users>},
    {"verbose", 'v', none, "", any_tool, "", "", "say more", [](Draft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](Draft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"clusters", 'M', required, "", any_tool, "SLURM_CLUSTERS", "", "other clusters", nullptr},
    {"expand-patterns", '\0', none, "", any_tool, "", "", "file names expanded", nullptr},
    {"federation", '\0', none, "", any_tool, "SQUEUE_FEDERATION", "", "the federation", nullptr},
    {"helpformat", '\0', none, "", any_tool, "", "", "list the columns", nullptr},
    {"helpstate", '\0', none, "", any_tool, "", "", "list the states", nullptr},
    {"iterate", 'i', required, "", any_tool, "", "", "repeat", nullptr},
    {"json", '\0', optional, "", any_tool, "", "", "JSON", nullptr},
    {"licenses", 'L', required, "", any_tool, "SQUEUE_LICENSES", "", "jobs with licenses", nullptr},
    {"local", '\0', none, "", any_tool, "SQUEUE_LOCAL", "", "this cluster", nullptr},
    {"reservation", 'R', required, "", any_tool, "", "", "jobs in a reservation", nullptr},
    {"running-over", '\0', required, "", any_tool, "", "", "by run time", nullptr},
    {"running-under", '\0', required, "", any_tool, "", "", "by run time", nullptr},
    {"sibling", '\0', none, "", any_tool, "SQUEUE_SIBLING", "", "federated siblings", nullptr},
    {"yaml", '\0', optional, "", any_tool, "", "", "YAML", nullptr},
};
// clang-format on

// What a job must be to be shown.
struct Filter {
  std::vector<StateFilter> states;
  bool all_states = false;
  std::set<std::uint32_t> users;
  std::optional<std::uint32_t> not_user;
  std::set<std::string, std::less<>> partitions, names, nodes, accounts, qos;

  bool state_matches(const wire::JobView& job) const {
    if (all_states) return true;
    if (states.empty()) return !is_ended(job) || job.completing();
    return std::ranges::any_of(states, [&](StateFilter state) { return matches(state, job); });
  }
  bool node_matches(const wire::JobView& job) const {
    if (nodes.empty()) return true;
    const auto allocated = expand_hostlist(job.nodes());
    return allocated && std::ranges::any_of(*allocated, [&](const std::string& name) { return nodes.contains(name); });
  }
  bool operator()(const wire::JobView& job) const {
    const auto in = [](const auto& set, const auto& value) { return set.empty() || set.contains(value); };
    return state_matches(job) && in(users, job.uid()) && job.uid() != not_user && in(partitions, job.partition()) &&
           in(names, job.name()) && in(accounts, job.account()) && in(qos, job.qos()) && node_matches(job);
  }
};

void fill(std::set<std::string, std::less<>>& set, const std::optional<std::string>& list) {
  if (!list) return;
  for (const std::string_view word : split(*list, ','))
    if (!trim(word).empty()) set.emplace(trim(word));
}

Result<Filter> make_filter(const Draft& draft) {
  Filter out;
  if (draft.start) out.states.push_back(*parse_state("PD"));
  if (draft.states) {
    for (const std::string_view word : split(*draft.states, ',')) {
      if (trim(word).empty()) continue;
      if (equals_ignoring_case(trim(word), "all")) out.all_states = true;
      else if (const auto state = parse_state(trim(word))) out.states.push_back(*state);
      else return fail(Errc::refused, "Invalid job state specified: " + std::string{word} + "\nValid job states include: " + known_states());
    }
  }
  if (draft.users) {
    for (const std::string_view word : split(*draft.users, ',')) {
      const auto uid = parse_user(trim(word));
      if (!uid) return fail(Errc::refused, "Invalid user: " + std::string{word});
      out.users.insert(*uid);
    }
  }
  if (draft.me) out.users.insert(getuid());
  if (draft.not_me) out.not_user = getuid();
  if (draft.nodes) {
    auto names = expand_hostlist(*draft.nodes);
    if (!names) return fail(Errc::refused, names.error().story);
    out.nodes.insert(names->begin(), names->end());
  }
  fill(out.partitions, draft.partitions);
  fill(out.names, draft.names);
  fill(out.accounts, draft.accounts);
  fill(out.qos, draft.qos);
  return out;
}

Result<Format<JobRow>> choose_format(const Command& command, const Draft& draft) {
  if (draft.format && draft.long_format) return fail(Errc::refused, "-o and -O options are mutually exclusive");
  if (draft.format && draft.long_view) return fail(Errc::refused, "-o and -l options are mutually exclusive");
  const char* environment_short = std::getenv("SQUEUE_FORMAT");
  const char* environment_long = std::getenv("SQUEUE_FORMAT2");
  std::vector<std::string> unknown;
  std::string letters;
  Format<JobRow> out;
  const bool fixed = draft.long_view || draft.start || draft.only_state;
  if (draft.format) out = parse_short_format<JobRow>(*draft.format, job_columns(), letters);
  else if (draft.long_format) out = parse_long_format<JobRow>(*draft.long_format, job_columns(), unknown);
  else if (draft.long_view) out = parse_long_format<JobRow>(squeue_long_format, job_columns(), unknown);
  else if (draft.start) out = parse_short_format<JobRow>(squeue_start_format, job_columns(), letters);
  else if (draft.only_state) out = parse_short_format<JobRow>(squeue_state_format, job_columns(), letters);
  else if (!fixed && environment_short != nullptr) out = parse_short_format<JobRow>(environment_short, job_columns(), letters);
  else if (!fixed && environment_long != nullptr) out = parse_long_format<JobRow>(environment_long, job_columns(), unknown);
  else out = parse_long_format<JobRow>(squeue_default_format, job_columns(), unknown);
  for (const char letter : letters) say_error(command, std::string{"Invalid job format specification: "} + letter);
  for (const std::string& name : unknown) say_error(command, "Invalid job format specification: " + name);
  return out;
}

struct Answer {
  std::deque<wire::Reply> replies;  // the rows point into them
  std::uint32_t missing = 0;
  std::int64_t now_us = 0;
};

Result<Answer> ask(Session& session, wire::QueryJobs query) {
  wire::Request request;
  *request.mutable_query_jobs() = std::move(query);
  Answer out;
  auto reply = session.call(request);
  for (;;) {
    if (!reply) return std::unexpected(std::move(reply).error());
    if (reply->has_failure()) return fail(Errc::refused, reply->failure().text());
    out.missing += reply->jobs().missing();
    if (reply->jobs().now_us() != 0) out.now_us = reply->jobs().now_us();
    const bool more = reply->more();
    out.replies.push_back(std::move(*reply));
    if (!more) return out;
    reply = session.next(seconds(60));
  }
}

Result<wire::QueryJobs> make_query(const Draft& draft, const Filter& filter, bool brief) {
  wire::QueryJobs query;
  if (draft.jobs) {
    for (const std::string_view word : split_outside_brackets(*draft.jobs)) {
      const auto name = parse_job_name(word);
      if (!name) return fail(Errc::refused, "Invalid job id: " + std::string{word});
      wire::JobName* job = query.add_jobs();
      job->set_job_id(name->id);
      job->set_tasks(name->tasks);
    }
  }
  // A job asked for by id must be found even when it ended: "unknown" and "ended" are answered differently.
  query.set_finished_too(draft.jobs.has_value() || filter.all_states || !filter.states.empty());
  query.set_brief(brief && filter.accounts.empty() && filter.qos.empty());
  if (filter.users.size() == 1) query.set_uid(*filter.users.begin());
  return query;
}

void add_rows(std::vector<JobRow>& out, const wire::JobView& job, bool one_per_task, const JobContext& context) {
  if (one_per_task && job.array_job_id() != 0 && !job.has_array_task()) {
    const std::string_view tasks = std::string_view{job.array_tasks()}.substr(0, job.array_tasks().find('%'));
    if (const auto set = parse_index_set(tasks, UINT32_MAX)) {
      set->for_each([&](std::uint32_t task) { out.push_back({&job, task, &context}); });
      return;
    }
  }
  out.push_back({&job, {}, &context});
}

int show(const Command& command, const Draft& draft, const ClientSettings& settings) {
  const auto format = choose_format(command, draft);
  if (!format) return say_usage_error(command, format.error());
  const auto filter = make_filter(draft);
  if (!filter) return say_usage_error(command, filter.error());
  const std::string order = draft.sort ? *draft.sort : draft.start ? "S" : "P,t,-p";
  auto query = make_query(draft, *filter, needs_only_brief(*format) && sort_needs_only_brief(order));
  if (!query) return say_usage_error(command, query.error());
  const bool single = query->jobs_size() == 1;
  Session session(*session_options(settings));
  const auto answer = ask(session, std::move(*query));
  if (!answer || (single && answer->missing > 0)) {
    if (!answer) say_trouble(command, session);
    say_plain("slurm_load_jobs error: " + (answer ? std::string{"Invalid job id specified"} : answer.error().story));
    return 1;
  }
  Names names;
  const JobContext context{answer->now_us, settings.cluster_name, &names};
  std::vector<JobRow> list;
  for (const wire::Reply& reply : answer->replies)
    for (const wire::JobView& job : reply.jobs().jobs())
      if ((*filter)(job)) add_rows(list, job, draft.array, context);
  std::string unknown;
  sort_jobs(list, order, unknown);
  for (const char letter : unknown) say_error(command, std::string{"Invalid sort specification: "} + letter);
  std::string out;
  if (draft.long_view && !draft.no_header) out = format_date_line(answer->now_us) + '\n';
  out += render_jobs(list, *format, !draft.no_header);
  return print(out);
}

int show_steps(const Command& command, const Draft& draft, const ClientSettings& settings) {
  const auto refused = [&](bool given, const char* option) { return given ? option : nullptr; };
  for (const char* option : {refused(draft.start, "--start")})
    if (option != nullptr) return say_usage_error(command, not_built(std::string{option} + " with --steps").error());
  if (draft.format && draft.long_format) return say_usage_error(command, {Errc::refused, "-o and -O options are mutually exclusive"});
  const auto filter = make_filter(draft);
  if (!filter) return say_usage_error(command, filter.error());
  StepsAsked asked{draft.format, draft.long_format, draft.sort, draft.step_ids, draft.jobs, draft.long_view, !draft.no_header, filter->users, filter->not_user,
                   filter->partitions, filter->names, filter->nodes, filter->accounts, filter->qos, {}};
  // A step runs, or is suspended with its job.
  if (!filter->all_states && !filter->states.empty()) {
    asked.states.insert("");
    for (const auto& [state, word] : {std::pair{wire::RUNNING, "RUNNING"}, std::pair{wire::SUSPENDED, "SUSPENDED"}}) {
      wire::JobView like;
      like.set_state(state);
      if (std::ranges::any_of(filter->states, [&](StateFilter each) { return matches(each, like); })) asked.states.insert(word);
    }
  }
  return show_queue_of_steps(command, asked, settings);
}

}  // namespace

std::string squeue_manual() { return man_page(head, option_texts(std::span<const Option<Draft>>{rows}, any_tool)); }

int run_squeue(Command& command) {
  Draft draft;
  const std::span<const Option<Draft>> table{rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, head, option_texts(table, any_tool))) return 0;
  for (const std::string_view word : line->operands) {
    if (draft.step_flag) {
      draft.step_ids = draft.step_ids ? *draft.step_ids + ',' + std::string{word} : std::string{word};
      continue;
    }
    if (!draft.job_flag) return say_usage_error(command, {Errc::refused, "Unrecognized option: " + std::string{word}});
    draft.jobs = draft.jobs ? *draft.jobs + ',' + std::string{word} : std::string{word};
  }
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return draft.step_flag ? show_steps(command, draft, *settings) : show(command, draft, *settings);
}

}  // namespace millrace
