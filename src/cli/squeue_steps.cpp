// src/cli/squeue_steps.cpp - see squeue_steps.h.
#include "cli/squeue_steps.h"

#include <algorithm>

#include "base/hostlist.h"
#include "cli/ask.h"
#include "cli/listing.h"
#include "cli/render/step_columns.h"
#include "cli/step_names.h"

namespace millrace {
namespace {

bool passes(const StepsAsked& asked, const wire::StepView& step) {
  const auto in = [](const auto& set, const auto& value) { return set.empty() || set.contains(value); };
  if (!in(asked.users, step.uid()) || step.uid() == asked.not_user || !in(asked.partitions, step.partition()) ||
      !in(asked.names, step.name()))
    return false;
  if (!in(asked.accounts, step.account()) || !in(asked.qos, step.qos())) return false;
  if (!in(asked.states, step.state() == wire::SUSPENDED ? "SUSPENDED" : "RUNNING")) return false;
  if (asked.nodes.empty()) return true;
  const auto nodes = expand_hostlist(step.nodes());
  return nodes && std::ranges::any_of(*nodes, [&](const std::string& name) { return asked.nodes.contains(name); });
}

Result<void> name_steps(const std::optional<std::string>& list, wire::QuerySteps& query) {
  if (!list) return {};
  for (const std::string_view word : split_outside_brackets(*list)) {
    const auto name = parse_step_name(word);
    if (!name) return fail(Errc::refused, told(name.error(), "Invalid job_step id: " + std::string{word}));
    *query.add_steps() = *name;
  }
  return {};
}

}  // namespace

int show_queue_of_steps(const Command& command, const StepsAsked& asked, const ClientSettings& settings) {
  std::string letters;
  std::vector<std::string> unknown;
  const Format<StepRow> format =
      asked.long_format
          ? parse_long_format<StepRow>(*asked.long_format, step_columns(), unknown)
          : parse_short_format<StepRow>(asked.format ? *asked.format : squeue_steps_format, step_columns(), letters);
  for (const char letter : letters) say_error(command, std::string{"Invalid job step format specification: "} + letter);
  for (const std::string& name : unknown) say_error(command, "Invalid job step format specification: " + name);
  wire::Request request;
  wire::QuerySteps& query = *request.mutable_query_steps();
  for (const auto& list : {asked.steps, asked.jobs})
    if (const auto named = name_steps(list, query); !named) return say_usage_error(command, named.error());
  if (asked.users.size() == 1) query.set_uid(*asked.users.begin());
  query.set_without_hidden(asked.without_hidden);
  Session session(*session_options(settings));
  const auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_plain("slurm_get_job_steps error: " + reply.error().story);
    return 1;
  }
  Names names;
  if (asked.data) {
    const DataContext context{reply->steps().now_us(), settings.cluster_name, &names};
    int at = 0;
    const auto next = [&]() -> Data {
      while (at < reply->steps().steps_size())
        if (const wire::StepView& step = reply->steps().steps(at++); passes(asked, step))
          return step_data(step, context);
      return {};
    };
    return print_records(command, settings, *asked.data, "steps", next,
                         {{"last_update", time_of(reply->steps().now_us())}});
  }
  const StepContext context{reply->steps().now_us(), settings.cluster_name, &names};
  std::vector<StepRow> rows;
  for (const wire::StepView& step : reply->steps().steps())
    if (passes(asked, step)) rows.push_back({&step, &context});
  std::string bad_keys;
  sort_steps(rows, asked.sort ? *asked.sort : "P,i", bad_keys);
  for (const char letter : bad_keys) say_error(command, std::string{"Invalid sort specification: "} + letter);
  std::string out;
  if (asked.long_view && asked.header) out = format_date_line(reply->steps().now_us()) + '\n';
  return print(out + render_steps(rows, format, asked.header));
}

}  // namespace millrace
