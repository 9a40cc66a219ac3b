// src/cli/sacct.cpp - jobs and steps, running and ended, as long as the controller knows of them.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/one_cluster.h"
#include "cli/render/acct_data.h"
#include "cli/render/acct_fields.h"
#include "cli/sacct_completion.h"
#include "cli/sacct_filter.h"
#include "cli/version.h"
#include "core/model/job_state.h"

namespace millrace {
namespace {

constexpr ManualHead sacct_head{
    "sacct", "show jobs and steps that run or have ended", "[options]",
    "Shows jobs and their steps with states, exit codes and what they used. Ended ones stay for "
    "a day (SlurmctldParameters=millrace_keep_ended=). Without options "
    "one's own jobs since midnight are shown, to root those of all users; with -j the jobs that "
    "are named, whenever they ran; with -s alone those in that state now."};

bool is_offered(const Field<AcctRow>& field) {
  return field.header != "AllocGRES" && field.header != "ReqGRES";
}  // of old scripts: still answered

int list_fields() {
  std::string out;
  int column = 0;
  for (const Field<AcctRow>& field : acct_fields()) {
    if (!is_offered(field)) continue;
    std::string word{field.header};
    word.resize(std::max<std::size_t>(word.size(), 19), ' ');
    out += (column % 4 == 0 ? "" : " ") + word;
    if (++column % 4 == 0) out += '\n';
  }
  return print(out + (column % 4 == 0 ? "" : "\n"));
}

int list_states() {
  std::string out;
  const std::string states = known_states();
  for (const std::string_view state : split(states, ',')) out += std::string{state} + '\n';
  return print(out + "REQUEUED\n");
}

int list_reasons() {
  std::set<std::string> words;
  for (std::uint32_t number = 0; number < 256; ++number)
    if (const char* word = slurm_word(static_cast<Reason>(number)); word != nullptr && *word != '\0')
      words.insert(word);
  std::string out;
  for (const std::string& word : words) out += word + '\n';
  return print(out);
}

// The word ALL means every field.
std::string with_all_fields(const std::string& format) {
  std::string out;
  for (const std::string_view word : split(format, ',')) {
    if (!equals_ignoring_case(trim(word), "ALL")) {
      out += std::string{word} + ',';
      continue;
    }
    for (const Field<AcctRow>& field : acct_fields())
      if (is_offered(field)) out += std::string{field.header} + ',';
  }
  return out;
}

// Slurm puts it into double quotes.
std::string unknown_word(std::string story) {
  story.erase(0, story.find('\''));
  std::ranges::replace(story, '\'', '"');
  return story;
}

// As they were submitted; where an array has the rest of its tasks in one record, after its other tasks.
void sort_jobs(std::vector<const wire::JobView*>& jobs) {
  std::map<std::uint32_t, std::uint64_t> last_task;
  for (const wire::JobView* job : jobs)
    if (job->array_job_id() != 0)
      last_task[job->array_job_id()] = std::max(last_task[job->array_job_id()], job->accounted().key());
  const auto place = [&](const wire::JobView* job) {
    const bool of_the_array = job->array_job_id() != 0 && job->array_job_id() == job->job_id();
    return std::tuple{of_the_array ? last_task[job->array_job_id()] : job->accounted().key(), of_the_array,
                      job->restarts()};
  };
  std::ranges::stable_sort(jobs, {}, place);
}

// NAME=value, each with a zero behind it.
std::string environment_lines(const std::string& bytes) {
  std::string out = bytes.empty() ? "NONE" : bytes;
  std::ranges::replace(out, '\0', '\n');
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

int print_payloads(const Command& command, Session& session, const std::vector<const wire::JobView*>& jobs,
                   bool environments) {
  std::string out;
  for (const wire::JobView* job : jobs) {
    wire::Request request;
    request.mutable_get_script()->set_job_id(job->job_id());
    request.mutable_get_script()->set_with_environment(environments);
    const auto reply = ask_all(session, request);
    if (!reply && reply.error().code != Errc::refused) {
      say_trouble(command, session);
      say_error(command, reply.error().story);
      return 1;
    }
    if (environments) {
      out += "Environment used for " + std::to_string(job->job_id()) + " (must be batch to display)\n" +
             std::string(80, '-') + '\n' + environment_lines(reply ? reply->script().environment() : std::string{});
      continue;
    }
    out += "Batch Script for " + std::to_string(job->job_id()) + '\n' + std::string(80, '-') + '\n' +
           (reply && !reply->script().script().empty() ? reply->script().script() : "NONE\n");
    if (!out.ends_with('\n')) out += '\n';
  }
  return print(out);
}

// JobCompLoc of the running configuration.
std::string completion_place(Session& session) {
  wire::Request request;
  request.mutable_query_config();
  std::string place = "/var/log/slurm_jobcomp.log";
  if (const auto reply = ask_all(session, request))
    for (const auto& entry : reply->config().entries())
      if (entry.key() == "JobCompLoc" && !entry.value().empty() && entry.value() != "(null)") place = entry.value();
  return place;
}

int show_completed(const Command& command, const SacctDraft& draft, const ClientSettings& settings) {
  const char* usual = draft.long_form ? "jobid,uid,jobname,partition,nnodes,nodelist,state,start,end,timelimit"
                      : draft.brief   ? "jobid,uid,state"
                                      : "jobid,uid,jobname,partition,nnodes,nodelist,state,end";
  const auto fields = choose_fields(acct_fields(), draft.format ? with_all_fields(*draft.format) : usual);
  if (!fields)
    return say_usage_error(command, {Errc::refused, "Invalid field requested: " + unknown_word(fields.error().story) +
                                                        "; sacct --helpformat lists them"});
  const auto filter = SacctFilter::read(draft, static_cast<std::int64_t>(time(nullptr)) * 1'000'000, getuid());
  if (!filter) return say_usage_error(command, filter.error());
  Session session(*session_options(settings));
  const std::string path = draft.file ? *draft.file : completion_place(session);
  const auto text = read_completion_file(path);
  if (!text) {
    say_error(command, text.error().story);
    return 1;
  }
  std::uint64_t odd = 0;
  const wire::Jobs all = parse_completions(*text, odd);
  if (odd > 0) say_error(command, path + ": " + std::to_string(odd) + " lines are not records of ended jobs");
  Names names;
  const AcctContext context{.now_us = static_cast<std::int64_t>(time(nullptr)) * 1'000'000,
                            .cluster = settings.cluster_name,
                            .names = &names,
                            .exact_numbers = draft.exact,
                            .unit = draft.unit};
  std::vector<AcctRow> table;
  for (const wire::JobView& job : all.jobs())
    if (filter->wants(job)) table.push_back({&job, nullptr, &context});
  TableStyle style = draft.style;
  style.delimiter = draft.delimiter;
  return print(render_fields(*fields, table, style));
}

int show(const Command& command, const SacctDraft& draft, const ClientSettings& settings) {
  if (draft.completion || draft.file) return show_completed(command, draft, settings);
  const auto fields = choose_fields(acct_fields(), draft.format      ? with_all_fields(*draft.format)
                                                   : draft.long_form ? sacct_long_fields
                                                   : draft.brief     ? sacct_brief_fields
                                                                     : sacct_default_fields);
  if (!fields)
    return say_usage_error(command, {Errc::refused, "Invalid field requested: " + unknown_word(fields.error().story) +
                                                        "; sacct --helpformat lists them"});
  const auto filter = SacctFilter::read(draft, static_cast<std::int64_t>(time(nullptr)) * 1'000'000, getuid());
  if (!filter && filter.error().code == Errc::not_found) {
    say_plain(filter.error().story + "\n");
    return 1;
  }
  if (!filter) return say_usage_error(command, filter.error());
  wire::Request request;
  filter->put(*request.mutable_query_jobs());
  Session session(*session_options(settings));
  auto reply = ask_all(session, request);
  if (const auto leaders = reply ? filter->leaders_missing(reply->jobs()) : std::vector<std::uint32_t>{};
      !leaders.empty()) {
    request.mutable_query_jobs()->clear_jobs();
    for (const std::uint32_t id : leaders) request.mutable_query_jobs()->add_jobs()->set_job_id(id);
    auto whole = ask_all(session, request);
    if (!whole)
      reply = std::move(whole);
    else
      for (const wire::JobView& job : whole->jobs().jobs())
        if (std::ranges::none_of(reply->jobs().jobs(),
                                 [&](const wire::JobView& known) { return known.job_id() == job.job_id(); }))
          *reply->mutable_jobs()->add_jobs() = job;
  }
  if (!reply) {
    say_trouble(command, session);
    say_error(command, reply.error().story);
    return 1;
  }
  Names names;
  AcctContext context{.now_us = reply->jobs().now_us(),
                      .cluster = settings.cluster_name,
                      .names = &names,
                      .exact_numbers = draft.exact,
                      .unit = draft.unit};
  if (draft.truncate) {
    context.from_us = filter->from_us();
    context.until_us = filter->until_us() != 0 ? filter->until_us() : context.now_us;
  }
  std::vector<const wire::JobView*> jobs;
  for (const wire::JobView& job : reply->jobs().jobs())
    if (filter->wants(job)) jobs.push_back(&job);
  sort_jobs(jobs);
  if (draft.scripts || draft.environments) return print_payloads(command, session, jobs, draft.environments);
  std::vector<AcctRow> table;
  for (const wire::JobView* job : jobs) {
    if (filter->wants_row_of(*job) || draft.only_jobs) table.push_back({job, nullptr, &context});
    if (draft.only_jobs) continue;
    for (const wire::AccountedStep& step : job->accounted().steps())
      if (filter->wants(*job, step)) table.push_back({job, &step, &context});
  }
  if (draft.data)
    return print(to_text(data_document(DataMap{DataMember{"jobs", acct_data(table)}},
                                       {command.name, command.words, settings.cluster_name, slurm_version}),
                         draft.data->form));
  TableStyle style = draft.style;
  style.delimiter = draft.delimiter;
  return print(render_fields(*fields, table, style));
}

}  // namespace

std::vector<OptionText> sacct_option_texts() { return option_texts(sacct_options(), any_tool); }
std::string sacct_manual() { return man_page(sacct_head, option_texts(sacct_options(), any_tool)); }

int run_sacct(Command& command) {
  SacctDraft draft;
  if (const auto taken = apply_environment(sacct_options(), any_tool, draft); !taken)
    return say_usage_error(command, taken.error());
  const auto usual = std::exchange(draft.format, std::nullopt);  // SACCT_FORMAT: where the command line names no fields
  const auto line = apply_words(sacct_options(), any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sacct_head, option_texts(sacct_options(), any_tool))) return 0;
  if (!line->operands.empty())
    return say_usage_error(command, {Errc::refused, "Unknown argument: " + std::string{line->operands.front()} +
                                                        "; jobs are named with -j"});
  if (!draft.format && !draft.brief && !draft.long_form) draft.format = usual;
  if (draft.data && draft.data->list_parsers) return print(data_parser_names());
  if (draft.help_format) return list_fields();
  if (draft.help_state) return list_states();
  if (draft.help_reason) return list_reasons();
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  if (const auto here = only_this_cluster(draft.clusters, settings->cluster_name); !here)
    return say_usage_error(command, here.error());
  return show(command, draft, *settings);
}

}  // namespace millrace
