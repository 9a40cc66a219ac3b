// tests/fuzz/fuzz_views.cpp - what the controller answers, as the commands print it: every column of it.
#include "base/text.h"
#include "cli/compat/pbs_lists.h"
#include "cli/render/account_fields.h"
#include "cli/render/acct_data.h"
#include "cli/render/acct_fields.h"
#include "cli/render/columns.h"
#include "cli/render/config_file.h"
#include "cli/render/data_accounts.h"
#include "cli/render/data_records.h"
#include "cli/render/data_text.h"
#include "cli/render/diagnostics_data.h"
#include "cli/render/diagnostics_text.h"
#include "cli/render/node_columns.h"
#include "cli/render/priority_columns.h"
#include "cli/render/show_records.h"
#include "cli/render/step_columns.h"
#include "cli/render/usage_fields.h"
#include "target.h"
#include "wire/reply_parts.h"

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

FUZZ_SEEDS(accounts_view) {
  wire::Accounts accounts;
  for (const std::uint32_t id : {1u, 2u, 3u}) {
    wire::Association& one = *accounts.add_associations()->mutable_association();
    one.set_id(id);
    one.set_parent(id - 1);
    one.set_account("a");
    one.add_qos(1);
    one.mutable_limits()->add_grp_tres()->set_name("cpu");
  }
  accounts.mutable_associations(2)->mutable_association()->set_user("alice");
  accounts.add_qos()->set_id(1);
  accounts.add_users()->set_name("alice");
  return {accounts.SerializeAsString()};
}

FUZZ_BINARY(accounts_view) {
  wire::Accounts accounts;
  if (!read(input, accounts)) return;
  const AccountBook book(std::move(accounts));
  for (const wire::AssociationView* view : book.in_tree_order) {
    const AssociationRow row{&book, view, true};
    for (const auto& fields : {association_fields(), share_fields()})
      for (const Field<AssociationRow>& field : fields) fuzz::use(field.value(row));
    fuzz::use(association_data(row));
    fuzz::use(account_data(row));
    fuzz::use(share_data(row));
    fuzz::use(user_data(book, view->association().user()));
    fuzz::use(book.coordinated_by(view->association().user()));
  }
  for (const wire::Qos& qos : book.answer.qos()) {
    const QosRow row{&book, &qos};
    for (const Field<QosRow>& field : qos_fields()) fuzz::use(field.value(row));
    fuzz::use(qos_data(row));
  }
}

FUZZ_BINARY(diagnostics_view) {
  wire::Diagnostics diagnostics;
  if (!read(input, diagnostics)) return;
  Names names;
  fuzz::use(diagnostics_text(diagnostics, CallOrder::average_time, names));
  fuzz::use(accounting_statistics(diagnostics, names));
  fuzz::use(diagnostics_data(diagnostics, names));
}

FUZZ_BINARY(config_view) {
  wire::Config config;
  if (!read(input, config)) return;
  fuzz::use(show_configuration(config));
  fuzz::use(config_file_text(config, {}, {}));
}

FUZZ_BINARY(other_views) {
  if (wire::ReservationView reservation; read(input, reservation)) fuzz::use(reservation_data(reservation));
  if (wire::Licences::Licence licence; read(input, licence)) fuzz::use(licence_data(licence));
  if (wire::Priorities priorities; read(input, priorities)) {
    fuzz::use(sprio_format(priorities, true));
    for (const wire::PriorityView& job : priorities.jobs())
      print_row(priority_columns(), PriorityRow{&job, &priorities});
  }
  if (wire::StepSamples samples; read(input, samples)) {
    const wire::StepView step;
    const StepUse use = sum_up(step, samples);
    for (const Field<StepUse>& field : usage_fields()) fuzz::use(field.value(use));
  }
}

// Frames of any length, one after the other.
FUZZ_TEXT(reply_parts) {
  fuzz::Pieces pieces(input);
  ReplyJoiner joiner;
  while (!pieces.empty()) {
    const std::string_view frame = pieces.sized();
    fuzz::use(head_of_reply(frame));
    if (!joiner.take(frame)) return;
  }
}
