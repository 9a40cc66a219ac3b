// src/cli/sacct.cpp - jobs and steps, running and ended, as long as the controller knows of them.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/options/job_values.h"
#include "cli/options/option.h"
#include "cli/render/acct_fields.h"
#include "cli/render/job_words.h"
#include "cli/step_names.h"

namespace millrace {
namespace {

constexpr ManualHead head{"sacct", "show jobs and steps that run or have ended", "[options]",
                          "Shows the jobs of today and their steps with states, exit codes and what they used; ended ones for as long as the controller keeps them. Without "
                          "options one's own jobs since midnight are shown, to root those of all users."};

using Words = std::set<std::string, std::less<>>;

struct Draft {
  Asked asked;
  std::string jobs, users, accounts, partitions, names, states, nodes, qos, groups, clusters, constraints, reasons, associations;
  std::optional<std::string> format, start, end, limit_least, limit_most, node_range, cpu_range;
  std::string delimiter = "|";
  bool all_users = false, only_jobs = false, brief = false, long_form = false, help_format = false, help_state = false, help_reason = false, truncate = false, exact = false;
  char unit = 0;
  TableStyle style;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> add(Draft& d, Text v) {  // given twice, both count
  d.*field += (((d.*field).empty()) ? "" : ",") + std::string{v};
  return {};
}
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
Result<void> accept(Draft&, Text) { return {}; }

Result<void> set_unit(Draft& d, Text v) {
  const std::string word = upper_case(v);
  if (word.size() != 1 || std::string_view{"KMGTP"}.find(word[0]) == std::string_view::npos) return fail(Errc::invalid, "Invalid --units value: " + std::string{v} + "; K, M, G, T or P would be right");
  d.unit = word[0];
  return {};
}

// clang-format off
constexpr Option<Draft> rows[] = {
    {"accounts", 'A', required, "<names>", any_tool, "", "", "jobs of these accounts", add<&Draft::accounts>},
    {"allocations", 'X', none, "", any_tool, "", "", "jobs only, no steps", on<&Draft::only_jobs>},
    {"allusers", 'a', none, "", any_tool, "", "", "jobs of all users", on<&Draft::all_users>},
    {"allclusters", 'L', none, "", any_tool, "", "", "accepted: there is one cluster", accept},
    {"array", '\0', none, "", any_tool, "", "", "accepted: tasks of arrays have rows of their own", accept},
    {"associations", 'x', required, "<ids>", any_tool, "", "", "jobs of these associations", nullptr},
    {"batch-script", 'B', none, "", any_tool, "", "", "print the script of a job", nullptr},
    {"brief", 'b', none, "", any_tool, "", "", "id, state and exit code", on<&Draft::brief>},
    {"cluster", '\0', required, "<names>", any_tool, "", "", "the same as --clusters", add<&Draft::clusters>},
    {"clusters", 'M', required, "<names>", any_tool, "", "", "jobs of these clusters; all, or this one", add<&Draft::clusters>},
    {"completion", 'c', none, "", any_tool, "", "", "from the file of completed jobs", nullptr},
    {"constraints", 'C', required, "<list>", any_tool, "", "", "jobs that asked for these features", add<&Draft::constraints>},
    {"delimiter", '\0', required, "<text>", any_tool, "", "", "between fields with -p or -P", keep<&Draft::delimiter>},
    {"duplicates", 'D', none, "", any_tool, "", "", "accepted: every job is shown once", accept},
    {"endtime", 'E', required, "<time>", any_tool, "", "", "jobs that existed before this", keep<&Draft::end>},
    {"env-vars", '\0', none, "", any_tool, "", "", "print the environment of a job", nullptr},
    {"federation", '\0', none, "", any_tool, "SACCT_FEDERATION", "", "accepted: there is one cluster", accept},
    {"file", 'f', required, "<file>", any_tool, "", "", "file of completed jobs", nullptr},
    {"flags", 'F', required, "<list>", any_tool, "", "", "jobs scheduled in these ways", nullptr},
    {"format", 'o', required, "<fields>", any_tool, "SACCT_FORMAT", "", "these fields, as in JobID,State%20", keep<&Draft::format>},
    {"gid", 'g', required, "<groups>", any_tool, "", "", "jobs of these groups", add<&Draft::groups>},
    {"group", '\0', required, "<groups>", any_tool, "", "", "the same as --gid", add<&Draft::groups>},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](Draft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"helpformat", 'e', none, "", any_tool, "", "", "list the fields", on<&Draft::help_format>},
    {"helpreason", '\0', none, "", any_tool, "", "", "list the reasons", nullptr},
    {"helpstate", '\0', none, "", any_tool, "", "", "list the states", on<&Draft::help_state>},
    {"jobs", 'j', required, "<ids>", any_tool, "", "", "these jobs or steps: 12, 12.0, 12_3, 12+1", add<&Draft::jobs>},
    {"json", '\0', optional, "version", any_tool, "", "", "as JSON", nullptr},
    {"local", '\0', none, "", any_tool, "SACCT_LOCAL", "", "accepted: there is one cluster", accept},
    {"long", 'l', none, "", any_tool, "", "", "many fields", on<&Draft::long_form>},
    {"name", '\0', required, "<names>", any_tool, "", "", "jobs with these names", add<&Draft::names>},
    {"ncpus", 'I', required, "<n[-m]>", any_tool, "", "", "jobs with so many CPUs", keep<&Draft::cpu_range>},
    {"nnodes", 'i', required, "<n[-m]>", any_tool, "", "", "jobs with so many nodes", keep<&Draft::node_range>},
    {"nodelist", 'N', required, "<nodes>", any_tool, "", "", "jobs that were on any of these nodes", add<&Draft::nodes>},
    {"noconvert", '\0', none, "", any_tool, "", "", "sizes in bytes", on<&Draft::exact>},
    {"noheader", 'n', none, "", any_tool, "", "", "no header", [](Draft& d, Text) -> Result<void> { d.style.header = false; return {}; }},
    {"parsable", 'p', none, "", any_tool, "", "", "fields end with |", [](Draft& d, Text) -> Result<void> { d.style.parsable = Parsable::with_end; return {}; }},
    {"parsable2", 'P', none, "", any_tool, "", "", "| between fields", [](Draft& d, Text) -> Result<void> { d.style.parsable = Parsable::without_end; return {}; }},
    {"partition", 'r', required, "<names>", any_tool, "", "", "jobs in these partitions", add<&Draft::partitions>},
    {"qos", 'q', required, "<names>", any_tool, "", "", "jobs with these QOS", add<&Draft::qos>},
    {"reason", 'R', required, "<reasons>", any_tool, "", "", "jobs with these reasons", add<&Draft::reasons>},
    {"starttime", 'S', required, "<time>", any_tool, "", "", "jobs that existed after this", keep<&Draft::start>},
    {"state", 's', required, "<states>", any_tool, "", "", "jobs in these states", add<&Draft::states>},
    {"timelimit-max", 'K', required, "<time>", any_tool, "", "", "jobs with at most this time limit", keep<&Draft::limit_most>},
    {"timelimit-min", 'k', required, "<time>", any_tool, "", "", "jobs with this time limit, or from it", keep<&Draft::limit_least>},
    {"truncate", 'T', none, "", any_tool, "", "", "times outside -S and -E are shown as those", on<&Draft::truncate>},
    {"uid", 'u', required, "<users>", any_tool, "", "", "jobs of these users", add<&Draft::users>},
    {"units", '\0', required, "<K|M|G|T|P>", any_tool, "", "", "sizes in this unit", set_unit},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](Draft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"use-local-uid", '\0', none, "", any_tool, "", "", "accepted: names are those of this host where the controller has none", accept},
    {"user", '\0', required, "<users>", any_tool, "", "", "the same as --uid", add<&Draft::users>},
    {"verbose", 'v', none, "", any_tool, "", "", "say more", accept},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](Draft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"wckeys", 'W', required, "<keys>", any_tool, "", "", "jobs with these workload keys", nullptr},
    {"whole-hetjob", '\0', optional, "yes|no", any_tool, "", "", "accepted: a heterogeneous job is shown whole", accept},
    {"yaml", '\0', optional, "version", any_tool, "", "", "as YAML", nullptr},
};
// clang-format on

