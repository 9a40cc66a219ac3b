// src/cli/scancel.cpp - cancels jobs, or sends them a signal: named ones, or all that pass the filters.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/shown_text.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/options/job_values.h"
#include "cli/options/option.h"
#include "cli/render/job_words.h"
#include "cli/step_names.h"

namespace millrace {
namespace {

constexpr ManualHead scancel_head{
    "scancel", "cancel or signal jobs", "[options] [job ids]",
    "Ends jobs (TERM, then KILL after KillWait), or sends them the signal named with -s. Jobs are named as 12, 12_3, "
    "12_[1-3] or, of heterogeneous jobs, 12+1, steps as 12.0; without ids, all jobs that pass the filters are meant."};

constexpr std::uint32_t invalid_job_id = 2017, already_done = 2021;  // Slurm's number

struct ScancelDraft {
  Asked asked;
  wire::CancelJobs cancel;
  std::vector<wire::StepName> steps;
  bool filtered = false;
  std::optional<std::string> signal, clusters, wckey, admin_comment;
  bool interactive = false, quiet = false;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> on(ScancelDraft& d, Text) {
  d.*field = true;
  return {};
}

Result<void> set_user(ScancelDraft& d, Text v) {
  const auto uid = parse_user(v);
  if (!uid) return fail(Errc::refused, "Invalid user name: " + std::string{v});
  d.cancel.set_user(std::to_string(*uid));
  d.filtered = true;
  return {};
}

Result<void> set_state(ScancelDraft& d, Text v) {
  const auto state = parse_state(v);
  if (!state || state->code > wire::SUSPENDED)
    return fail(Errc::refused, "Invalid job state specified: " + std::string{v} +
                                   "\nValid job states include: PENDING, RUNNING, SUSPENDED");
  constexpr const char* words[] = {"PENDING", "RUNNING", "SUSPENDED"};
  d.cancel.set_state(words[state->code]);
  d.filtered = true;
  return {};
}

Result<void> nothing(ScancelDraft&, Text) { return {}; }
Result<void> filter_name(ScancelDraft& d, Text v) {
  d.cancel.set_name(std::string{v});
  d.filtered = true;
  return {};
}

// clang-format off
constexpr Option<ScancelDraft> scancel_rows[] = {
    {"account", 'A', required, "<name>", any_tool, "SCANCEL_ACCOUNT", "", "jobs of this account", [](ScancelDraft& d, Text v) -> Result<void> { d.cancel.set_account(std::string{v}); d.filtered = true; return {}; }},
    {"batch", 'b', none, "", any_tool, "SCANCEL_BATCH", "", "signal the batch shell only", [](ScancelDraft& d, Text) -> Result<void> { d.cancel.set_batch_only(true); return {}; }},
    {"full", 'f', none, "", any_tool, "SCANCEL_FULL", "", "signal the batch shell and its children", [](ScancelDraft& d, Text) -> Result<void> { d.cancel.set_full(true); return {}; }},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](ScancelDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"hurry", 'H', none, "", any_tool, "SCANCEL_HURRY", "", "do not wait for burst buffers to be staged out", [](ScancelDraft& d, Text) -> Result<void> { d.cancel.set_hurry(true); return {}; }, Effect::no_effect, "there are no burst buffers"},
    {"interactive", 'i', none, "", any_tool, "SCANCEL_INTERACTIVE", "", "ask before each job", on<&ScancelDraft::interactive>},
    {"me", '\0', none, "", any_tool, "", "", "one's own jobs", [](ScancelDraft& d, Text) -> Result<void> { d.cancel.set_user(std::to_string(getuid())); d.filtered = true; return {}; }},
    {"name", 'n', required, "<name>", any_tool, "SCANCEL_NAME", "", "jobs with this name", filter_name},
    {"jobname", '\0', required, "<name>", any_tool, "", "", "the same as --name", filter_name},
    {"nodelist", 'w', required, "<nodes>", any_tool, "", "", "jobs on any of these nodes", [](ScancelDraft& d, Text v) -> Result<void> { MR_TRY(*d.cancel.mutable_nodes(), node_list(v)); d.filtered = true; return {}; }},
    {"partition", 'p', required, "<name>", any_tool, "SCANCEL_PARTITION", "", "jobs in this partition", [](ScancelDraft& d, Text v) -> Result<void> { d.cancel.set_partition(std::string{v}); d.filtered = true; return {}; }},
    {"qos", 'q', required, "<name>", any_tool, "SCANCEL_QOS", "", "jobs of this quality of service", [](ScancelDraft& d, Text v) -> Result<void> { d.cancel.set_qos(std::string{v}); d.filtered = true; return {}; }},
    {"quiet", 'Q', none, "", any_tool, "", "", "say nothing about jobs that are gone", on<&ScancelDraft::quiet>},
    {"reservation", 'R', required, "<name>", any_tool, "", "", "jobs in this reservation", [](ScancelDraft& d, Text v) -> Result<void> { d.cancel.set_reservation(std::string{v}); d.filtered = true; return {}; }},
    {"signal", 's', required, "<signal>", any_tool, "", "", "send this signal, by name or number", [](ScancelDraft& d, Text v) -> Result<void> { d.signal = std::string{v}; return {}; }},
    {"state", 't', required, "<state>", any_tool, "SCANCEL_STATE", "", "jobs in this state: PENDING, RUNNING, SUSPENDED", set_state},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](ScancelDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"user", 'u', required, "<name>", any_tool, "SCANCEL_USER", "", "jobs of this user", set_user},
    {"verbose", 'v', none, "", any_tool, "SCANCEL_VERBOSE", "", "say what is done", [](ScancelDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](ScancelDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"admin-comment", '\0', required, "<text>", any_tool, "", "", "a comment of the administrator, kept with the jobs", [](ScancelDraft& d, Text v) -> Result<void> { d.admin_comment = std::string{v}; return {}; }},
    {"clusters", 'M', required, "<names>", any_tool, "SLURM_CLUSTERS", "", "this cluster by its name, or all", [](ScancelDraft& d, Text v) -> Result<void> { d.clusters = std::string{v}; return {}; }},
    {"cron", 'c', none, "", any_tool, "SCANCEL_CRON", "", "jobs of scrontab too; their lines are switched off", [](ScancelDraft& d, Text) -> Result<void> { d.cancel.set_cron(true); return {}; }},
    {"ctld", '\0', none, "", any_tool, "SCANCEL_CTLD", "", "let the controller choose the jobs", nothing, Effect::no_effect, "it always does"},
    {"sibling", '\0', required, "<name>", any_tool, "", "", "the sibling job on another cluster of the federation", nullptr, Effect::refused, "there are no federations, so no job has siblings"},
    {"wckey", '\0', required, "<key>", any_tool, "SCANCEL_WCKEY", "", "jobs with this workload key", [](ScancelDraft& d, Text v) -> Result<void> { d.wckey = std::string{v}; d.filtered = true; return {}; }},
};
// clang-format on

Result<void> add_jobs(ScancelDraft& draft, const std::vector<std::string_view>& words) {
  for (const std::string_view word : words) {
    for (const std::string_view text : split_outside_brackets(word)) {
      if (text.find('.') != std::string_view::npos) {
        const auto step = parse_step_name(text);
        if (!step)
          return fail(Errc::refused,
                      told(step.error(), "Invalid job step id " + std::string{text} + "; it is JOB.STEP, as in 12.0"));
        draft.steps.push_back(*step);
        continue;
      }
      const auto name = parse_job_name(text);
      if (!name) return fail(Errc::refused, told(name.error(), "Invalid job id " + std::string{text}));
      wire::JobName* job = draft.cancel.add_jobs();
      job->set_job_id(name->id);
      job->set_tasks(name->tasks);
    }
  }
  return {};
}

std::string job_text(const wire::JobName& job) {
  if (job.tasks().empty() || job.tasks().starts_with('+')) return std::to_string(job.job_id()) + job.tasks();
  const bool several = job.tasks().find_first_of(",-") != std::string::npos;
  return std::to_string(job.job_id()) + '_' + (several ? '[' + job.tasks() + ']' : job.tasks());
}

void say_intent(const Command& command, const ScancelDraft& draft, const std::string& job) {
  if (draft.verbose == 0) return;
  if (!draft.signal)
    say_info(command, "Terminating job " + job);
  else
    say_info(command, "Signal " + std::to_string(draft.cancel.signal()) +
                          (draft.cancel.batch_only() ? " to batch job " : " to job ") + job);
}

// With -i: looks the jobs up and keeps those the user says yes to.
Result<void> choose_interactively(Session& session, ScancelDraft& draft) {
  wire::Request request;
  *request.mutable_query_jobs()->mutable_jobs() = draft.cancel.jobs();
  MR_TRY(const wire::Reply reply, ask_all(session, request));
  wire::CancelJobs chosen = draft.cancel;
  chosen.clear_jobs();
  const wire::CancelJobs& f = draft.cancel;
  for (const wire::JobView& job : reply.jobs().jobs()) {
    const bool passes = (f.user().empty() || f.user() == std::to_string(job.uid())) &&
                        (f.partition().empty() || f.partition() == job.partition()) &&
                        (f.name().empty() || f.name() == job.name()) &&
                        (f.account().empty() || f.account() == job.account()) &&
                        (f.state().empty() || f.state() == state_word(job)) && !is_ended(job);
    if (!passes) continue;
    print("Cancel job_id=" + job_name_text(job, {}) + " name=" + shown_text(job.name()) +
          " partition=" + job.partition() + " [y/n]? ");
    char answer[64] = {};
    if (std::fgets(answer, sizeof answer, stdin) == nullptr || (answer[0] != 'y' && answer[0] != 'Y')) continue;
    wire::JobName* name = chosen.add_jobs();
    name->set_job_id(job.array_job_id() != 0 && !job.has_array_task() ? job.array_job_id() : job.job_id());
  }
  draft.cancel = std::move(chosen);
  return {};
}

std::string filter_words(const wire::CancelJobs& ask) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += (out.empty() ? "" : ", ") + std::string{name} + '=' + value;
  };
  add("account", ask.account());
  add("job_name", ask.name());
  add("nodelist", ask.nodes());
  add("partition", ask.partition());
  add("qos", ask.qos());
  add("reservation", ask.reservation());
  add("state", ask.state());
  add("user_id", ask.user());
  return out;
}

