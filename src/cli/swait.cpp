// src/cli/swait.cpp - waits until jobs have no steps any more.
#include <unistd.h>

#include <ctime>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "client.pb.h"
#include "core/model/step.h"

namespace millrace {
namespace {

constexpr ManualHead swait_head{
    "swait", "wait until a job has no steps any more", "[options] [job...]",
    "Waits until none of the steps of the jobs runs or waits any more; in a job, and without an "
    "argument, for the steps of that job. Its script is no step."};

constexpr std::uint32_t extern_step = 0xfffffffc;
constexpr useconds_t between_looks = 100'000;

struct SwaitDraft {
  Asked asked;
  std::optional<std::uint32_t> job_id;
  std::int64_t timeout_seconds = 0;  // 0: none
  bool quiet = false;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

Result<std::uint32_t> job_number(Text v) {
  const auto job = parse_job_name(v);
  const std::string wrong = "Invalid job id " + std::string{v};
  if (!job || !job->tasks.empty()) return fail(Errc::refused, job ? wrong : told(job.error(), wrong));
  return job->id;
}

// clang-format off
constexpr Option<SwaitDraft> swait_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SwaitDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"jobid", 'j', required, "<job>", any_tool, "SLURM_JOB_ID", "", "the job whose steps are meant", [](SwaitDraft& d, Text v) -> Result<void> { MR_TRY(d.job_id, job_number(v)); return {}; }},
    {"quiet", 'Q', none, "", any_tool, "", "", "say nothing when the time is over", [](SwaitDraft& d, Text) -> Result<void> { d.quiet = true; return {}; }},
    {"timeout", 't', required, "<seconds>", any_tool, "", "", "give up after so many seconds, with exit code 1", [](SwaitDraft& d, Text v) -> Result<void> {
       const auto number = parse_integer(v);
       if (!number || *number < 1) return fail(Errc::refused, "Invalid timeout " + std::string{v} + "; seconds would be right");
       d.timeout_seconds = *number;
       return {};
     }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SwaitDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say how many steps are left", [](SwaitDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SwaitDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
};
// clang-format on

// Of all the jobs; not found: the controller knows none of them.
Result<std::size_t> steps_left(Session& session, const std::vector<std::uint32_t>& jobs) {
  wire::Request request;
  for (const std::uint32_t id : jobs) request.mutable_query_steps()->add_steps()->mutable_job()->set_job_id(id);
  MR_TRY(const wire::Reply reply, ask_all(session, request));
  if (reply.steps().missing() == jobs.size()) return fail(Errc::not_found, "Invalid job id specified");
  std::size_t count = 0;
  for (const wire::StepView& step : reply.steps().steps())
    if (step.step() != batch_step && step.step() != extern_step && step.step() != interactive_step) ++count;
  return count;
}

}  // namespace

std::vector<OptionText> swait_options() {
  return option_texts(std::span<const Option<SwaitDraft>>{swait_rows}, any_tool);
}
std::string swait_manual() {
  return man_page(swait_head, option_texts(std::span<const Option<SwaitDraft>>{swait_rows}, any_tool));
}

int run_swait(Command& command) {
  SwaitDraft draft;
  const std::span<const Option<SwaitDraft>> table{swait_rows};
  if (const auto taken = apply_environment(table, any_tool, draft); !taken)
    return say_usage_error(command, taken.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, swait_head, option_texts(table, any_tool))) return 0;
  std::vector<std::uint32_t> jobs;
  for (const Text word : line->operands) {
    const auto id = job_number(word);
    if (!id) return say_usage_error(command, id.error());
    jobs.push_back(*id);
  }
  if (jobs.empty() && draft.job_id) jobs.push_back(*draft.job_id);
  if (jobs.empty())
    return say_usage_error(
        command, {Errc::refused, "Need a job id to run this command. Run from within a Slurm job, or name the job"});
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  Session session(*session_options(*settings));
  const time_t until = draft.timeout_seconds == 0 ? 0 : time(nullptr) + draft.timeout_seconds;
  for (std::size_t before = SIZE_MAX;;) {
    const auto left = steps_left(session, jobs);
    if (!left) {
      say_trouble(command, session);
      say_error(command, left.error().story);
      return 1;
    }
    if (*left == 0) return 0;
    if (draft.verbose > 0 && *left != before) say_plain("swait: " + std::to_string(*left) + " steps are left");
    before = *left;
    if (until != 0 && time(nullptr) >= until) {
      if (!draft.quiet) say_error(command, "Timed out with " + std::to_string(*left) + " steps left");
      return 1;
    }
    usleep(between_looks);
  }
}

}  // namespace millrace