struct Range {
  std::uint64_t least = 0, most = UINT64_MAX;
  bool holds(std::uint64_t value) const { return value >= least && value <= most; }
};

// Which rows are wanted.
struct Wanted {
  std::int64_t from_us = 0, until_us = INT64_MAX;
  std::set<std::uint32_t> uids;
  Words accounts, partitions, names, qos, groups, features, reasons;
  std::vector<StateFilter> states;
  Words nodes;
  Range node_count, cpu_count, limit;
  std::vector<wire::StepName> steps;  // of -j with a step: these only
};

Words words_of(const std::string& text) {
  Words out;
  for (const Text word : split(text, ','))
    if (!trim(word).empty()) out.emplace(trim(word));
  return out;
}

Result<Range> parse_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto least = parse_integer(text.substr(0, dash)), most = dash == std::string::npos ? least : parse_integer(text.substr(dash + 1));
  if (!least || !most || *least < 0 || *most < *least) return fail(Errc::invalid, "Invalid range: " + text + "; as in 2 or 2-8 would be right");
  return Range{static_cast<std::uint64_t>(*least), static_cast<std::uint64_t>(*most)};
}

Result<std::int64_t> time_of(const std::string& text, std::int64_t now) {
  const auto when = parse_time_of_day(text, now);
  if (!when) return fail(Errc::invalid, "Invalid time specification (pos=0): " + text);
  return *when * 1'000'000;
}