int report(const Command& command, const ScancelDraft& draft, const wire::JobsChanged& changed) {
  int code = 0;
  const bool plain = !draft.filtered && !draft.signal;
  for (const auto& failed : changed.failed()) {
    const bool gone = failed.code() == invalid_job_id || failed.code() == already_done;
    // A job that is gone already is what the user wanted; only the signal that could not be delivered is an error.
    const bool excused = gone && plain;
    if (!draft.quiet && (!excused || draft.verbose > 0))
      say_error(command, "Kill job error on job id " + failed.job() + ": " + failed.text());
    if (!excused) code = 1;
  }
  if (draft.filtered && changed.changed_size() == 0 && changed.failed_size() == 0 && draft.verbose > 0)
    say_error(command, "No active jobs match ALL job filters, including: " + filter_words(draft.cancel));
  return code;
}

// One request each: a step is signalled where it runs, and its step manager answers.
int cancel_step(const Command& command, const ScancelDraft& draft, Session& session, const wire::StepName& step) {
  const std::string shown = step_text(step);
  if (draft.interactive) {
    print("Cancel step_id=" + shown + " [y/n]? ");
    char answer[64] = {};
    if (std::fgets(answer, sizeof answer, stdin) == nullptr || (answer[0] != 'y' && answer[0] != 'Y')) return 0;
  }
  if (draft.verbose > 0)
    say_info(
        command,
        (draft.signal ? "Signal " + std::to_string(draft.cancel.signal()) + " to step " : "Terminating step ") + shown);
  wire::Request request;
  *request.mutable_signal_step()->mutable_step() = step;
  request.mutable_signal_step()->set_signal(draft.cancel.signal());
  const auto reply = session.call(request);
  if (reply && !reply->has_failure()) return 0;
  if (!reply)
    say_trouble(command, session);
  else
    for (const std::string& note : reply->failure().notes()) say_error(command, note);
  const bool gone = reply && (reply->failure().code() == invalid_job_id || reply->failure().code() == already_done);
  const bool excused = gone && !draft.signal;  // as of jobs: it is what the user wanted
  if (!draft.quiet && (!excused || draft.verbose > 0))
    say_error(command, "Kill job error on job step id " + shown + ": " +
                           (reply ? reply->failure().text() : reply.error().story));
  return excused ? 0 : 1;
}

