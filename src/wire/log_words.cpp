// src/wire/log_words.cpp - see log_words.h.
#include "wire/log_words.h"

namespace millrace {
namespace {

template <class Value>
struct Word {
  Value value;
  std::string_view word;
};

template <class Value, std::size_t N>
std::string_view find_word(const Word<Value> (&words)[N], Value value) {
  for (const auto& row : words)
    if (row.value == value) return row.word;
  return "?";
}

constexpr Word<Availability> availability_words[] = {{Availability::up, "up"},
                                                     {Availability::down, "down"},
                                                     {Availability::drain, "drain"},
                                                     {Availability::inactive, "inactive"}};
constexpr Word<CpuSharing> cpu_sharing_words[] = {
    {CpuSharing::no, "no"}, {CpuSharing::on_request, "on_request"}, {CpuSharing::forced, "forced"}};
constexpr Word<KeepPartitions> keep_partitions_words[] = {{KeepPartitions::none, "none"},
                                                          {KeepPartitions::states, "states"},
                                                          {KeepPartitions::all, "all"},
                                                          {KeepPartitions::not_rewritten, "not_rewritten"}};
constexpr Word<CpuUnit> cpu_unit_words[] = {
    {CpuUnit::cpu, "cpu"}, {CpuUnit::core, "core"}, {CpuUnit::socket, "socket"}, {CpuUnit::node, "node"}};
constexpr Word<DependencyKind> dependency_kind_words[] = {
    {DependencyKind::after, "after"},         {DependencyKind::afterany, "afterany"},
    {DependencyKind::afterok, "afterok"},     {DependencyKind::afternotok, "afternotok"},
    {DependencyKind::singleton, "singleton"}, {DependencyKind::aftercorr, "aftercorr"}};
constexpr Word<DependencyState> dependency_state_words[] = {{DependencyState::unfulfilled, "unfulfilled"},
                                                            {DependencyState::fulfilled, "fulfilled"},
                                                            {DependencyState::failed, "failed"}};
constexpr Word<JobProgram> job_program_words[] = {
    {JobProgram::none, "none"}, {JobProgram::prolog, "prolog"}, {JobProgram::epilog, "epilog"}};
constexpr Word<SuspendWhy> suspend_why_words[] = {{SuspendWhy::administrator, "administrator"},
                                                  {SuspendWhy::preempted, "preempted"},
                                                  {SuspendWhy::time_slice, "time_slice"}};
constexpr Word<Hold> hold_words[] = {{Hold::none, "none"}, {Hold::user, "user"}, {Hold::admin, "admin"}};
constexpr Word<Outcome> outcome_words[] = {
    {Outcome::none, "none"},           {Outcome::completed, "completed"}, {Outcome::failed, "failed"},
    {Outcome::cancelled, "cancelled"}, {Outcome::timeout, "timeout"},     {Outcome::node_fail, "node_fail"},
    {Outcome::preempted, "preempted"}, {Outcome::deadline, "deadline"},   {Outcome::out_of_memory, "out_of_memory"}};
constexpr Word<PreemptType> preempt_type_words[] = {
    {PreemptType::none, "none"}, {PreemptType::partition, "partition"}, {PreemptType::qos, "qos"}};
constexpr Word<PreemptMode> preempt_mode_words[] = {{PreemptMode::cluster, "cluster"},
                                                    {PreemptMode::off, "off"},
                                                    {PreemptMode::cancel, "cancel"},
                                                    {PreemptMode::requeue, "requeue"},
                                                    {PreemptMode::suspend, "suspend"}};
constexpr Word<QosPreemptMode> qos_preempt_mode_words[] = {{QosPreemptMode::cluster, "cluster"},
                                                           {QosPreemptMode::off, "off"},
                                                           {QosPreemptMode::cancel, "cancel"},
                                                           {QosPreemptMode::requeue, "requeue"},
                                                           {QosPreemptMode::suspend, "suspend"}};
constexpr Word<AdminLevel> admin_level_words[] = {
    {AdminLevel::none, "none"}, {AdminLevel::operates, "operates"}, {AdminLevel::administers, "administers"}};
constexpr Word<ResetPeriod> reset_period_words[] = {
    {ResetPeriod::none, "none"},     {ResetPeriod::now, "now"},         {ResetPeriod::daily, "daily"},
    {ResetPeriod::weekly, "weekly"}, {ResetPeriod::monthly, "monthly"}, {ResetPeriod::quarterly, "quarterly"},
    {ResetPeriod::yearly, "yearly"}};
constexpr Word<NodeKind> node_kind_words[] = {{NodeKind::normal, "normal"},
                                              {NodeKind::cloud, "cloud"},
                                              {NodeKind::future, "future"},
                                              {NodeKind::dynamic, "dynamic"}};
constexpr Word<AfterReboot> after_reboot_words[] = {
    {AfterReboot::as_before, "as_before"}, {AfterReboot::resume, "resume"}, {AfterReboot::down, "down"}};
constexpr Word<GresScope> gres_scope_words[] = {
    {GresScope::node, "node"}, {GresScope::task, "task"}, {GresScope::socket, "socket"}, {GresScope::job, "job"}};
constexpr Word<TriggerEvent> trigger_event_words[] = {{TriggerEvent::node_down, "node_down"},
                                                      {TriggerEvent::node_up, "node_up"},
                                                      {TriggerEvent::node_drained, "node_drained"},
                                                      {TriggerEvent::node_draining, "node_draining"},
                                                      {TriggerEvent::node_resumed, "node_resumed"},
                                                      {TriggerEvent::node_failing, "node_failing"},
                                                      {TriggerEvent::node_idle, "node_idle"},
                                                      {TriggerEvent::job_end, "job_end"},
                                                      {TriggerEvent::job_time, "job_time"},
                                                      {TriggerEvent::reconfigured, "reconfigured"},
                                                      {TriggerEvent::controller_started, "controller_started"}};
constexpr Word<AttemptEnd> attempt_end_words[] = {{AttemptEnd::exited, "exited"},
                                                  {AttemptEnd::launch_failed, "launch_failed"},
                                                  {AttemptEnd::supervisor_lost, "supervisor_lost"},
                                                  {AttemptEnd::node_lost, "node_lost"},
                                                  {AttemptEnd::out_of_memory, "out_of_memory"},
                                                  {AttemptEnd::prolog_failed, "prolog_failed"},
                                                  {AttemptEnd::node_unfit, "node_unfit"},
                                                  {AttemptEnd::not_begun, "not_begun"}};
constexpr Word<NodeOrder> node_order_words[] = {{NodeOrder::drain, "drain"},
                                                {NodeOrder::undrain, "undrain"},
                                                {NodeOrder::down, "down"},
                                                {NodeOrder::resume, "resume"},
                                                {NodeOrder::reason_only, "reason_only"},
                                                {NodeOrder::fail, "fail"},
                                                {NodeOrder::reboot, "reboot"},
                                                {NodeOrder::reboot_asap, "reboot_asap"},
                                                {NodeOrder::reboot_issued, "reboot_issued"},
                                                {NodeOrder::cancel_reboot, "cancel_reboot"},
                                                {NodeOrder::future, "future"}};
constexpr Word<PowerChange> power_change_words[] = {{PowerChange::down_wanted, "down_wanted"},
                                                    {PowerChange::down_asap, "down_asap"},
                                                    {PowerChange::down_forced, "down_forced"},
                                                    {PowerChange::going_down, "going_down"},
                                                    {PowerChange::off, "off"},
                                                    {PowerChange::up_wanted, "up_wanted"},
                                                    {PowerChange::coming_up, "coming_up"},
                                                    {PowerChange::told, "told"},
                                                    {PowerChange::failed, "failed"},
                                                    {PowerChange::called_off, "called_off"}};

}  // namespace

std::string_view log_word(Availability value) { return find_word(availability_words, value); }
std::string_view log_word(CpuSharing value) { return find_word(cpu_sharing_words, value); }
std::string_view log_word(KeepPartitions value) { return find_word(keep_partitions_words, value); }
std::string_view log_word(CpuUnit value) { return find_word(cpu_unit_words, value); }
std::string_view log_word(DependencyKind value) { return find_word(dependency_kind_words, value); }
std::string_view log_word(DependencyState value) { return find_word(dependency_state_words, value); }
std::string_view log_word(JobProgram value) { return find_word(job_program_words, value); }
std::string_view log_word(SuspendWhy value) { return find_word(suspend_why_words, value); }
std::string_view log_word(Hold value) { return find_word(hold_words, value); }
std::string_view log_word(Outcome value) { return find_word(outcome_words, value); }
std::string_view log_word(PreemptType value) { return find_word(preempt_type_words, value); }
std::string_view log_word(PreemptMode value) { return find_word(preempt_mode_words, value); }
std::string_view log_word(QosPreemptMode value) { return find_word(qos_preempt_mode_words, value); }
std::string_view log_word(AdminLevel value) { return find_word(admin_level_words, value); }
std::string_view log_word(ResetPeriod value) { return find_word(reset_period_words, value); }
std::string_view log_word(NodeKind value) { return find_word(node_kind_words, value); }
std::string_view log_word(AfterReboot value) { return find_word(after_reboot_words, value); }
std::string_view log_word(GresScope value) { return find_word(gres_scope_words, value); }
std::string_view log_word(TriggerEvent value) { return find_word(trigger_event_words, value); }
std::string_view log_word(AttemptEnd value) { return find_word(attempt_end_words, value); }
std::string_view log_word(NodeOrder value) { return find_word(node_order_words, value); }
std::string_view log_word(PowerChange value) { return find_word(power_change_words, value); }
std::string_view log_word(Reason value) { return slurm_word(value); }
std::string_view log_word(Schedule value) { return schedule_name(value); }

}  // namespace millrace