std::int64_t midnight(std::int64_t now) {
  const time_t at = now;
  tm local{};
  localtime_r(&at, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  return static_cast<std::int64_t>(mktime(&local));
}

Result<Wanted> read_wanted(const Draft& draft) {
  Wanted out;
  const std::int64_t now = time(nullptr);
  if (draft.start) { MR_TRY(out.from_us, time_of(*draft.start, now)); }
  else if (draft.jobs.empty()) out.from_us = (draft.states.empty() ? midnight(now) : now) * 1'000'000;
  if (draft.end) { MR_TRY(out.until_us, time_of(*draft.end, now)); }
  if (out.from_us > out.until_us) return fail(Errc::invalid, "Start time (" + format_time(out.from_us, "") + ") requested is after end time (" + format_time(out.until_us, "") + ").");
  for (const std::string& word : words_of(draft.users)) {
    const auto uid = parse_user(word);
    if (!uid) return fail(Errc::refused, "Invalid user id: " + word);
    out.uids.insert(*uid);
  }
  if (draft.users.empty() && !draft.all_users && draft.jobs.empty() && getuid() != 0) out.uids.insert(getuid());
  for (const std::string& word : words_of(draft.states)) {
    const auto state = parse_state(word);
    if (!state) return fail(Errc::refused, "Invalid state: " + word + "; " + known_states() + " are known");
    out.states.push_back(*state);
  }
  out.accounts = words_of(draft.accounts);
  out.partitions = words_of(draft.partitions);
  out.names = words_of(draft.names);
  out.qos = words_of(draft.qos);
  out.groups = words_of(draft.groups);
  out.features = words_of(draft.constraints);
  out.reasons = words_of(draft.reasons);
  if (!draft.nodes.empty()) {
    MR_TRY(const auto names, expand_hostlist(draft.nodes));
    out.nodes.insert(names.begin(), names.end());
  }
  if (draft.node_range) { MR_TRY(out.node_count, parse_range(*draft.node_range)); }
  if (draft.cpu_range) { MR_TRY(out.cpu_count, parse_range(*draft.cpu_range)); }
  for (const bool most : {false, true}) {
    const auto& text = most ? draft.limit_most : draft.limit_least;
    if (!text) continue;
    const auto minutes = parse_limit_minutes(*text);
    if (!minutes) return fail(Errc::invalid, "Invalid time limit: " + *text);
    (most ? out.limit.most : out.limit.least) = *minutes;
  }
  if (draft.limit_least && !draft.limit_most) out.limit.most = out.limit.least;
  return out;
}

bool is_one_of(const Words& words, std::string_view value) { return words.empty() || words.contains(value); }

bool was_on(const Words& nodes, const std::string& allocated) {
  if (nodes.empty()) return true;
  const auto names = expand_hostlist(allocated);
  return names && std::ranges::any_of(*names, [&](const std::string& name) { return nodes.contains(name); });
}

bool is_wanted(const Wanted& wanted, const wire::JobView& job, Names& names) {
  const std::int64_t end = is_ended(job) ? job.end_at_us() : INT64_MAX;
  if (end < wanted.from_us || job.submit_at_us() > wanted.until_us) return false;
  if (!wanted.uids.empty() && !wanted.uids.contains(job.uid())) return false;
  if (!wanted.states.empty() && std::ranges::none_of(wanted.states, [&](StateFilter state) { return matches(state, job); })) return false;
  const std::string group = job.group_name().empty() ? names.group(job.gid()) : job.group_name();
  if (!wanted.groups.empty() && !wanted.groups.contains(group) && !wanted.groups.contains(std::to_string(job.gid()))) return false;
  for (const std::string& feature : wanted.features)
    if (job.resources().features().find(feature) == std::string::npos) return false;
  return is_one_of(wanted.accounts, job.account()) && is_one_of(wanted.partitions, job.partition()) && is_one_of(wanted.names, job.name()) && is_one_of(wanted.qos, job.qos()) &&
         is_one_of(wanted.reasons, job.reason()) && was_on(wanted.nodes, job.nodes()) && wanted.node_count.holds(job.node_count()) && wanted.cpu_count.holds(job.cpus()) &&
         wanted.limit.holds(job.time_limit_minutes());
}

Result<void> ask_for(const Draft& draft, wire::QueryJobs& ask, std::vector<wire::StepName>& steps) {
  ask.set_finished_too(true);
  ask.set_accounting(true);
  for (const Text word : split_outside_brackets(draft.jobs)) {
    const auto name = parse_step_name(trim(word));
    if (!name) return fail(Errc::refused, "Bad job/step specified: " + std::string{word});
    *ask.add_jobs() = name->job();
    steps.push_back(*name);
  }
  return {};
}

bool is_step_wanted(const std::vector<wire::StepName>& names, const wire::JobView& job, const wire::AccountedStep& step) {
  bool named = false;
  for (const wire::StepName& name : names) {
    const std::uint32_t id = name.job().job_id();
    if (id != job.job_id() && id != job.array_job_id() && id != job.het_job_id()) continue;
    if (!name.has_step()) return true;
    named = true;
    if (name.step() == step.step().step()) return true;
  }
  return !named;
}

int list_fields() {
  std::string out;
  int column = 0;
  for (const Field<AcctRow>& field : acct_fields()) {
    std::string word{field.header};
    word.resize(std::max<std::size_t>(word.size(), 19), ' ');
    out += word + (++column % 4 == 0 ? "\n" : " ");
  }
  return print(out + (column % 4 == 0 ? "" : "\n"));
}

int show(const Command& command, const Draft& draft, const ClientSettings& settings) {
  const auto fields = choose_fields(acct_fields(), draft.format ? *draft.format : draft.long_form ? sacct_long_fields : draft.brief ? sacct_brief_fields : sacct_default_fields);
  if (!fields) return say_usage_error(command, {Errc::refused, "Invalid field requested: " + fields.error().story});
  const auto wanted = read_wanted(draft);
  if (!wanted) return say_usage_error(command, {Errc::refused, wanted.error().story});
  wire::Request request;
  std::vector<wire::StepName> steps;
  if (const auto asked = ask_for(draft, *request.mutable_query_jobs(), steps); !asked) return say_usage_error(command, asked.error());
  Session session(*session_options(settings));
  const auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_error(command, reply.error().story);
    return 1;
  }
  Names names;
  AcctContext context{.now_us = reply->jobs().now_us(), .cluster = settings.cluster_name, .names = &names, .exact_numbers = draft.exact, .unit = draft.unit};
  std::vector<const wire::JobView*> jobs;
  for (const wire::JobView& job : reply->jobs().jobs())
    if (is_wanted(*wanted, job, names)) jobs.push_back(&job);
  std::ranges::stable_sort(jobs, {}, [](const wire::JobView* job) { return std::pair{job->submit_at_us(), job->job_id()}; });
  std::vector<AcctRow> table;
  for (const wire::JobView* job : jobs) {
    const bool whole = steps.empty() || std::ranges::any_of(steps, [&](const wire::StepName& name) { return !name.has_step(); });
    if (whole || draft.only_jobs) table.push_back({job, nullptr, &context});
    if (draft.only_jobs) continue;
    for (const wire::AccountedStep& step : job->accounted().steps())
      if (is_step_wanted(steps, *job, step)) table.push_back({job, &step, &context});
  }
  TableStyle style = draft.style;
  style.delimiter = draft.delimiter;
  return print(render_fields(*fields, table, style));
}

}  // namespace

std::string sacct_manual() { return man_page(head, option_texts(std::span<const Option<Draft>>{rows}, any_tool)); }

int run_sacct(Command& command) {
  Draft draft;
  const std::span<const Option<Draft>> table{rows};
  if (const auto taken = apply_environment(table, any_tool, draft); !taken) return say_usage_error(command, taken.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, head, option_texts(table, any_tool))) return 0;
  if (draft.help_format) return list_fields();
  if (draft.help_state) {
    std::string out;
    for (const Text state : split(known_states(), ',')) out += std::string{state} + '\n';
    return print(out);
  }
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  for (const std::string& cluster : words_of(draft.clusters))
    if (cluster != "all" && cluster != settings->cluster_name) {
      say_error(command, "No cluster '" + cluster + "' known by database.");
      return 1;
    }
  return show(command, draft, *settings);
}

}  // namespace millrace