// The controller filters by everything but the workload key: of the jobs that were named, or of all, those that have it
// are named to it.
Result<void> choose_by_wckey(Session& session, ScancelDraft& draft) {
  wire::Request request;
  *request.mutable_query_jobs()->mutable_jobs() = draft.cancel.jobs();
  MR_TRY(const wire::Reply reply, ask_all(session, request));
  draft.cancel.clear_jobs();
  for (const wire::JobView& job : reply.jobs().jobs()) {
    if (job.extras().wckey() != *draft.wckey) continue;
    wire::JobName* name = draft.cancel.add_jobs();
    name->set_job_id(job.array_job_id() != 0 && !job.has_array_task() ? job.array_job_id() : job.job_id());
  }
  return {};
}

// Said of a job before it ends: one that is gone already has no use for it.
void comment_on(const Command& command, Session& session, const wire::JobName& job, const std::string& text) {
  wire::Request request;
  *request.mutable_update_job()->mutable_job() = job;
  request.mutable_update_job()->mutable_extras()->set_admin_comment(text);
  const auto reply = ask_all(session, request);
  const std::string problem = !reply                                    ? reply.error().story
                              : reply->jobs_changed().failed_size() > 0 ? reply->jobs_changed().failed(0).text()
                                                                        : "";
  if (!problem.empty()) say_error(command, "--admin-comment for job " + job_text(job) + ": " + problem);
}

