// src/wire/state_codec.cpp - snapshots: the records of a state as bytes; indexes are made again when it is read.
#include <map>

#include "core/ledger/apply_node.h"
#include "core/ledger/invariants.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/licences.h"
#include "core/ledger/rebuild.h"
#include "core/ledger/references.h"
#include "core/model/node_use.h"
#include "wire/event_codec.h"
#include "wire/log_types.h"

namespace millrace {
namespace {

void put_job(const Job& job, std::uint32_t spec, log::Job& to) {
  to.set_key(job.key.value);
  to.set_id(job.id.value);
  to.set_spec(spec);
  if (job.placement) {
    for (const auto& share : job.placement->shares) put(share, *to.add_shares());
    to.set_by_backfill(job.placement->by_backfill);
    put_licences(job.placement->licences, to.mutable_licences());
    to.set_shared(job.placement->shared);
    to.set_on_all_nodes(job.placement->on_all_nodes);
    to.set_supervised(job.placement->supervised);
    to.set_stops_alone(job.placement->stops_alone);
    to.set_ports(job.placement->ports);
    to.set_resized_at(job.placement->resized_at.value);
  }
  if (job.dependencies) put(*job.dependencies, *to.mutable_dependencies());
  to.set_array(job.array.value);
  if (job.array_task) to.set_array_task(*job.array_task);
  to.set_submitted_at(job.submitted_at.value);
  to.set_begin_at(job.begin_at.value);
  to.set_eligible_at(job.eligible_at.value);
  to.set_started_at(job.started_at.value);
  to.set_ended_at(job.ended_at.value);
  to.set_priority(job.priority);
  to.set_time_limit_minutes(job.time_limit_minutes);
  to.set_expected_seconds(job.expected_seconds);
  to.set_preempt_due(job.preempt_due.value);
  if (job.waited) put(*job.waited, *to.mutable_waited());
  if (job.suspension) {
    auto* suspension = to.mutable_suspension();
    suspension->set_changed_at(job.suspension->changed_at.value);
    suspension->set_ran_before(job.suspension->ran_before.value);
    suspension->set_why(static_cast<std::uint32_t>(job.suspension->why));
    suspension->set_by(job.suspension->by.value);
    suspension->set_wants_cpus(job.suspension->wants_cpus);
    suspension->set_cpus_free(job.suspension->cpus_free);
  }
  if (job.used) put(*job.used, *to.mutable_used());
  if (job.trouble) {
    to.mutable_trouble()->set_words(job.trouble->words);
    to.mutable_trouble()->set_node(job.trouble->node.value);
    to.mutable_trouble()->set_tries(job.trouble->tries);
  }
  to.set_preempt_requeue(job.preempt_requeue);
  to.set_attempt(job.attempt.value);
  to.set_exit_code(job.exit_code);
  to.set_exit_signal(job.exit_signal);
  to.set_cancelled_by(job.cancelled_by.value);
  if (job.failed_node) to.set_failed_node(job.failed_node->value);
  to.set_state(static_cast<std::uint32_t>(job.state));
  to.set_outcome(static_cast<std::uint32_t>(job.outcome));
  to.set_hold(static_cast<std::uint32_t>(job.hold));
  to.set_end_reason(static_cast<std::uint32_t>(job.end_reason));
  to.set_requeue_wanted(job.requeue_wanted);
  to.set_requeue_held(job.requeue_held);
  to.set_launch_failed(job.launch_failed);
  to.set_over_time_minutes(job.over_time_minutes);
  to.set_requeues(job.requeues);
  to.set_held_why(static_cast<std::uint32_t>(job.held_why));
  to.set_program(static_cast<std::uint32_t>(job.program));
  to.set_boots(job.boots);
  to.set_dependency_never(job.dependency_never);
  to.set_priority_fixed(job.priority_fixed);
  to.set_qos(job.qos.value);
  if (!job.het) return;
  to.set_het_leader(job.het->leader.value);
  to.set_het_offset(job.het->offset);
  to.set_het_size(job.het->size);
}

Job get_job(const log::Job& from) {
  Job job;
  job.key = JobKey{from.key()};
  job.id = JobId{from.id()};
  if (from.shares_size() > 0) {
    Placement placement;
    for (const auto& share : from.shares()) placement.shares.push_back(get(share));
    placement.by_backfill = from.by_backfill();
    placement.licences = get_licences(from.licences());
    placement.shared = from.shared();
    placement.on_all_nodes = from.on_all_nodes();
    placement.supervised = from.supervised();
    placement.stops_alone = from.stops_alone();
    placement.ports = from.ports();
    placement.resized_at = Time{from.resized_at()};
    job.placement = SharedValue(std::move(placement));
  }
  if (from.has_dependencies()) job.dependencies = SharedValue(get(from.dependencies()));
  job.array = JobKey{from.array()};
  if (from.has_array_task()) job.array_task = from.array_task();
  job.submitted_at = Time{from.submitted_at()};
  job.begin_at = Time{from.begin_at()};
  job.eligible_at = Time{from.eligible_at()};
  job.started_at = Time{from.started_at()};
  job.ended_at = Time{from.ended_at()};
  job.priority = from.priority();
  job.time_limit_minutes = from.time_limit_minutes();
  job.expected_seconds = from.expected_seconds();
  job.preempt_due = Time{from.preempt_due()};
  if (from.has_waited()) job.waited = SharedValue(get(from.waited()));
  if (from.has_suspension()) {
    const auto& suspension = from.suspension();
    job.suspension = SharedValue(Suspension{Time{suspension.changed_at()}, Duration{suspension.ran_before()},
                                            static_cast<SuspendWhy>(suspension.why()), JobKey{suspension.by()},
                                            suspension.wants_cpus(), suspension.cpus_free()});
  }
  if (from.has_used()) job.used = SharedValue(get(from.used()));
  if (from.has_trouble())
    job.trouble =
        SharedValue(LaunchTrouble{from.trouble().words(), NodeIndex{from.trouble().node()}, from.trouble().tries()});
  job.preempt_requeue = from.preempt_requeue();
  job.attempt = Attempt{from.attempt()};
  job.exit_code = from.exit_code();
  job.exit_signal = from.exit_signal();
  job.cancelled_by = UserId{from.cancelled_by()};
  if (from.has_failed_node()) job.failed_node = NodeIndex{from.failed_node()};
  job.state = static_cast<JobState>(from.state());
  job.outcome = static_cast<Outcome>(from.outcome());
  job.hold = static_cast<Hold>(from.hold());
  job.end_reason = static_cast<Reason>(from.end_reason());
  job.requeue_wanted = from.requeue_wanted();
  job.requeue_held = from.requeue_held();
  job.launch_failed = from.launch_failed();
  job.over_time_minutes = static_cast<std::uint16_t>(from.over_time_minutes());
  job.requeues = static_cast<std::uint8_t>(from.requeues());
  job.held_why = static_cast<HeldWhy>(from.held_why());
  job.program = static_cast<JobProgram>(from.program());
  job.boots = from.boots();
  job.dependency_never = from.dependency_never();
  job.priority_fixed = from.priority_fixed();
  job.qos = QosId{from.qos()};
  if (from.het_size() > 0)
    job.het = SharedValue(HetRole{JobKey{from.het_leader()}, from.het_offset(), from.het_size()});
  return job;
}

// Without the job itself.
void put_kept(KeptNumber number, const KeptJob& kept, log::KeptJob& to) {
  to.set_number(number.value);
  to.set_array(kept.array.value);
  put_ranges(kept.rest, to.mutable_rest());
  to.set_array_well(kept.array_well);
  to.set_requeued(kept.requeued);
  to.set_at(kept.at.value);
  for (const SharedValue<Step>& step : kept.steps) {
    auto* out = to.add_steps();
    put(step->start, *out->mutable_start());
    put(step->end, *out->mutable_end());
  }
}

KeptJob get_kept(const log::KeptJob& from, Job job) {
  KeptJob kept{.job = SharedValue(std::move(job)),
               .array = JobId{from.array()},
               .rest = get_ranges(from.rest()),
               .array_well = from.array_well(),
               .requeued = from.requeued(),
               .at = Time{from.at()}};
  for (const auto& known : from.steps()) {
    Step step{get(known.start()), get(known.end())};
    step.end.id = step.start.id;
    kept.steps.push_back(SharedValue(std::move(step)));
  }
  return kept;
}

void put_node(NodeIndex index, const Node& node, log::Node& to) {
  to.set_index(index.value);
  put(*node.def, *to.mutable_def());
  if (node.inventory) put(*node.inventory, *to.mutable_inventory());
  to.set_boot_id(node.boot_id);
  to.set_spool_id(node.spool_id);
  to.set_reason(node.reason);
  to.set_reason_by(node.reason_by.value);
  to.set_reason_at(node.reason_at.value);
  to.set_last_busy(node.last_busy.value);
  to.set_condition(static_cast<std::uint32_t>(node.condition));
  to.set_drain(node.drain);
  to.set_down_for_silence(node.down_for_silence);
  to.set_configured(node.configured);
  for (const DeviceTrouble& trouble : node.troubles) put(trouble, *to.add_troubles());
  to.set_fail(node.fail);
  to.set_reboot(static_cast<std::uint32_t>(node.reboot));
  to.set_after_reboot(static_cast<std::uint32_t>(node.after_reboot));
  to.set_drained_for_reboot(node.drained_for_reboot);
  to.set_reboot_due(node.reboot_due.value);
  to.set_comment(node.comment);
  to.set_extra(node.extra);
  to.set_instance_id(node.instance_id);
  to.set_instance_type(node.instance_type);
  to.set_resume_at(node.resume_at.value);
  to.set_future(node.future);
  for (const FailedLaunch& failed : node.failed_launches) {
    to.add_failed_launches()->set_uid(failed.user.value);
    to.mutable_failed_launches(to.failed_launches_size() - 1)->set_at(failed.at.value);
  }
  to.set_ran_well_at(node.ran_well_at.value);
  to.set_drained_for_clock(node.drained_for_clock);
  if (node.power == NodePower{}) return;
  log::NodePower& power = *to.mutable_power();
  power.set_state(static_cast<std::uint32_t>(node.power.state));
  power.set_due(node.power.due.value);
  power.set_told(node.power.told);
  power.set_down_wanted(node.power.down_wanted);
  power.set_closed(node.power.closed);
  power.set_up_wanted(node.power.up_wanted);
}

Node get_node(const log::Node& from) {
  Node node;
  node.def = SharedValue(get(from.def()));
  if (from.has_inventory()) node.inventory = SharedValue(get(from.inventory()));
  node.boot_id = from.boot_id();
  node.spool_id = from.spool_id();
  node.reason = from.reason();
  node.reason_by = UserId{from.reason_by()};
  node.reason_at = Time{from.reason_at()};
  node.last_busy = Time{from.last_busy()};
  node.condition = static_cast<NodeCondition>(from.condition());
  node.drain = from.drain();
  node.down_for_silence = from.down_for_silence();
  node.configured = from.configured();
  for (const auto& trouble : from.troubles()) node.troubles.push_back(get(trouble));
  node.fail = from.fail();
  node.reboot = static_cast<Reboot>(from.reboot());
  node.after_reboot = static_cast<AfterReboot>(from.after_reboot());
  node.drained_for_reboot = from.drained_for_reboot();
  node.reboot_due = Time{from.reboot_due()};
  node.comment = from.comment();
  node.extra = from.extra();
  node.instance_id = from.instance_id();
  node.instance_type = from.instance_type();
  node.resume_at = Time{from.resume_at()};
  node.future = from.future();
  for (const auto& failed : from.failed_launches())
    node.failed_launches.push_back({UserId{failed.uid()}, Time{failed.at()}});
  node.ran_well_at = Time{from.ran_well_at()};
  node.drained_for_clock = from.drained_for_clock();
  const auto& power = from.power();
  node.power = {.state = static_cast<Power>(power.state()),
                .due = Time{power.due()},
                .told = power.told(),
                .down_wanted = power.down_wanted(),
                .closed = power.closed(),
                .up_wanted = power.up_wanted()};
  return node;
}

void get_nodes(const log::State& from, State& state) {
  for (const auto& partition : from.partitions()) {
    Partition to{get(partition.def()), {}, partition.configured()};
    for (const auto index : partition.nodes()) to.nodes.push_back(NodeIndex{index});
    to.changed = partition.changed();
    if (partition.has_written()) to.written = get(partition.written());
    if (partition.has_afterwards()) to.afterwards = static_cast<Availability>(partition.afterwards());
    state.partitions.edit().push_back(std::move(to));
  }
  for (const auto& node : from.nodes()) state.nodes.set(NodeIndex{node.index()}, SharedValue(get_node(node)));
  for (const auto& array : from.arrays())
    state.arrays.set(
        JobKey{array.key()},
        SharedValue(ArrayState{JobId{array.id()}, get(array.spec()), get_ranges(array.rest()), array.running(),
                               array.ended(), array.ended_well(), array.started(), array.records()}));
}

// What a node has promised follows from the shares of the jobs on it; so do the licences in use.
}  // namespace

std::string encode_state(const State& state) {
  log::State out;
  out.set_version(state.version);
  out.set_epoch(state.epoch.value);
  out.set_next_key(state.next_key.value);
  out.set_last_id(state.last_id.value);
  put(*state.policy, *out.mutable_policy());
  if (!state.topology->empty()) put(state.topology->facts(), *out.mutable_topology());
  for (const Partition& partition : *state.partitions) {
    auto* to = out.add_partitions();
    put(partition.def, *to->mutable_def());
    for (const NodeIndex index : partition.nodes) to->add_nodes(index.value);
    to->set_configured(partition.configured);
    to->set_changed(partition.changed);
    if (partition.written) put(*partition.written, *to->mutable_written());
    if (partition.afterwards) to->set_afterwards(static_cast<std::uint32_t>(*partition.afterwards));
  }
  for (const auto& [index, node] : state.nodes) put_node(index, *node, *out.add_nodes());
  for (const auto& [key, array] : state.arrays) {
    auto* to = out.add_arrays();
    to->set_key(key.value);
    to->set_id(array->id.value);
    put(array->spec, *to->mutable_spec());
    put_ranges(array->rest, to->mutable_rest());
    to->set_running(array->running);
    to->set_ended(array->ended);
    to->set_ended_well(array->ended_well);
    to->set_started(array->started);
    to->set_records(array->records);
  }
  out.set_next_reservation(state.next_reservation.value);
  for (const auto& [id, reservation] : state.reservations) put(*reservation, *out.add_reservations());
  for (const PastReservation& past : *state.past_reservations) {
    auto* to = out.add_past_reservations();
    put(past.reservation, *to->mutable_reservation());
    to->set_ended_at(past.ended_at.value);
  }
  put_accounts(state, out);
  for (const auto& [uid, crontab] : state.crontabs) put(uid, *crontab, *out.add_crontabs());
  for (const auto& [id, trigger] : state.triggers) put(*trigger, *out.add_triggers());
  if (state.next_trigger.value > 1) out.set_next_trigger(state.next_trigger.value);
  out.set_slice_due(state.slice_due.value);
  for (const auto& [uid, history] : state.run_histories) {
    auto* to = out.add_run_histories();
    to->set_uid(uid.value);
    to->set_last(history.last);
    to->set_before(history.before);
  }
  // Serialized piece by piece: concatenated pieces are one message, and the whole tree never stands in memory beside
  // the state.
  std::string bytes = out.SerializeAsString();
  std::map<const Owner*, std::uint32_t> owners;          // by identity only; the order of output is that of first use
  std::map<const JobSpec*, std::uint32_t> shared_specs;  // of arrays; all others are written where they are met
  std::uint32_t specs = 0;
  log::State piece;
  const auto put_with_spec = [&](const Job& job, log::Job& to) {
    const auto [owner, new_owner] =
        owners.try_emplace(job.spec->owner.get(), static_cast<std::uint32_t>(owners.size()));
    if (new_owner) put(*job.spec->owner, *piece.add_owners());
    const auto known = job.array.value != 0 ? shared_specs.find(job.spec.get()) : shared_specs.end();
    const std::uint32_t spec = known != shared_specs.end() ? known->second : specs;
    if (known == shared_specs.end()) {
      put(*job.spec, *piece.add_specs());
      if (job.array.value != 0) shared_specs.emplace(job.spec.get(), specs);
      ++specs;
    }
    put_job(job, spec, to);
    to.set_owner(owner->second);
  };
  const auto write_piece = [&](int rows) {
    if (rows < 256) return;
    piece.AppendToString(&bytes);
    piece.Clear();
  };
  for (const auto& [key, job] : state.jobs) {
    put_with_spec(*job, *piece.add_jobs());
    write_piece(piece.jobs_size());
  }
  piece.set_next_kept(state.next_kept.value == 1 ? 0 : state.next_kept.value);
  for (const auto& [number, kept] : state.kept) {
    auto* to = piece.add_kept();
    put_kept(number, *kept, *to);
    put_with_spec(*kept->job, *to->mutable_job());
    write_piece(piece.kept_size());
  }
  piece.AppendToString(&bytes);
  append_steps(state, bytes);
  return bytes;
}

constexpr std::uint32_t node_index_end = 1u << 24;  // lists by node are as long as the highest number

Result<State> decode_state(std::string_view bytes) {
  log::State in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(Errc::corrupt, "not a snapshot of a state");
  State state;
  state.version = in.version();
  state.epoch = Epoch{in.epoch()};
  state.next_key = JobKey{in.next_key()};
  state.last_id = JobId{in.last_id()};
  state.policy = SharedValue(get(in.policy()));
  for (const auto& node : in.nodes())
    if (node.index() >= node_index_end) return fail(Errc::corrupt, "snapshot: a node of a number that is none");
  get_nodes(in, state);
  state.slice_due = Time{in.slice_due()};
  state.next_reservation = ReservationId{std::max(in.next_reservation(), 1u)};
  for (const auto& reservation : in.reservations())
    state.reservations.set(ReservationId{reservation.id()}, SharedValue(get(reservation)));
  for (const auto& past : in.past_reservations())
    state.past_reservations.edit().push_back({get(past.reservation()), Time{past.ended_at()}});
  for (const auto& from : in.crontabs()) state.crontabs.set(UserId{from.uid()}, SharedValue(get(from)));
  for (const auto& from : in.triggers()) state.triggers.set(TriggerId{from.id()}, SharedValue(get(from)));
  state.next_trigger = TriggerId{std::max(in.next_trigger(), 1u)};
  for (const auto& from : in.run_histories()) state.run_histories.set(UserId{from.uid()}, {from.last(), from.before()});
  if (in.has_topology()) {
    std::map<std::string, NodeIndex, std::less<>> names;
    for (const auto& [index, node] : state.nodes) names.emplace(node->def->name, index);
    state.topology = SharedValue(SwitchTree(get(in.topology()), names));
  }
  std::vector<SharedValue<Owner>> owners;
  for (const auto& owner : in.owners()) {
    owners.push_back(SharedValue(get(owner)));
    state.owners.set(owners.back()->uid, owners.back());
  }
  std::vector<SharedValue<JobSpec>> specs;
  for (const auto& spec : in.specs()) specs.push_back(SharedValue(get(spec)));
  std::vector<std::pair<JobKey, SharedValue<Job>>> jobs;
  jobs.reserve(static_cast<std::size_t>(in.jobs_size()));
  const auto get_with_spec = [&](const log::Job& from) -> Result<Job> {
    if (from.spec() >= specs.size() || from.owner() >= owners.size())
      return fail(Errc::corrupt, "snapshot: a job without its request");
    SharedValue<JobSpec>& spec = specs[from.spec()];
    if (!spec->owner) spec.edit().owner = owners[from.owner()];
    Job job = get_job(from);
    job.spec = spec;
    return job;
  };
  for (const auto& from : in.jobs()) {
    MR_TRY(Job job, get_with_spec(from));
    const JobKey key = job.key;
    if (!jobs.empty() && key <= jobs.back().first) return fail(Errc::corrupt, "snapshot: jobs out of order");
    jobs.emplace_back(key, SharedValue(std::move(job)));
  }
  state.jobs = SharedMap<JobKey, SharedValue<Job>>::from_sorted(std::move(jobs));
  state.next_kept = KeptNumber{std::max<std::uint64_t>(in.next_kept(), 1)};
  std::vector<std::pair<KeptNumber, SharedValue<KeptJob>>> kept;
  for (const auto& from : in.kept()) {
    MR_TRY(Job job, get_with_spec(from.job()));
    const KeptNumber number{from.number()};
    if (!kept.empty() && number <= kept.back().first) return fail(Errc::corrupt, "snapshot: kept runs out of order");
    kept.emplace_back(number, SharedValue(get_kept(from, std::move(job))));
    index_kept(state, number, *kept.back().second);
  }
  state.kept = SharedMap<KeptNumber, SharedValue<KeptJob>>::from_sorted(std::move(kept));
  get_accounts(in, state);
  if (const auto wrong = dangling_reference(state)) return fail(Errc::corrupt, "snapshot: " + *wrong);
  add_up_shares(state);
  MR_TRY_VOID(get_steps(in, state));
  rebuild_indexes(state);
  return state;
}

}  // namespace millrace
