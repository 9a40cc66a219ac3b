// src/cli/step_names.cpp - see step_names.h.
#include "cli/step_names.h"

#include "base/text.h"
#include "cli/console.h"
#include "cli/render/step_columns.h"
#include "core/model/step.h"

namespace millrace {

Result<wire::StepName> parse_step_name(std::string_view text) {
  const std::size_t dot = text.find('.');
  MR_TRY(const ParsedJobName job, parse_job_name(text.substr(0, dot)));
  wire::StepName out;
  out.mutable_job()->set_job_id(job.id);
  out.mutable_job()->set_tasks(job.tasks);
  if (dot == std::string_view::npos) return out;
  const std::string_view word = text.substr(dot + 1);
  if (word == "batch" || word == "interactive") {
    out.set_step(word == "batch" ? batch_step : interactive_step);
    return out;
  }
  const bool digits =
      !word.empty() && word.size() <= 10 && word.find_first_not_of("0123456789") == std::string_view::npos;
  const auto number = digits ? parse_integer(word) : std::nullopt;
  if (!number || *number >= 0xfffffff0) return fail(Errc::invalid, "");
  out.set_step(static_cast<std::uint32_t>(*number));
  return out;
}

std::string step_number_text(std::uint32_t step) { return shown_step_number(step); }

std::string step_text(const wire::StepName& name) {
  const wire::JobName& job = name.job();
  std::string out = std::to_string(job.job_id());
  if (job.tasks().starts_with('+'))
    out += job.tasks();
  else if (!job.tasks().empty())
    out += '_' + (job.tasks().find_first_of(",-") != std::string::npos ? '[' + job.tasks() + ']' : job.tasks());
  return name.has_step() ? out + '.' + step_number_text(name.step()) : out;
}

std::string step_text(const wire::StepView& step) { return shown_step(step); }

}  // namespace millrace