int cancel(Command& command, ScancelDraft& draft, const ClientSettings& settings) {
  Session session(*session_options(settings, command));
  int code = 0;
  if (draft.wckey) {
    const auto chosen = choose_by_wckey(session, draft);
    if (!chosen) {
      say_trouble(command, session);
      say_error(command, "Unable to look for jobs: " + chosen.error().story);
      return 1;
    }
    if (draft.cancel.jobs_size() == 0) {
      if (draft.verbose > 0)
        say_error(command, "No active jobs match ALL job filters, including: wckey=" + *draft.wckey);
      return 0;
    }
  }
  for (const wire::StepName& step : draft.steps) code = std::max(code, cancel_step(command, draft, session, step));
  if (!draft.steps.empty() && draft.cancel.jobs_size() == 0) return code;
  if (draft.interactive) {
    const auto chosen = choose_interactively(session, draft);
    if (chosen && draft.cancel.jobs_size() == 0) return 0;
    if (!chosen) {
      say_trouble(command, session);
      say_error(command, "Unable to look for jobs: " + chosen.error().story);
      return 1;
    }
  }
  if (draft.admin_comment)
    for (const wire::JobName& job : draft.cancel.jobs()) comment_on(command, session, job, *draft.admin_comment);
  for (const wire::JobName& job : draft.cancel.jobs()) say_intent(command, draft, job_text(job));
  wire::Request request;
  *request.mutable_cancel() = draft.cancel;
  const auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    if (draft.cancel.jobs_size() == 0) say_error(command, "Kill job error: " + reply.error().story);
    for (const wire::JobName& job : draft.cancel.jobs())
      say_error(command, "Kill job error on job id " + job_text(job) + ": " + reply.error().story);
    return 1;
  }
  if (draft.cancel.jobs_size() == 0)
    for (const std::string& job : reply->jobs_changed().changed()) say_intent(command, draft, job);
  return std::max(code, report(command, draft, reply->jobs_changed()));
}

}  // namespace

std::vector<OptionText> scancel_options() {
  return option_texts(std::span<const Option<ScancelDraft>>{scancel_rows}, any_tool);
}
std::string scancel_manual() {
  return man_page(scancel_head, option_texts(std::span<const Option<ScancelDraft>>{scancel_rows}, any_tool));
}

int run_scancel(Command& command) {
  ScancelDraft draft;
  const std::span<const Option<ScancelDraft>> table{scancel_rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, scancel_head, option_texts(table, any_tool))) return 0;
  if (draft.signal) {
    const auto number = parse_signal(*draft.signal);
    if (!number) return say_usage_error(command, {Errc::refused, "Unknown job signal: " + *draft.signal});
    draft.cancel.set_signal(*number);
  }
  if (draft.cancel.batch_only() && !draft.signal)
    return say_usage_error(command, {Errc::refused, "-b/--batch needs -s/--signal"});
  if (const auto added = add_jobs(draft, line->operands); !added)
    return say_usage_error(command, {Errc::refused, added.error().story});
  if (draft.admin_comment && draft.cancel.jobs_size() == 0)
    return say_usage_error(command, {Errc::refused, "--admin-comment needs the ids of the jobs"});
  if (!draft.steps.empty() && draft.filtered)
    return say_usage_error(command, not_built("a filter with a step (" + step_text(draft.steps.front()) + ")").error());
  if (draft.cancel.jobs_size() == 0 && draft.steps.empty() && !draft.filtered)
    return say_usage_error(command, {Errc::refused, "No job identification provided"});
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto known = check_clusters(draft.clusters, *settings); !known)
    return say_usage_error(command, known.error());
  return cancel(command, draft, *settings);
}

}  // namespace millrace
