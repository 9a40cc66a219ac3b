// src/cli/sstat.cpp - what running steps use now: asked from the nodes they run on.
#include <algorithm>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/options/option.h"
#include "cli/render/usage_fields.h"
#include "cli/step_names.h"
#include "core/model/step.h"

namespace millrace {
namespace {

constexpr ManualHead sstat_head{
    "sstat", "show what running steps use", "[options] -j <jobs>",
    "CPU time, memory and I/O of the tasks of running steps, measured on their nodes when asked. "
    "Without the number of a step, the lowest that runs "
    "is meant, the batch script where there is no other; -a shows all. Only one's own jobs are "
    "shown, to administrators all."};

struct SstatDraft {
  Asked asked;
  std::string jobs;
  std::optional<std::string> format;
  bool all = false, pids = false, help_format = false, exact = false;
  TableStyle style;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

// clang-format off
constexpr Option<SstatDraft> sstat_rows[] = {
    {"allsteps", 'a', none, "", any_tool, "", "", "all running steps of the jobs", [](SstatDraft& d, Text) -> Result<void> { d.all = true; return {}; }},
    {"format", 'o', required, "<fields>", any_tool, "", "", "these fields, as in JobID,MaxRSS%12", [](SstatDraft& d, Text v) -> Result<void> { d.format = std::string{v}; return {}; }},
    {"fields", '\0', required, "<fields>", any_tool, "", "", "the same as --format", [](SstatDraft& d, Text v) -> Result<void> { d.format = std::string{v}; return {}; }},
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](SstatDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"helpformat", 'e', none, "", any_tool, "", "", "list the fields", [](SstatDraft& d, Text) -> Result<void> { d.help_format = true; return {}; }},
    {"jobs", 'j', required, "<ids>", any_tool, "", "", "these jobs or steps: 12, 12.0, 12.batch", [](SstatDraft& d, Text v) -> Result<void> { d.jobs += (d.jobs.empty() ? "" : ",") + std::string{v}; return {}; }},
    {"noconvert", '\0', none, "", any_tool, "", "", "sizes in bytes", [](SstatDraft& d, Text) -> Result<void> { d.exact = true; return {}; }},
    {"noheader", 'n', none, "", any_tool, "", "", "no header", [](SstatDraft& d, Text) -> Result<void> { d.style.header = false; return {}; }},
    {"parsable", 'p', none, "", any_tool, "", "", "fields end with |", [](SstatDraft& d, Text) -> Result<void> { d.style.parsable = Parsable::with_end; return {}; }},
    {"parsable2", 'P', none, "", any_tool, "", "", "| between fields", [](SstatDraft& d, Text) -> Result<void> { d.style.parsable = Parsable::without_end; return {}; }},
    {"pidformat", 'i', none, "", any_tool, "", "", "the processes of each step", [](SstatDraft& d, Text) -> Result<void> { d.pids = true; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SstatDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say more", [](SstatDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SstatDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
};
// clang-format on

int list_fields() {
  std::string out;
  int column = 0;
  for (const Field<StepUse>& field : usage_fields()) {
    std::string word{field.header};
    word.resize(std::max<std::size_t>(word.size() + 1, 20), ' ');
    out += word;
    if (++column % 4 == 0) out += '\n';
  }
  return print(out + (column % 4 == 0 ? "" : "\n"));
}

// The step that is meant where none is named. The script comes last.
const wire::StepView* choose_step(const wire::Steps& steps) {
  return steps.steps_size() == 0
             ? nullptr
             : &*std::ranges::min_element(steps.steps(), {}, [](const wire::StepView& step) { return step.step(); });
}

Result<void> choose_steps(const Command& command, Session& session, const SstatDraft& draft, wire::SampleSteps& chosen,
                          int& code) {
  for (const std::string_view word : split_outside_brackets(draft.jobs)) {
    const auto name = parse_step_name(trim(word));
    if (!name)
      return fail(Errc::refused,
                  told(name.error(), "Invalid job id: " + std::string{word} + "; it is JOB or JOB.STEP, as in 12.0"));
    if (name->has_step() || draft.all) {
      *chosen.add_steps() = *name;
      continue;
    }
    wire::Request request;
    *request.mutable_query_steps()->add_steps() = *name;
    MR_TRY(const wire::Reply reply, ask_all(session, request));
    const wire::StepView* first = choose_step(reply.steps());
    if (first == nullptr) {
      say_error(command, "No steps running for JobId=" + step_text(*name));
      code = 1;
      continue;
    }
    *chosen.add_steps() = *name;
    chosen.mutable_steps(chosen.steps_size() - 1)->set_step(first->step());
  }
  return {};
}

int show(const Command& command, const SstatDraft& draft, const ClientSettings& settings) {
  const auto fields = choose_fields(usage_fields(), draft.format ? *draft.format
                                                    : draft.pids ? sstat_pid_fields
                                                                 : sstat_default_fields);
  if (!fields)
    return say_usage_error(command, {Errc::refused, fields.error().story + "; sstat --helpformat lists them"});
  Session session(*session_options(settings));
  int code = 0;
  wire::Request request;
  const auto trouble = [&](const Error& error) {
    say_trouble(command, session);
    say_error(command, error.story);
    return 1;
  };
  if (const auto found = choose_steps(command, session, draft, *request.mutable_sample_steps(), code); !found)
    return trouble(found.error());
  if (request.sample_steps().steps_size() == 0) return code;
  const auto reply = ask_all(session, request);
  if (!reply) return trouble(reply.error());
  const wire::StepSamples& samples = reply->step_samples();
  std::vector<StepUse> table;
  for (const wire::StepView& step : samples.steps()) {
    table.push_back(sum_up(step, samples));
    table.back().exact_numbers = draft.exact;
  }
  for (const wire::StepName& name : request.sample_steps().steps()) {
    const bool there = std::ranges::any_of(
        samples.steps(), [&](const wire::StepView& step) { return !name.has_step() || step.step() == name.step(); });
    if (there) continue;
    say_error(command, "No steps running for JobId=" + step_text(name));
    code = 1;
  }
  for (const std::string& node : samples.silent_nodes()) say_error(command, "node " + node + " did not answer");
  if (samples.silent_nodes_size() > 0) code = 1;
  print(render_fields(*fields, table, draft.style));
  return code;
}

}  // namespace

std::vector<OptionText> sstat_options() {
  return option_texts(std::span<const Option<SstatDraft>>{sstat_rows}, any_tool);
}
std::string sstat_manual() {
  return man_page(sstat_head, option_texts(std::span<const Option<SstatDraft>>{sstat_rows}, any_tool));
}

int run_sstat(Command& command) {
  SstatDraft draft;
  const std::span<const Option<SstatDraft>> table{sstat_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sstat_head, option_texts(table, any_tool))) return 0;
  if (draft.help_format) return list_fields();
  for (const std::string_view word : line->operands) draft.jobs += (draft.jobs.empty() ? "" : ",") + std::string{word};
  if (draft.jobs.empty()) return say_usage_error(command, {Errc::refused, "You didn't give me any jobs to stat."});
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return show(command, draft, *settings);
}

}  // namespace millrace
