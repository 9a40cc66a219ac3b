// src/cli/squeue.cpp - lists jobs: what to ask the controller, what to show, in which order.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <set>

#include "base/index_set.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/options/option.h"
#include "cli/render/columns.h"
#include "cli/render/job_words.h"
#include "cli/render/step_columns.h"
#include "cli/squeue_filter.h"
#include "cli/squeue_steps.h"
#include "client.pb.h"

namespace millrace {
namespace {

constexpr ManualHead squeue_head{
    "squeue", "list jobs", "[options]",
    "Shows the jobs that wait or run, or those the options choose. Ended jobs stay visible with "
    "-t all for MinJobAge seconds."};

struct SqueueDraft {
  Asked asked;
  ListingWish listing;
  JobFilterWords filter;
  std::optional<std::string> format, long_format, sort, jobs, step_ids;
  bool job_flag = false, step_flag = false, all = false, array = false, long_view = false, no_header = false,
       start = false, only_state = false, expand_patterns = false, by_partition = false;
  int verbose = 0;
};

using Text = std::string_view;
using Done = Result<void>;
using enum ArgKind;

template <auto field>
Done keep(SqueueDraft& d, Text v) {
  d.*field = std::string{v};
  return {};
}
template <auto field>
Done choose(SqueueDraft& d, Text v) {
  d.filter.*field = std::string{v};
  return {};
}
template <auto field>
Done on(SqueueDraft& d, Text) {
  d.*field = true;
  return {};
}
template <auto field>
Done run_time(SqueueDraft& d, Text v) {
  const auto duration = parse_duration(v);
  if (!duration || duration->unlimited)
    return fail(Errc::refused, "Invalid time specified: " + std::string{v} + "; it is M, M:S, H:M:S or D-H:M:S");
  d.filter.*field = duration->seconds;
  return {};
}
Done nothing(SqueueDraft&, Text) { return {}; }

constexpr auto without_effect = Effect::no_effect;

// clang-format off
constexpr Option<SqueueDraft> squeue_rows[] = {
    {"account", 'A', required, "<names>", any_tool, "SQUEUE_ACCOUNT", "", "jobs of these accounts", choose<&JobFilterWords::accounts>},
    {"all", 'a', none, "", any_tool, "SQUEUE_ALL", "", "jobs in hidden partitions too", on<&SqueueDraft::all>},
    {"array", 'r', none, "", any_tool, "SQUEUE_ARRAY", "", "one line per task of an array", on<&SqueueDraft::array>},
    {"array-unique", '\0', none, "", any_tool, "SQUEUE_ARRAY_UNIQUE", "", "one line per job, as it is anyway", nothing, without_effect, "records that can be one line are one line"},
    {"clusters", 'M', required, "<names>", any_tool, "SLURM_CLUSTERS", "", "this cluster by its name, or all", [](SqueueDraft& d, Text v) -> Done { d.listing.clusters = std::string{v}; return {}; }},
    {"expand-patterns", '\0', none, "", any_tool, "", "", "file names with their % patterns replaced", on<&SqueueDraft::expand_patterns>},
    {"federation", '\0', none, "", any_tool, "SQUEUE_FEDERATION", "", "jobs of the federation", nothing, without_effect, "there are no federations: one cluster is all"},
    {"format", 'o', required, "<format>", any_tool, "", "", "columns by letter, as in %.18i %.9P %j", keep<&SqueueDraft::format>},
    {"Format", 'O', required, "<format>", any_tool, "", "", "columns by name, as in JobID:10,Name,State", keep<&SqueueDraft::long_format>},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](SqueueDraft& d, Text) -> Done { d.asked.help = true; return {}; }},
    {"helpformat", '\0', none, "", any_tool, "", "", "list the columns of -O", [](SqueueDraft& d, Text) -> Done { d.listing.help_format = true; return {}; }},
    {"helpstate", '\0', none, "", any_tool, "", "", "list the states", [](SqueueDraft& d, Text) -> Done { d.listing.help_states = true; return {}; }},
    {"hide", '\0', none, "", any_tool, "", "", "no jobs in hidden partitions", [](SqueueDraft& d, Text) -> Done { d.all = false; return {}; }},
    {"iterate", 'i', required, "<seconds>", any_tool, "", "", "again every so many seconds", [](SqueueDraft& d, Text v) { return wish_iterate(d.listing, v); }},
    {"jobs", 'j', optional, "<ids>", any_tool, "", "", "these jobs", [](SqueueDraft& d, Text v) -> Done { d.job_flag = true; if (!v.empty()) d.jobs = std::string{v}; return {}; }},
    {"json", '\0', optional, "<parser>", any_tool, "", "", "records as JSON", [](SqueueDraft& d, Text v) { return wish_json(d.listing, v); }},
    {"licenses", 'L', required, "<names>", any_tool, "SQUEUE_LICENSES", "", "jobs with any of these licences", choose<&JobFilterWords::licences>},
    {"local", '\0', none, "", any_tool, "SQUEUE_LOCAL", "", "jobs of this cluster only", nothing, without_effect, "there are no federations: one cluster is all"},
    {"long", 'l', none, "", any_tool, "", "", "the state in full, and the time limit", on<&SqueueDraft::long_view>},
    {"me", '\0', none, "", any_tool, "", "", "one's own jobs", [](SqueueDraft& d, Text) -> Done { d.filter.me = true; return {}; }},
    {"name", 'n', required, "<names>", any_tool, "SQUEUE_NAMES", "", "jobs with these names", choose<&JobFilterWords::names>},
    {"noconvert", '\0', none, "", any_tool, "", "", "sizes in the units they have", nothing, without_effect, "sizes are never rounded here"},
    {"nodelist", 'w', required, "<nodes>", any_tool, "", "", "jobs on any of these nodes", choose<&JobFilterWords::nodes>},
    {"noheader", 'h', none, "", any_tool, "", "", "no header line", on<&SqueueDraft::no_header>},
    {"notme", '\0', none, "", any_tool, "", "", "the jobs of others", [](SqueueDraft& d, Text) -> Done { d.filter.not_me = true; return {}; }},
    {"only-job-state", '\0', none, "", any_tool, "", "", "ids and states only", on<&SqueueDraft::only_state>},
    {"partition", 'p', required, "<names>", any_tool, "SQUEUE_PARTITION", "", "jobs in these partitions", choose<&JobFilterWords::partitions>},
    {"priority", 'P', none, "", any_tool, "SQUEUE_PRIORITY", "", "a line for each partition a job waits in", on<&SqueueDraft::by_partition>},
    {"qos", 'q', required, "<names>", any_tool, "SQUEUE_QOS", "", "jobs of these qualities of service", choose<&JobFilterWords::qos>},
    {"reservation", 'R', required, "<names>", any_tool, "", "", "jobs in these reservations", choose<&JobFilterWords::reservations>},
    {"running-over", '\0', required, "<time>", any_tool, "", "", "jobs that run for longer than this", run_time<&JobFilterWords::running_over_seconds>},
    {"running-under", '\0', required, "<time>", any_tool, "", "", "jobs that run for less than this", run_time<&JobFilterWords::running_under_seconds>},
    {"sibling", '\0', none, "", any_tool, "SQUEUE_SIBLING", "", "jobs of federated clusters", nothing, without_effect, "there are no federations: one cluster is all"},
    {"sort", 'S', required, "<letters>", any_tool, "SQUEUE_SORT", "", "order by these columns; - before one reverses it", keep<&SqueueDraft::sort>},
    {"start", '\0', none, "", any_tool, "", "", "expected start of jobs that wait", on<&SqueueDraft::start>},
    {"states", 't', required, "<states>", any_tool, "SQUEUE_STATES", "", "jobs in these states, or all", choose<&JobFilterWords::states>},
    {"steps", 's', optional, "<ids>", any_tool, "", "", "the steps that run, of these jobs or these steps", [](SqueueDraft& d, Text v) -> Done { d.step_flag = true; if (!v.empty()) d.step_ids = std::string{v}; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SqueueDraft& d, Text) -> Done { d.asked.usage = true; return {}; }},
    {"user", 'u', required, "<names>", any_tool, "SQUEUE_USERS", "", "jobs of these users", choose<&JobFilterWords::users>},
    {"users", '\0', required, "<names>", any_tool, "", "", "the same as --user", choose<&JobFilterWords::users>},
    {"verbose", 'v', none, "", any_tool, "", "", "say more", [](SqueueDraft& d, Text) -> Done { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SqueueDraft& d, Text) -> Done { d.asked.version = true; return {}; }},
    {"yaml", '\0', optional, "<parser>", any_tool, "", "", "records as YAML", [](SqueueDraft& d, Text v) { return wish_yaml(d.listing, v); }},
};
// clang-format on

