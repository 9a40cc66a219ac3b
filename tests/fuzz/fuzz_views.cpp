// tests/fuzz/fuzz_views.cpp - what the controller answers, as the commands print it: every column of it.
#include "base/text.h"
#include "cli/fronts/pbs_lists.h"
#include "cli/render/acct_data.h"
#include "cli/render/acct_fields.h"
#include "cli/render/columns.h"
#include "cli/render/data_records.h"
#include "cli/render/data_text.h"
#include "cli/render/node_columns.h"
#include "cli/render/show_records.h"
#include "cli/render/step_columns.h"
#include "target.h"

using namespace millrace;

namespace {

// Left out: times and amounts beyond 2^53. The controller bounds what nodes tell of them, and commands reckon with what
// the controller sends as it is.
template <class Message>
bool read(std::string_view input, Message& message) {
  return fuzz::largest_number(input) <= std::uint64_t{1} << 53 &&
         message.ParseFromArray(input.data(), static_cast<int>(input.size()));
}

template <class Row>
void print_row(std::span<const Column<Row>> columns, const Row& row) {
  std::string out;
  for (const Column<Row>& column : columns) column.value(out, row);
  fuzz::use(out);
}

}  // namespace

FUZZ_SEEDS(job_view) {
  wire::JobView job;
  job.set_job_id(12);
  job.set_name("seed");
  job.set_nodes("n[1-3]");
  job.set_array_job_id(11);
  job.set_array_tasks("1-10:2%3");
  job.set_time_limit_minutes(10);
  job.mutable_resources()->set_features("a&b");
  job.mutable_extras()->set_mail_types(3);
  return {job.SerializeAsString()};
}

FUZZ_BINARY(job_view) {
  wire::JobView job;
  if (!read(input, job)) return;
  Names names;
  const JobContext context{1'700'000'000'000'000, "c", &names, true};
  print_row(job_columns(), JobRow{&job, {}, &context});
  fuzz::use(show_job(job, context.now_us, names, {.one_line = false, .detail = 1}));
  const DataContext data{context.now_us, "c", &names, {}};
  fuzz::use(job_data(job, data));
  const AcctContext acct{context.now_us, "c", &names, false, 0, 0, 0};
  const AcctRow row{&job, nullptr, &acct};
  for (const Field<AcctRow>& field : acct_fields()) fuzz::use(field.value(row));
  fuzz::use(acct_data({row}));
  fuzz::use(qstat_full(PbsRow{.job = &job}, false));
}

FUZZ_BINARY(node_view) {
  wire::NodeView node;
  if (!read(input, node)) return;
  Names names;
  wire::PartitionView partition;
  const NodeContext context{&names, "c"};
  const NodeGroup group{&partition, 0, {&node}, &context};
  print_row(node_columns(), group);
  fuzz::use(show_node(node, names, {}));
  fuzz::use(node_data(node, {0, "c", &names, {}}));
  fuzz::use(pbsnodes_record(node));
}

FUZZ_BINARY(step_view) {
  wire::StepView step;
  if (!read(input, step)) return;
  Names names;
  const StepContext context{1'700'000'000'000'000, "c", &names};
  print_row(step_columns(), StepRow{&step, &context});
  fuzz::use(show_step_record(step, true));
  fuzz::use(step_data(step, {context.now_us, "c", &names, {}}));
}

FUZZ_BINARY(partition_view) {
  wire::PartitionView partition;
  if (!read(input, partition)) return;
  Names names;
  fuzz::use(show_partition(partition, {}));
  fuzz::use(partition_data(partition, {0, "c", &names, {}}));
}
