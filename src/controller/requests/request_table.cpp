// src/controller/requests/request_table.cpp - see request_table.h.
#include "controller/requests/request_table.h"

#include <algorithm>

#include "controller/requests/handlers.h"
#include "controller/requests/queries.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;
using R = wire::Request;

template <class Handler, auto method, auto body>
void run(Services& services, const Asker& asker, const wire::Request& request) {
  (Handler(services, asker, request).*method)((request.*body)());
}
// Of requests that say nothing but what they are.
template <class Handler, auto method>
void run(Services& services, const Asker& asker, const wire::Request& request) {
  (Handler(services, asker, request).*method)();
}

constexpr RequestRow table[] = {
    // Jobs
    {B::kSubmit, Rank::user, run<SubmitCommands, &SubmitCommands::submit, &R::submit>},
    {B::kCancel, Rank::user, run<JobCommands, &JobCommands::cancel, &R::cancel>},
    {B::kUpdateJob, Rank::user, run<JobCommands, &JobCommands::update, &R::update_job>},
    {B::kHold, Rank::user, run<JobCommands, &JobCommands::hold, &R::hold>},
    {B::kRequeue, Rank::user, run<JobCommands, &JobCommands::requeue, &R::requeue>},
    {B::kSuspend, Rank::operates, run<JobCommands, &JobCommands::suspend, &R::suspend>},
    {B::kTopJobs, Rank::user, run<JobCommands, &JobCommands::top, &R::top_jobs>},
    {B::kWaitJob, Rank::user, run<JobCommands, &JobCommands::wait, &R::wait_job>},
    {B::kQueryJobs, Rank::user, run<JobQueries, &JobQueries::jobs, &R::query_jobs>},
    {B::kGetScript, Rank::user, run<JobQueries, &JobQueries::script, &R::get_script>},
    {B::kNumberJob, Rank::user, run<JobQueries, &JobQueries::number, &R::number_job>},
    {B::kExplain, Rank::user, run<JobQueries, &JobQueries::explain, &R::explain>},
    // Steps
    {B::kCreateStep, Rank::user, run<StepCommands, &StepCommands::create, &R::create_step>},
    {B::kSignalStep, Rank::user, run<StepCommands, &StepCommands::signal, &R::signal_step>},
    {B::kUpdateStep, Rank::user, run<StepCommands, &StepCommands::update, &R::update_step>},
    {B::kAttachStep, Rank::user, run<StepCommands, &StepCommands::attach, &R::attach_step>},
    {B::kSampleSteps, Rank::user, run<StepCommands, &StepCommands::sample, &R::sample_steps>},
    {B::kNotifyJob, Rank::user, run<StepCommands, &StepCommands::notify, &R::notify_job>},
    {B::kEndAllocation, Rank::user, run<StepCommands, &StepCommands::end_allocation, &R::end_allocation>},
    {B::kQuerySteps, Rank::user, run<JobQueries, &JobQueries::steps, &R::query_steps>},
    // Nodes, partitions, reservations
    {B::kUpdateNode, Rank::administers, run<NodeCommands, &NodeCommands::update, &R::update_node>},
    {B::kCreateNodes, Rank::administers, run<NodeCommands, &NodeCommands::create, &R::create_nodes>},
    {B::kDeleteNodes, Rank::administers, run<NodeCommands, &NodeCommands::remove, &R::delete_nodes>},
    {B::kQueryNodes, Rank::user, run<SiteQueries, &SiteQueries::nodes, &R::query_nodes>},
    {B::kUpdatePartition, Rank::administers, run<PartitionCommands, &PartitionCommands::update, &R::update_partition>},
    {B::kDeletePartition, Rank::administers, run<PartitionCommands, &PartitionCommands::remove, &R::delete_partition>},
    {B::kQueryPartitions, Rank::user, run<SiteQueries, &SiteQueries::partitions, &R::query_partitions>},
    {B::kReserve, Rank::operates, run<ReservationCommands, &ReservationCommands::reserve, &R::reserve>},
    {B::kRemoveReservation, Rank::user,  // USER_DELETE lets those who have it
     run<ReservationCommands, &ReservationCommands::remove, &R::remove_reservation>},
    {B::kQueryReservations, Rank::user, run<SiteQueries, &SiteQueries::reservations, &R::query_reservations>},
    {B::kQueryLicences, Rank::user, run<SiteQueries, &SiteQueries::licences>},
    {B::kQueryTopology, Rank::user, run<SiteQueries, &SiteQueries::topology>},
    // Accounts
    {B::kChangeAccounts, Rank::user,  // coordinators, and one's own defaults
     run<AccountCommands, &AccountCommands::change, &R::change_accounts>},
    {B::kAnnotateRecord, Rank::user, run<AccountCommands, &AccountCommands::annotate_record, &R::annotate_record>},
    {B::kSetDamping, Rank::administers, run<PartitionCommands, &PartitionCommands::set_damping, &R::set_damping>},
    {B::kQueryAccounts, Rank::user, run<AccountQueries, &AccountQueries::accounts>},
    {B::kQueryPriorities, Rank::user, run<AccountQueries, &AccountQueries::priorities>},
    {B::kQueryTransactions, Rank::user, run<AccountQueries, &AccountQueries::transactions>},
    // Crontabs and triggers
    {B::kSetCrontab, Rank::user, run<CrontabCommands, &CrontabCommands::set, &R::set_crontab>},
    {B::kQueryCrontab, Rank::user, run<CrontabCommands, &CrontabCommands::query, &R::query_crontab>},
    {B::kSetTrigger, Rank::user,  // allow_user_triggers lets users set some of their own
     run<TriggerCommands, &TriggerCommands::set, &R::set_trigger>},
    {B::kClearTriggers, Rank::user, run<TriggerCommands, &TriggerCommands::clear, &R::clear_triggers>},
    {B::kQueryTriggers, Rank::user, run<TriggerCommands, &TriggerCommands::query>},
    // The daemon
    {B::kShutdown, Rank::administers, run<DaemonCommands, &DaemonCommands::shutdown, &R::shutdown>},
    {B::kReconfigure, Rank::administers, run<DaemonCommands, &DaemonCommands::reconfigure>},
    {B::kSetLogging, Rank::administers, run<DaemonCommands, &DaemonCommands::set_logging, &R::set_logging>},
    {B::kIssueToken, Rank::user, run<DaemonCommands, &DaemonCommands::issue_token, &R::issue_token>},
    {B::kQueryConfig, Rank::user, run<SiteQueries, &SiteQueries::config>},
    {B::kPing, Rank::user, run<SiteQueries, &SiteQueries::ping>},
    {B::kQueryDiagnostics, Rank::user, run<SiteQueries, &SiteQueries::diagnostics, &R::query_diagnostics>},
};

}  // namespace

std::span<const RequestRow> request_table() { return table; }

const RequestRow* find_request(wire::Request::BodyCase request) {
  const auto* row = std::ranges::find(table, request, &RequestRow::request);
  return row == std::end(table) ? nullptr : row;
}

}  // namespace millrace