Result<Format<JobRow>> choose_format(const Command& command, const SqueueDraft& draft) {
  if (draft.format && draft.long_format) return fail(Errc::refused, "-o and -O options are mutually exclusive");
  if (draft.format && draft.long_view) return fail(Errc::refused, "-o and -l options are mutually exclusive");
  const char* environment_short = std::getenv("SQUEUE_FORMAT");
  const char* environment_long = std::getenv("SQUEUE_FORMAT2");
  std::vector<std::string> unknown;
  std::string letters;
  Format<JobRow> out;
  const bool fixed = draft.long_view || draft.start || draft.only_state;
  if (draft.format)
    out = parse_short_format<JobRow>(*draft.format, job_columns(), letters);
  else if (draft.long_format)
    out = parse_long_format<JobRow>(*draft.long_format, job_columns(), unknown);
  else if (draft.long_view)
    out = parse_long_format<JobRow>(squeue_long_format, job_columns(), unknown);
  else if (draft.start)
    out = parse_short_format<JobRow>(squeue_start_format, job_columns(), letters);
  else if (draft.only_state)
    out = parse_short_format<JobRow>(squeue_state_format, job_columns(), letters);
  else if (!fixed && environment_short != nullptr)
    out = parse_short_format<JobRow>(environment_short, job_columns(), letters);
  else if (!fixed && environment_long != nullptr)
    out = parse_long_format<JobRow>(environment_long, job_columns(), unknown);
  else
    out = parse_long_format<JobRow>(squeue_default_format, job_columns(), unknown);
  for (const char letter : letters) say_error(command, std::string{"Invalid job format specification: "} + letter);
  for (const std::string& name : unknown) say_error(command, "Invalid job format specification: " + name);
  return out;
}

