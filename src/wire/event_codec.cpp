// src/wire/event_codec.cpp - see event_codec.h. Events only; snapshots are in state_codec.cpp.
#include "wire/event_codec.h"

#include "wire/aside_codec.h"
#include "wire/id_lists.h"
#include "wire/log_types.h"
#include "wire/node_codec.h"

namespace millrace {
namespace {

void put_event(const ControllerStarted& e, log::Event& out) {
  out.mutable_controller_started()->set_epoch(e.epoch.value);
  out.mutable_controller_started()->set_at(e.at.value);
}

void put_event(const ClusterConfigured& e, log::Event& out) {
  auto* to = out.mutable_cluster_configured();
  for (const auto& node : e.nodes) put(node, *to->add_nodes());
  for (const auto& partition : e.partitions) put(partition, *to->add_partitions());
  put(e.policy, *to->mutable_policy());
  to->set_at(e.at.value);
  if (!e.topology.empty()) put(e.topology, *to->mutable_topology());
  to->set_keep(static_cast<std::uint32_t>(e.keep));
}

void put_submitted(const JobSubmitted& e, log::JobSubmitted* to) {
  to->set_key(e.key.value);
  to->set_id(e.id.value);
  put(e.spec, *to->mutable_spec());
  put(*e.spec.owner, *to->mutable_spec()->mutable_owner());
  if (!e.dependencies.list.empty()) put(e.dependencies, *to->mutable_dependencies());
  if (e.array) put(*e.array, *to->mutable_array());
  to->set_priority(e.priority);
  to->set_time_limit_minutes(e.time_limit_minutes);
  to->set_expected_seconds(e.expected_seconds);
  to->set_hold(static_cast<std::uint32_t>(e.hold));
  to->set_begin_at(e.begin_at.value);
  to->set_at(e.at.value);
  to->set_priority_fixed(e.priority_fixed);
  to->set_qos(e.qos.value);
}

void put_event(const JobSubmitted& e, log::Event& out) { put_submitted(e, out.mutable_job_submitted()); }

void put_event(const HetJobSubmitted& e, log::Event& out) {
  for (const JobSubmitted& component : e.components)
    put_submitted(component, out.mutable_het_job_submitted()->add_components());
  out.mutable_het_job_submitted()->set_at(e.at.value);
}

void put_event(const JobHoldChanged& e, log::Event& out) {
  auto* to = out.mutable_job_hold_changed();
  to->set_key(e.key.value);
  to->set_hold(static_cast<std::uint32_t>(e.hold));
  to->set_priority(e.priority);
  to->set_at(e.at.value);
}

void put_event(const JobModified& e, log::Event& out) {
  auto* to = out.mutable_job_modified();
  to->set_key(e.key.value);
  to->set_at(e.at.value);
  if (e.time_limit_minutes) to->set_time_limit_minutes(*e.time_limit_minutes);
  if (e.priority) to->set_priority(*e.priority);
  if (e.min_nodes) to->set_min_nodes(*e.min_nodes);
  if (e.max_nodes) to->set_max_nodes(*e.max_nodes);
  if (e.tasks) to->set_tasks(*e.tasks);
  if (e.cpus_per_task) to->set_cpus_per_task(*e.cpus_per_task);
  if (e.array_throttle) to->set_array_throttle(*e.array_throttle);
  if (e.nice) to->set_nice(*e.nice);
  if (e.name) to->set_name(*e.name);
  if (e.comment) to->set_comment(*e.comment);
  if (e.account) to->set_account(*e.account);
  if (e.std_out) to->set_std_out(*e.std_out);
  if (e.std_err) to->set_std_err(*e.std_err);
  if (e.work_dir) to->set_work_dir(*e.work_dir);
  if (e.partition) to->set_partition(e.partition->value);
  if (e.begin_at) to->set_begin_at(e.begin_at->value);
  if (e.memory_per_node) to->set_memory_per_node(e.memory_per_node->value);
  if (e.memory_per_cpu) to->set_memory_per_cpu(e.memory_per_cpu->value);
  if (e.dependencies) put(*e.dependencies, *to->mutable_dependencies());
  if (e.required_nodes)
    to->mutable_required_nodes()->mutable_nodes()->Add(e.required_nodes->begin(), e.required_nodes->end());
  if (e.excluded_nodes)
    to->mutable_excluded_nodes()->mutable_nodes()->Add(e.excluded_nodes->begin(), e.excluded_nodes->end());
  if (e.requeue) to->set_requeue(*e.requeue);
  if (e.resources) put(*e.resources, *to->mutable_resources());
  if (e.extras) put(*e.extras, *to->mutable_extras());
  if (e.std_in) to->set_std_in(*e.std_in);
  if (e.tasks_per_node) to->set_tasks_per_node(*e.tasks_per_node);
  if (e.min_cpus_per_node) to->set_min_cpus_per_node(*e.min_cpus_per_node);
  if (e.exclusive) to->set_exclusive(*e.exclusive);
  if (e.oversubscribe) to->set_oversubscribe(*e.oversubscribe);
  if (e.priority_fixed) to->set_priority_fixed(*e.priority_fixed);
  if (e.qos) to->set_qos(e.qos->value);
}

void put_event(const JobBecameEligible& e, log::Event& out) {
  out.mutable_job_became_eligible()->set_key(e.key.value);
  out.mutable_job_became_eligible()->set_at(e.at.value);
}

void put_event(const ArrayTaskSplit& e, log::Event& out) {
  auto* to = out.mutable_array_task_split();
  to->set_array(e.array.value);
  to->set_task(e.task);
  to->set_key(e.key.value);
  to->set_id(e.id.value);
  to->set_at(e.at.value);
}

void put_placed(const JobPlaced& e, log::JobPlaced* to) {
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  for (const auto& share : e.shares) put(share, *to->add_shares());
  to->set_by_backfill(e.by_backfill);
  to->set_at(e.at.value);
  if (e.partition) to->set_partition(e.partition->value);
  put_licences(e.licences, to->mutable_licences());
  to->set_priority(e.priority);
  if (e.waited) put(*e.waited, *to->mutable_waited());
  if (e.limit_minutes) to->set_limit_minutes(*e.limit_minutes);
  to->set_shared(e.shared);
  to->set_on_all_nodes(e.on_all_nodes);
  to->set_prolog(e.prolog);
  to->set_supervised(e.supervised);
}

void put_event(const JobPlaced& e, log::Event& out) { put_placed(e, out.mutable_job_placed()); }

void put_event(const HetJobPlaced& e, log::Event& out) {
  for (const JobPlaced& component : e.components) put_placed(component, out.mutable_het_job_placed()->add_components());
  out.mutable_het_job_placed()->set_at(e.at.value);
}

void put_end(const auto& e, auto* to) {
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  to->set_node(e.node.value);
  to->set_end(static_cast<std::uint32_t>(e.end));
  to->set_exit_code(e.exit_code);
  to->set_exit_signal(e.exit_signal);
  to->set_at(e.at.value);
  if constexpr (requires { e.usage; })
    if (e.usage != StepUsage{}) put(e.usage, *to->mutable_usage());
  to->set_words(e.words);
}

void put_event(const AttemptEnded& e, log::Event& out) { put_end(e, out.mutable_attempt_ended()); }
void put_event(const AttemptExited& e, log::Event& out) { put_end(e, out.mutable_attempt_exited()); }

void put_event(const JobPortsHeld& e, log::Event& out) {
  auto* to = out.mutable_job_ports_held();
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  to->set_ports(e.ports);
  to->set_at(e.at.value);
}

void put_event(const JobLostNode& e, log::Event& out) {
  auto* to = out.mutable_job_lost_node();
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  to->set_node(e.node.value);
  to->set_at(e.at.value);
}

void put_event(const JobShrunk& e, log::Event& out) {
  auto* to = out.mutable_job_shrunk();
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  put_ids(e.nodes, to->mutable_nodes());
  to->set_at(e.at.value);
}

void put_event(const JobProgramEnded& e, log::Event& out) {
  auto* to = out.mutable_job_program_ended();
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  to->set_program(static_cast<std::uint32_t>(e.program));
  to->set_failed(e.failed);
  to->set_at(e.at.value);
}

void put_event(const JobCancelled& e, log::Event& out) {
  auto* to = out.mutable_job_cancelled();
  to->set_key(e.key.value);
  to->set_by(e.by.value);
  to->set_at(e.at.value);
}

void put_event(const JobTimedOut& e, log::Event& out) {
  out.mutable_job_timed_out()->set_key(e.key.value);
  out.mutable_job_timed_out()->set_at(e.at.value);
  out.mutable_job_timed_out()->set_inactive(e.inactive);
}

void put_event(const JobRequeued& e, log::Event& out) {
  auto* to = out.mutable_job_requeued();
  to->set_key(e.key.value);
  to->set_hold(e.hold);
  to->set_by(e.by.value);
  to->set_at(e.at.value);
  to->set_begin_at(e.begin_at.value);
  to->set_special_exit(e.special_exit);
}

void put_event(const NodeRegistered& e, log::Event& out) { put(e, *out.mutable_node_registered()); }
void put_event(const DevicesJudged& e, log::Event& out) { put(e, *out.mutable_devices_judged()); }
void put_event(const NodeClockJudged& e, log::Event& out) { put(e, *out.mutable_node_clock_judged()); }
void put_event(const ClockStepped& e, log::Event& out) { put(e, *out.mutable_clock_stepped()); }

void put_event(const NodeLost& e, log::Event& out) {
  out.mutable_node_lost()->set_node(e.node.value);
  out.mutable_node_lost()->set_at(e.at.value);
}

void put_event(const NodeStateChanged& e, log::Event& out) {
  auto* to = out.mutable_node_state_changed();
  to->set_node(e.node.value);
  to->set_order(static_cast<std::uint32_t>(e.order));
  to->set_reason(e.reason);
  to->set_by(e.by.value);
  to->set_at(e.at.value);
  to->set_after_reboot(static_cast<std::uint32_t>(e.after_reboot));
  to->set_due(e.due.value);
}

void put_event(const NodeModified& e, log::Event& out) {
  auto* to = out.mutable_node_modified();
  to->set_node(e.node.value);
  if (e.weight) to->set_weight(*e.weight);
  if (e.features) to->set_features(*e.features);
  if (e.comment) to->set_comment(*e.comment);
  if (e.extra) to->set_extra(*e.extra);
  if (e.address) to->set_address(*e.address);
  if (e.host_name) to->set_host_name(*e.host_name);
  if (e.active_features) to->set_active_features(*e.active_features);
  if (e.instance_id) to->set_instance_id(*e.instance_id);
  if (e.instance_type) to->set_instance_type(*e.instance_type);
  if (e.resume_at) to->set_resume_at(e.resume_at->value);
  to->set_at(e.at.value);
}

void put_event(const NodesPowered& e, log::Event& out) {
  auto* to = out.mutable_nodes_powered();
  to->set_change(static_cast<std::uint32_t>(e.change));
  put_ids(e.nodes, to->mutable_nodes());
  to->set_due(e.due.value);
  to->set_by(e.by.value);
  to->set_at(e.at.value);
}

void put_event(const NodeCreated& e, log::Event& out) {
  auto* to = out.mutable_node_created();
  put(e.def, *to->mutable_def());
  to->set_by(e.by.value);
  to->set_at(e.at.value);
}

void put_event(const NodeDeleted& e, log::Event& out) {
  auto* to = out.mutable_node_deleted();
  to->set_node(e.node.value);
  to->set_by(e.by.value);
  to->set_at(e.at.value);
}

void put_event(const PartitionStateChanged& e, log::Event& out) {
  auto* to = out.mutable_partition_state_changed();
  to->set_partition(e.partition.value);
  to->set_availability(static_cast<std::uint32_t>(e.availability));
  to->set_at(e.at.value);
}

void put_event(const PartitionChanged& e, log::Event& out) {
  auto* to = out.mutable_partition_changed();
  put(e.def, *to->mutable_def());
  to->set_by(e.by.value);
  to->set_at(e.at.value);
}

void put_event(const PartitionDeleted& e, log::Event& out) {
  auto* to = out.mutable_partition_deleted();
  to->set_partition(e.partition.value);
  to->set_by(e.by.value);
  to->set_at(e.at.value);
}

void put_event(const DampingChanged& e, log::Event& out) {
  out.mutable_damping_changed()->set_factor(e.factor);
  out.mutable_damping_changed()->set_at(e.at.value);
}

void put_event(const JobDeadlinePassed& e, log::Event& out) {
  out.mutable_job_deadline_passed()->set_key(e.key.value);
  out.mutable_job_deadline_passed()->set_at(e.at.value);
}

void put_event(const JobForgotten& e, log::Event& out) {
  out.mutable_job_forgotten()->set_key(e.key.value);
  out.mutable_job_forgotten()->set_at(e.at.value);
}

void put_event(const JobPreempted& e, log::Event& out) {
  auto* to = out.mutable_job_preempted();
  to->set_key(e.key.value);
  to->set_by(e.by.value);
  to->set_requeue(e.requeue);
  to->set_due(e.due.value);
  to->set_at(e.at.value);
}

void put_event(const JobSuspended& e, log::Event& out) {
  auto* to = out.mutable_job_suspended();
  to->set_key(e.key.value);
  to->set_why(static_cast<std::uint32_t>(e.why));
  to->set_by(e.by.value);
  to->set_actor(e.actor.value);
  to->set_at(e.at.value);
}

void put_event(const JobResumeWanted& e, log::Event& out) {
  auto* to = out.mutable_job_resume_wanted();
  to->set_key(e.key.value);
  to->set_actor(e.actor.value);
  to->set_at(e.at.value);
}

void put_event(const JobResumed& e, log::Event& out) {
  out.mutable_job_resumed()->set_key(e.key.value);
  out.mutable_job_resumed()->set_at(e.at.value);
}

void put_event(const TimeSliceTurned& e, log::Event& out) {
  auto* to = out.mutable_time_slice_turned();
  put_ids(e.suspended, to->mutable_suspended());
  put_ids(e.resumed, to->mutable_resumed());
  to->set_at(e.at.value);
}

void put_event(const StepsReported& e, log::Event& out) {
  auto* to = out.mutable_steps_reported();
  to->set_key(e.key.value);
  to->set_attempt(e.attempt.value);
  for (const StepStart& start : e.started) put(start, *to->add_started());
  for (const StepEnd& end : e.ended) put(end, *to->add_ended());
  for (const StepChange& change : e.changed) {
    auto* changed = to->add_changed();
    changed->set_id(change.id);
    changed->set_time_limit_minutes(change.time_limit_minutes);
  }
  to->set_at(e.at.value);
}

void put_event(const ReservationSet& e, log::Event& out) {
  put(e.reservation, *out.mutable_reservation_set()->mutable_reservation());
  out.mutable_reservation_set()->set_at(e.at.value);
}

void put_event(const ReservationRemoved& e, log::Event& out) {
  out.mutable_reservation_removed()->set_id(e.id.value);
  out.mutable_reservation_removed()->set_at(e.at.value);
}

void put_event(const AssociationChanged& e, log::Event& out) {
  put(e.association, *out.mutable_association_changed()->mutable_association());
  out.mutable_association_changed()->set_at(e.at.value);
}

void put_event(const AssociationRemoved& e, log::Event& out) {
  out.mutable_association_removed()->set_association(e.association.value);
  out.mutable_association_removed()->set_at(e.at.value);
}

void put_event(const QosChanged& e, log::Event& out) {
  put(e.qos, *out.mutable_qos_changed()->mutable_qos());
  out.mutable_qos_changed()->set_at(e.at.value);
}

void put_event(const QosRemoved& e, log::Event& out) {
  out.mutable_qos_removed()->set_qos(e.qos.value);
  out.mutable_qos_removed()->set_at(e.at.value);
}

void put_event(const CrontabSet& e, log::Event& out) {
  auto* to = out.mutable_crontab_set();
  put(e.uid, e.crontab, *to->mutable_crontab());
  to->set_at(e.at.value);
  to->set_by(e.by.value);
  for (const JobSubmitted& job : e.submitted) put_submitted(job, to->add_submitted());
}

void put_event(const TriggerSet& e, log::Event& out) {
  put(e.trigger, *out.mutable_trigger_set()->mutable_trigger());
  out.mutable_trigger_set()->set_at(e.at.value);
}

void put_event(const RecordsPutAside& e, log::Event& out) { put(e, *out.mutable_records_put_aside()); }
void put_event(const TriggerRemoved& e, log::Event& out) {
  out.mutable_trigger_removed()->set_id(e.id.value);
  out.mutable_trigger_removed()->set_at(e.at.value);
}

void put_event(const UsageReset& e, log::Event& out) {
  out.mutable_usage_reset()->set_association(e.association.value);
  out.mutable_usage_reset()->set_at(e.at.value);
}

void put_event(const AccountUserChanged& e, log::Event& out) {
  put(e.user, *out.mutable_account_user_changed()->mutable_user());
  out.mutable_account_user_changed()->set_at(e.at.value);
}

void put_event(const TransactionNoted& e, log::Event& out) {
  put(e.transaction, *out.mutable_transaction_noted()->mutable_transaction());
  out.mutable_transaction_noted()->set_at(e.at.value);
}

void put_event(const RecordAnnotated& e, log::Event& out) {
  auto* to = out.mutable_record_annotated();
  to->set_key(e.key.value);
  to->set_at(e.at.value);
  if (e.comment) to->set_comment(*e.comment);
  if (e.admin_comment) to->set_admin_comment(*e.admin_comment);
  if (e.system_comment) to->set_system_comment(*e.system_comment);
  if (e.extra) to->set_extra(*e.extra);
  if (e.wckey) to->set_wckey(*e.wckey);
  if (e.derived_exit) to->set_derived_exit(*e.derived_exit);
}

Event get_event(const log::RecordAnnotated& from) {
  RecordAnnotated e{.key = JobKey{from.key()},
                    .comment = {},
                    .admin_comment = {},
                    .system_comment = {},
                    .extra = {},
                    .wckey = {},
                    .derived_exit = {},
                    .at = Time{from.at()}};
  if (from.has_comment()) e.comment = from.comment();
  if (from.has_admin_comment()) e.admin_comment = from.admin_comment();
  if (from.has_system_comment()) e.system_comment = from.system_comment();
  if (from.has_extra()) e.extra = from.extra();
  if (from.has_wckey()) e.wckey = from.wckey();
  if (from.has_derived_exit()) e.derived_exit = from.derived_exit();
  return e;
}

Event get_event(const log::ClusterConfigured& from) {
  ClusterConfigured e;
  e.keep = static_cast<KeepPartitions>(from.keep());
  for (const auto& node : from.nodes()) e.nodes.push_back(get(node));
  for (const auto& partition : from.partitions()) e.partitions.push_back(get(partition));
  e.policy = get(from.policy());
  e.at = Time{from.at()};
  e.topology = get(from.topology());
  return e;
}

JobSubmitted get_event(const log::JobSubmitted& from) {
  JobSubmitted e;
  e.key = JobKey{from.key()};
  e.id = JobId{from.id()};
  e.spec = get(from.spec());
  e.spec.owner = SharedValue(get(from.spec().owner()));
  if (from.has_dependencies()) e.dependencies = get(from.dependencies());
  if (from.has_array()) e.array = get(from.array());
  e.priority = from.priority();
  e.time_limit_minutes = from.time_limit_minutes();
  e.expected_seconds = from.expected_seconds();
  e.hold = static_cast<Hold>(from.hold());
  e.begin_at = Time{from.begin_at()};
  e.at = Time{from.at()};
  e.priority_fixed = from.priority_fixed();
  e.qos = QosId{from.qos()};
  return e;
}

Event get_event(const log::JobModified& from) {
  JobModified e;
  e.key = JobKey{from.key()};
  e.at = Time{from.at()};
  if (from.has_time_limit_minutes()) e.time_limit_minutes = from.time_limit_minutes();
  if (from.has_priority()) e.priority = from.priority();
  if (from.has_min_nodes()) e.min_nodes = from.min_nodes();
  if (from.has_max_nodes()) e.max_nodes = from.max_nodes();
  if (from.has_tasks()) e.tasks = from.tasks();
  if (from.has_cpus_per_task()) e.cpus_per_task = from.cpus_per_task();
  if (from.has_array_throttle()) e.array_throttle = from.array_throttle();
  if (from.has_nice()) e.nice = from.nice();
  if (from.has_name()) e.name = from.name();
  if (from.has_comment()) e.comment = from.comment();
  if (from.has_account()) e.account = from.account();
  if (from.has_std_out()) e.std_out = from.std_out();
  if (from.has_std_err()) e.std_err = from.std_err();
  if (from.has_work_dir()) e.work_dir = from.work_dir();
  if (from.has_partition()) e.partition = PartitionIndex{from.partition()};
  if (from.has_begin_at()) e.begin_at = Time{from.begin_at()};
  if (from.has_memory_per_node()) e.memory_per_node = Mebibytes{from.memory_per_node()};
  if (from.has_memory_per_cpu()) e.memory_per_cpu = Mebibytes{from.memory_per_cpu()};
  if (from.has_dependencies()) e.dependencies = get(from.dependencies());
  const auto list = [](const log::NodeList& nodes) {
    return std::vector<std::uint32_t>(nodes.nodes().begin(), nodes.nodes().end());
  };
  if (from.has_required_nodes()) e.required_nodes = list(from.required_nodes());
  if (from.has_excluded_nodes()) e.excluded_nodes = list(from.excluded_nodes());
  if (from.has_requeue()) e.requeue = from.requeue();
  if (from.has_resources()) e.resources = get(from.resources());
  if (from.has_extras()) e.extras = get(from.extras());
  if (from.has_std_in()) e.std_in = from.std_in();
  if (from.has_tasks_per_node()) e.tasks_per_node = from.tasks_per_node();
  if (from.has_min_cpus_per_node()) e.min_cpus_per_node = from.min_cpus_per_node();
  if (from.has_exclusive()) e.exclusive = from.exclusive();
  if (from.has_oversubscribe()) e.oversubscribe = from.oversubscribe();
  if (from.has_priority_fixed()) e.priority_fixed = from.priority_fixed();
  if (from.has_qos()) e.qos = QosId{from.qos()};
  return e;
}

JobPlaced get_event(const log::JobPlaced& from) {
  JobPlaced e{JobKey{from.key()},
              Attempt{from.attempt()},
              {},
              from.by_backfill(),
              Time{from.at()},
              {},
              get_licences(from.licences()),
              from.priority()};
  for (const auto& share : from.shares()) e.shares.push_back(get(share));
  if (from.has_partition()) e.partition = PartitionIndex{from.partition()};
  if (from.has_waited()) e.waited = get(from.waited());
  if (from.has_limit_minutes()) e.limit_minutes = from.limit_minutes();
  e.shared = from.shared();
  e.on_all_nodes = from.on_all_nodes();
  e.prolog = from.prolog();
  e.supervised = from.supervised();
  return e;
}

Event get_event(const log::StepsReported& from) {
  StepsReported e{
      .key = JobKey{from.key()}, .attempt = Attempt{from.attempt()}, .started = {}, .ended = {}, .at = Time{from.at()}};
  for (const auto& start : from.started()) e.started.push_back(get(start));
  for (const auto& end : from.ended()) e.ended.push_back(get(end));
  for (const auto& change : from.changed()) e.changed.push_back({change.id(), change.time_limit_minutes()});
  return e;
}

template <class End>
End get_end(const auto& from) {
  End e{JobKey{from.key()}, Attempt{from.attempt()}, NodeIndex{from.node()}, static_cast<AttemptEnd>(from.end()),
        from.exit_code(),   from.exit_signal(),      Time{from.at()}};
  if constexpr (requires { e.usage; }) e.usage = get(from.usage());
  e.words = from.words();
  return e;
}

template <class Whole>
Result<Event> get_components(const auto& from) {
  if (from.components_size() < 2) return fail(Errc::corrupt, "a heterogeneous job without components");
  Whole e;
  for (const auto& component : from.components()) e.components.push_back(get_event(component));
  e.at = Time{from.at()};
  return e;
}

}  // namespace

std::string encode_event(const Event& event) {
  log::Event out;
  std::visit([&](const auto& e) { put_event(e, out); }, event);
  return out.SerializeAsString();
}

Result<Event> decode_event(std::string_view bytes) {
  log::Event in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return fail(Errc::corrupt, "not an event");
  using K = log::Event::KindCase;
  switch (in.kind_case()) {
    case K::kControllerStarted:
      return ControllerStarted{Epoch{in.controller_started().epoch()}, Time{in.controller_started().at()}};
    case K::kClusterConfigured:
      return get_event(in.cluster_configured());
    case K::kJobSubmitted:
      return get_event(in.job_submitted());
    case K::kJobHoldChanged: {
      const auto& e = in.job_hold_changed();
      return JobHoldChanged{JobKey{e.key()}, static_cast<Hold>(e.hold()), e.priority(), Time{e.at()}};
    }
    case K::kJobModified:
      return get_event(in.job_modified());
    case K::kJobBecameEligible:
      return JobBecameEligible{JobKey{in.job_became_eligible().key()}, Time{in.job_became_eligible().at()}};
    case K::kArrayTaskSplit: {
      const auto& e = in.array_task_split();
      return ArrayTaskSplit{JobKey{e.array()}, e.task(), JobKey{e.key()}, JobId{e.id()}, Time{e.at()}};
    }
    case K::kJobPlaced:
      return get_event(in.job_placed());
    case K::kAttemptEnded:
      return get_end<AttemptEnded>(in.attempt_ended());
    case K::kAttemptExited:
      return get_end<AttemptExited>(in.attempt_exited());
    case K::kJobPortsHeld: {
      const auto& e = in.job_ports_held();
      return JobPortsHeld{JobKey{e.key()}, Attempt{e.attempt()}, e.ports(), Time{e.at()}};
    }
    case K::kJobShrunk: {
      const auto& e = in.job_shrunk();
      return JobShrunk{JobKey{e.key()}, Attempt{e.attempt()}, get_ids<NodeIndex>(e.nodes()), Time{e.at()}};
    }
    case K::kJobLostNode: {
      const auto& e = in.job_lost_node();
      return JobLostNode{JobKey{e.key()}, Attempt{e.attempt()}, NodeIndex{e.node()}, Time{e.at()}};
    }
    case K::kJobProgramEnded: {
      const auto& e = in.job_program_ended();
      return JobProgramEnded{JobKey{e.key()}, Attempt{e.attempt()}, static_cast<JobProgram>(e.program()), e.failed(),
                             Time{e.at()}};
    }
    case K::kNodeModified: {
      const auto& e = in.node_modified();
      NodeModified out{NodeIndex{e.node()}, {}, {}, {}, {}, Time{e.at()}};
      if (e.has_weight()) out.weight = e.weight();
      if (e.has_features()) out.features = e.features();
      if (e.has_comment()) out.comment = e.comment();
      if (e.has_extra()) out.extra = e.extra();
      if (e.has_address()) out.address = e.address();
      if (e.has_host_name()) out.host_name = e.host_name();
      if (e.has_active_features()) out.active_features = e.active_features();
      if (e.has_instance_id()) out.instance_id = e.instance_id();
      if (e.has_instance_type()) out.instance_type = e.instance_type();
      if (e.has_resume_at()) out.resume_at = Time{e.resume_at()};
      return out;
    }
    case K::kNodesPowered: {
      const auto& e = in.nodes_powered();
      return NodesPowered{static_cast<PowerChange>(e.change()), get_ids<NodeIndex>(e.nodes()), Time{e.due()},
                          UserId{e.by()}, Time{e.at()}};
    }
    case K::kNodeCreated:
      return NodeCreated{get(in.node_created().def()), UserId{in.node_created().by()}, Time{in.node_created().at()}};
    case K::kNodeDeleted:
      return NodeDeleted{NodeIndex{in.node_deleted().node()}, UserId{in.node_deleted().by()},
                         Time{in.node_deleted().at()}};
    case K::kJobCancelled:
      return JobCancelled{JobKey{in.job_cancelled().key()}, UserId{in.job_cancelled().by()},
                          Time{in.job_cancelled().at()}};
    case K::kJobTimedOut:
      return JobTimedOut{JobKey{in.job_timed_out().key()}, Time{in.job_timed_out().at()},
                         in.job_timed_out().inactive()};
    case K::kJobRequeued: {
      const auto& e = in.job_requeued();
      return JobRequeued{JobKey{e.key()}, e.hold(), UserId{e.by()}, Time{e.at()}, Time{e.begin_at()}, e.special_exit()};
    }
    case K::kNodeRegistered:
      return get(in.node_registered());
    case K::kDevicesJudged:
      return get(in.devices_judged());
    case K::kNodeClockJudged:
      return get(in.node_clock_judged());
    case K::kClockStepped:
      return get(in.clock_stepped());
    case K::kNodeLost:
      return NodeLost{NodeIndex{in.node_lost().node()}, Time{in.node_lost().at()}};
    case K::kNodeStateChanged: {
      const auto& e = in.node_state_changed();
      return NodeStateChanged{
          NodeIndex{e.node()}, static_cast<NodeOrder>(e.order()),          e.reason(),   UserId{e.by()},
          Time{e.at()},        static_cast<AfterReboot>(e.after_reboot()), Time{e.due()}};
    }
    case K::kPartitionStateChanged: {
      const auto& e = in.partition_state_changed();
      return PartitionStateChanged{PartitionIndex{e.partition()}, static_cast<Availability>(e.availability()),
                                   Time{e.at()}};
    }
    case K::kPartitionChanged: {
      const auto& e = in.partition_changed();
      return PartitionChanged{get(e.def()), UserId{e.by()}, Time{e.at()}};
    }
    case K::kPartitionDeleted: {
      const auto& e = in.partition_deleted();
      return PartitionDeleted{PartitionIndex{e.partition()}, UserId{e.by()}, Time{e.at()}};
    }
    case K::kDampingChanged:
      return DampingChanged{in.damping_changed().factor(), Time{in.damping_changed().at()}};
    case K::kJobDeadlinePassed:
      return JobDeadlinePassed{JobKey{in.job_deadline_passed().key()}, Time{in.job_deadline_passed().at()}};
    case K::kJobForgotten:
      return JobForgotten{JobKey{in.job_forgotten().key()}, Time{in.job_forgotten().at()}};
    case K::kJobPreempted: {
      const auto& e = in.job_preempted();
      return JobPreempted{JobKey{e.key()}, JobKey{e.by()}, e.requeue(), Time{e.due()}, Time{e.at()}};
    }
    case K::kReservationSet:
      return ReservationSet{get(in.reservation_set().reservation()), Time{in.reservation_set().at()}};
    case K::kReservationRemoved:
      return ReservationRemoved{ReservationId{in.reservation_removed().id()}, Time{in.reservation_removed().at()}};
    case K::kAssociationChanged:
      return AssociationChanged{get(in.association_changed().association()), Time{in.association_changed().at()}};
    case K::kAssociationRemoved:
      return AssociationRemoved{AssociationId{in.association_removed().association()},
                                Time{in.association_removed().at()}};
    case K::kQosChanged:
      return QosChanged{get(in.qos_changed().qos()), Time{in.qos_changed().at()}};
    case K::kQosRemoved:
      return QosRemoved{QosId{in.qos_removed().qos()}, Time{in.qos_removed().at()}};
    case K::kCrontabSet: {
      const auto& e = in.crontab_set();
      CrontabSet to{UserId{e.crontab().uid()}, get(e.crontab()), Time{e.at()}, UserId{e.by()}};
      for (const auto& job : e.submitted()) to.submitted.push_back(get_event(job));
      return to;
    }
    case K::kTriggerSet:
      return TriggerSet{get(in.trigger_set().trigger()), Time{in.trigger_set().at()}};
    case K::kTriggerRemoved:
      return TriggerRemoved{TriggerId{in.trigger_removed().id()}, Time{in.trigger_removed().at()}};
    case K::kUsageReset:
      return UsageReset{AssociationId{in.usage_reset().association()}, Time{in.usage_reset().at()}};
    case K::kAccountUserChanged:
      return AccountUserChanged{get(in.account_user_changed().user()), Time{in.account_user_changed().at()}};
    case K::kTransactionNoted:
      return TransactionNoted{get(in.transaction_noted().transaction()), Time{in.transaction_noted().at()}};
    case K::kRecordAnnotated:
      return get_event(in.record_annotated());
    case K::kHetJobSubmitted:
      return get_components<HetJobSubmitted>(in.het_job_submitted());
    case K::kHetJobPlaced:
      return get_components<HetJobPlaced>(in.het_job_placed());
    case K::kStepsReported:
      return get_event(in.steps_reported());
    case K::kJobSuspended: {
      const auto& e = in.job_suspended();
      return JobSuspended{JobKey{e.key()}, static_cast<SuspendWhy>(e.why()), JobKey{e.by()}, UserId{e.actor()},
                          Time{e.at()}};
    }
    case K::kJobResumeWanted: {
      const auto& e = in.job_resume_wanted();
      return JobResumeWanted{JobKey{e.key()}, UserId{e.actor()}, Time{e.at()}};
    }
    case K::kJobResumed:
      return JobResumed{JobKey{in.job_resumed().key()}, Time{in.job_resumed().at()}};
    case K::kTimeSliceTurned: {
      const auto& e = in.time_slice_turned();
      return TimeSliceTurned{get_ids<JobKey>(e.suspended()), get_ids<JobKey>(e.resumed()), Time{e.at()}};
    }
    case K::kRecordsPutAside:
      return get(in.records_put_aside());
    case K::KIND_NOT_SET:
      break;
  }
  return fail(Errc::corrupt, "an event of a kind this release does not know");
}

}  // namespace millrace
