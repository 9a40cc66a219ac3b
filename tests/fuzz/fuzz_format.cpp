// tests/fuzz/fuzz_format.cpp - what -o, -O, --format and --sort say, with a row of everything printed by it.
#include "base/text.h"
#include "cli/compat/lsf_lists.h"
#include "cli/render/account_fields.h"
#include "cli/render/acct_fields.h"
#include "cli/render/columns.h"
#include "cli/render/data_document.h"
#include "cli/render/node_columns.h"
#include "cli/render/priority_columns.h"
#include "cli/render/step_columns.h"
#include "cli/render/usage_fields.h"
#include "target.h"

using namespace millrace;

namespace {

template <class Row>
std::vector<Format<Row>> both_forms(std::string_view text, std::span<const Column<Row>> columns) {
  std::string letters;
  std::vector<std::string> words;
  return {parse_short_format(text, columns, letters), parse_long_format(text, columns, words)};
}

template <class Row>
void by_fields(std::string_view text, std::span<const Field<Row>> fields) {
  fuzz::use(choose_fields(fields, text));
}

}  // namespace

FUZZ_SEEDS(format) {
  std::vector<std::string> out(2);
  for (const Column<JobRow>& column : job_columns()) out[0] += std::string{column.name} + ":.5,";
  for (const Column<NodeGroup>& column : node_columns()) out[1] += std::string{column.name} + ",";
  out[0].resize(1000), out[1].resize(1000);
  return out;
}

FUZZ_TEXT(format) {
  Names names;
  std::string unknown;
  wire::JobView job;
  job.set_job_id(1);
  const JobContext context{0, "c", &names, true};
  std::vector<JobRow> jobs{{&job, {}, &context}, {&job, 3, &context}};
  for (const auto& format : both_forms(input, job_columns())) fuzz::use(render_jobs(jobs, format, true));
  sort_jobs(jobs, input, unknown);
  wire::StepView step;
  const StepContext step_context{0, "c", &names};
  std::vector<StepRow> steps{{&step, &step_context}, {&step, &step_context}};
  for (const auto& format : both_forms(input, step_columns())) fuzz::use(render_steps(steps, format, true));
  sort_steps(steps, input, unknown);
  wire::NodeView node;
  wire::PartitionView partition;
  const NodeContext node_context{&names, "c"};
  for (const auto& format : both_forms(input, node_columns())) {
    std::vector<NodeGroup> groups = group_nodes({{&partition}, {&node}, true}, format, {}, node_context);
    sort_groups(groups, input);
    fuzz::use(render_groups(groups, format, true));
  }
  both_forms(input, priority_columns());
  by_fields(input, acct_fields());
  by_fields(input, association_fields());
  by_fields(input, qos_fields());
  by_fields(input, share_fields());
  by_fields(input, usage_fields());
  if (const auto format = parse_lsf_format(input)) {
    const std::vector<LsfRow> rows = lsf_rows(job, "alice", 0);
    fuzz::use(render_lsf(*format, rows, true));
    fuzz::use(render_lsf_json(*format, rows));
  }
  fuzz::use(parse_data_wish(DataForm::json, input));
}