struct Answer {
  std::deque<wire::Reply> replies;  // the rows point into them
  std::uint32_t missing = 0;
  std::int64_t now_us = 0, planned_at_us = 0;
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
    if (reply->jobs().planned_at_us() != 0) out.planned_at_us = reply->jobs().planned_at_us();
    const bool more = reply->more();
    out.replies.push_back(std::move(*reply));
    if (!more) return out;
    reply = session.next(seconds(60));
  }
}

Result<wire::QueryJobs> make_query(const SqueueDraft& draft, const JobFilter& filter, bool brief) {
  wire::QueryJobs query;
  if (draft.jobs) {
    for (const std::string_view word : split_outside_brackets(*draft.jobs)) {
      const auto name = parse_job_name(word);
      if (!name) return fail(Errc::refused, told(name.error(), "Invalid job id: " + std::string{word}));
      wire::JobName* job = query.add_jobs();
      job->set_job_id(name->id);
      job->set_tasks(name->tasks);
    }
  }
  // A job asked for by id must be found even when it ended: "unknown" and "ended" are answered differently.
  const bool some_states = !filter.all_states && !filter.states.empty();
  query.set_finished_too(draft.jobs.has_value() || filter.all_states ||
                         !std::ranges::all_of(filter.states, is_of_live));
  query.set_placed_only(some_states && std::ranges::all_of(filter.states, is_of_placed));
  query.set_brief(brief && !filter.needs_details());
  query.set_without_hidden(!draft.all && !draft.jobs && filter.partitions.empty());  // who names a partition means it
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

// --priority: a job that waits in several partitions, as if there were one of it in each.
std::vector<const wire::JobView*> in_each_partition(const wire::JobView& job, bool apart,
                                                    std::deque<wire::JobView>& copies) {
  if (!apart || job.state() != wire::PENDING || job.partition().find(',') == std::string::npos) return {&job};
  std::vector<const wire::JobView*> out;
  for (const std::string_view name : split(job.partition(), ',')) {
    copies.push_back(job);
    copies.back().set_partition(std::string{name});
    out.push_back(&copies.back());
  }
  return out;
}

// How the processors of the allocated nodes lie, which only the nodes know; an answer without it is no reason to fail.
wire::Reply nodes_of_jobs(Session& session, const Answer& answer) {
  const bool any = std::ranges::any_of(answer.replies, [](const wire::Reply& reply) {
    return std::ranges::any_of(reply.jobs().jobs(), [](const wire::JobView& job) { return !job.nodes().empty(); });
  });
  wire::Request request;
  request.mutable_query_nodes();
  auto reply = any ? ask_all(session, request) : Result<wire::Reply>{wire::Reply{}};
  return reply ? std::move(*reply) : wire::Reply{};
}

int print_jobs_as_data(const Command& command, const SqueueDraft& draft, const ClientSettings& settings,
                       Session& session, const Answer& answer, const JobFilter& filter) {
  Names names;
  const wire::Reply nodes = nodes_of_jobs(session, answer);
  DataContext context{answer.now_us, settings.cluster_name, &names};
  for (const wire::NodeView& node : nodes.nodes().nodes()) context.nodes[node.name()] = &node;
  std::vector<const wire::JobView*> jobs;
  for (const wire::Reply& reply : answer.replies)
    for (const wire::JobView& job : reply.jobs().jobs())
      if (filter(job, answer.now_us)) jobs.push_back(&job);
  std::size_t at = 0;
  const auto next = [&] { return at == jobs.size() ? Data{} : job_data(*jobs[at++], context); };
  return print_records(command, settings, draft.listing.data->form, "jobs", next,
                       {{"last_backfill", time_of(answer.planned_at_us)}, {"last_update", time_of(answer.now_us)}});
}

// -w: the first that is no node of the cluster, if there is one.
std::optional<std::string> unknown_node(Session& session, const std::string& nodes) {
  wire::Request request;
  request.mutable_query_nodes()->set_nodes(nodes);
  const auto reply = ask_all(session, request);
  if (!reply || reply->nodes().missing().empty()) return std::nullopt;
  return reply->nodes().missing(0);
}

// What was asked for, as Slurm lists it.
std::string told_wishes(const SqueueDraft& d) {
  const auto text = [](const std::optional<std::string>& value) { return value.value_or("(null)"); };
  const auto truth = [](bool value) { return std::string{value ? "true" : "false"}; };
  const auto flag = [](bool value) { return std::string{value ? "1" : "0"}; };
  const JobFilterWords& f = d.filter;
  const std::pair<Text, std::string> lines[] = {
      {"all", truth(d.all)},
      {"array", truth(d.array)},
      {"federation", "false"},
      {"format", text(d.format ? d.format : d.long_format)},
      {"iterate", std::to_string(d.listing.every_seconds)},
      {"job_flag", flag(d.job_flag)},
      {"jobs", text(d.jobs)},
      {"licenses", text(f.licences)},
      {"local", "false"},
      {"names", text(f.names)},
      {"nodes", f.nodes.value_or("")},
      {"partitions", text(f.partitions)},
      {"reservation", text(f.reservations)},
      {"sibling", "false"},
      {"sort", text(d.sort)},
      {"start_flag", flag(d.start)},
      {"states", text(f.states)},
      {"step_flag", flag(d.step_flag)},
      {"steps", text(d.step_ids)},
      {"users", text(f.users)},
      {"verbose", std::to_string(d.verbose)},
  };
  std::string out = "-----------------------------\n";
  for (const auto& [name, value] : lines)
    out += std::string{name} + std::string(12 - name.size(), ' ') + "= " + value + '\n';
  return out + "-----------------------------\n\n\n";
}

int show(const Command& command, const SqueueDraft& draft, const ClientSettings& settings) {
  const auto format = choose_format(command, draft);
  if (!format) return say_usage_error(command, format.error());
  const auto filter = make_job_filter(draft.filter);
  if (!filter) return say_usage_error(command, filter.error());
  for (const std::string& name : filter->unknown_users) say_error(command, "Invalid user: " + name);
  const std::string order = draft.sort ? *draft.sort : draft.start ? "S" : "P,t,-p";
  auto query =
      make_query(draft, *filter, !draft.listing.data && needs_only_brief(*format) && sort_needs_only_brief(order));
  if (!query) return say_usage_error(command, query.error());
  const bool single = query->jobs_size() == 1;
  Session session(*session_options(settings, command));
  if (draft.filter.nodes)
    if (const auto unknown = unknown_node(session, *draft.filter.nodes))
      return say_error(command, "Invalid node name " + *unknown), 1;
  const auto answer = ask(session, std::move(*query));
  if (!answer || (single && answer->missing > 0)) {
    if (!answer) say_trouble(command, session);
    say_plain("slurm_load_jobs error: " + (answer ? std::string{"Invalid job id specified"} : answer.error().story));
    return 1;
  }
  if (draft.listing.data) return print_jobs_as_data(command, draft, settings, session, *answer, *filter);
  Names names;
  const JobContext context{answer->now_us, settings.cluster_name, &names, draft.expand_patterns};
  std::vector<JobRow> list;
  std::size_t records = 0;
  std::deque<wire::JobView> copies;
  for (const wire::Reply& reply : answer->replies) {
    records += static_cast<std::size_t>(reply.jobs().jobs_size());
    for (const wire::JobView& job : reply.jobs().jobs())
      for (const wire::JobView* each : in_each_partition(job, draft.by_partition, copies))
        if ((*filter)(*each, answer->now_us)) add_rows(list, *each, draft.array, context);
  }
  std::string unknown;
  sort_jobs(list, order, unknown);
  for (const char letter : unknown) say_error(command, std::string{"Invalid sort specification: "} + letter);
  std::string out;
  if (!draft.no_header && (draft.long_view || draft.verbose > 0 || draft.listing.every_seconds != 0))
    out = format_date_line(answer->now_us) + '\n';
  if (draft.verbose > 0)
    out +=
        "last_update_time=" + std::to_string(answer->now_us / 1'000'000) + " records=" + std::to_string(records) + '\n';
  out += render_jobs(list, *format, !draft.no_header);
  return print(out);
}

int show_steps(const Command& command, const SqueueDraft& draft, const ClientSettings& settings) {
  if (draft.start) return say_usage_error(command, not_built("--start with --steps").error());
  if (draft.format && draft.long_format)
    return say_usage_error(command, {Errc::refused, "-o and -O options are mutually exclusive"});
  const auto filter = make_job_filter(draft.filter);
  if (!filter) return say_usage_error(command, filter.error());
  for (const std::string& name : filter->unknown_users) say_error(command, "Invalid user: " + name);
  const bool dated = draft.long_view || draft.verbose > 0 || draft.listing.every_seconds != 0;
  StepsAsked asked{draft.format,
                   draft.long_format,
                   draft.sort,
                   draft.step_ids,
                   draft.jobs,
                   dated,
                   !draft.no_header,
                   filter->users,
                   filter->not_user,
                   filter->partitions,
                   filter->names,
                   filter->nodes,
                   filter->accounts,
                   filter->qos,
                   {},
                   {},
                   !draft.all && !draft.jobs && !draft.step_ids && filter->partitions.empty()};
  if (draft.listing.data) asked.data = draft.listing.data->form;
  // A step runs, or is suspended with its job.
  if (!filter->all_states && !filter->states.empty()) {
    asked.states.insert("");
    for (const auto& [state, word] : {std::pair{wire::RUNNING, "RUNNING"}, std::pair{wire::SUSPENDED, "SUSPENDED"}}) {
      wire::JobView like;
      like.set_state(state);
      if (std::ranges::any_of(filter->states, [&](StateFilter each) { return matches(each, like); }))
        asked.states.insert(word);
    }
  }
  return show_queue_of_steps(command, asked, settings);
}

std::string column_names(bool steps) {
  std::vector<std::string_view> names;
  if (steps)
    for (const auto& column : step_columns()) names.push_back(column.name);
  else
    for (const auto& column : job_columns()) names.push_back(column.name);
  return name_columns(names);
}

}  // namespace

std::string squeue_manual() {
  return man_page(
      squeue_head, option_texts(std::span<const Option<SqueueDraft>>{squeue_rows}, any_tool),
      manual_columns("COLUMNS OF JOBS", job_columns()) + manual_columns("COLUMNS OF STEPS", step_columns()));
}
std::vector<OptionText> squeue_options() {
  return option_texts(std::span<const Option<SqueueDraft>>{squeue_rows}, any_tool);
}

int run_squeue(Command& command) {
  SqueueDraft draft;
  const std::span<const Option<SqueueDraft>> table{squeue_rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, squeue_head, option_texts(table, any_tool))) return 0;
  if (draft.listing.help_format) return print(column_names(draft.step_flag));
  if (draft.listing.help_states) return print(state_list());
  for (const std::string_view word : line->operands) {
    if (draft.step_flag) {
      draft.step_ids = draft.step_ids ? *draft.step_ids + ',' + std::string{word} : std::string{word};
      continue;
    }
    if (!draft.job_flag) return say_usage_error(command, {Errc::refused, "Unrecognized option: " + std::string{word}});
    draft.jobs = draft.jobs ? *draft.jobs + ',' + std::string{word} : std::string{word};
  }
  draft.filter.waiting_only = draft.start;
  command.verbose = draft.verbose;
  if (draft.verbose > 0 && !draft.listing.data) print(told_wishes(draft));
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return run_listing(command, draft.listing, *settings, [&] {
    return draft.step_flag ? show_steps(command, draft, *settings) : show(command, draft, *settings);
  });
}

}  // namespace millrace
