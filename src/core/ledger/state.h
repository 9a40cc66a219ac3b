// src/core/ledger/state.h - what is true now: the fold of all events. Copying it costs a few pointers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/shared_map.h"
#include "core/ledger/event.h"
#include "core/ledger/use.h"
#include "core/model/kept_job.h"
#include "core/model/run_history.h"

namespace millrace {

// Place in the queue: higher partition tier first, then higher priority, then older.
struct QueueKey {
  std::uint32_t tier_below_max = 0, priority_below_max = 0;
  JobKey key;
  auto operator<=>(const QueueKey&) const = default;
};

// What becomes due at a time: decided by admission/expire, never by a clock in here.
enum class DeadlineKind : std::uint8_t {
  begin,
  time_limit,
  forget,
  dependency_delay,
  invalid_dependency,
  reservation,
  preemption,
  latest_start,
  node_resume
};
constexpr Time at_once{1};  // a deadline that is due whatever the time

struct DeadlineKey {
  Time at;
  JobKey key;  // kind reservation: a ReservationId value; kind node_resume: a NodeIndex value
  DeadlineKind kind{};
  auto operator<=>(const DeadlineKey&) const = default;
};

struct TaskKey {
  JobKey array;
  std::uint32_t task = 0;
  auto operator<=>(const TaskKey&) const = default;
};

// Jobs of one name and user that have not ended, oldest first (for dependency=singleton).
struct NameKey {
  UserId uid;
  std::uint64_t name_bits = 0;
  JobKey key;
  auto operator<=>(const NameKey&) const = default;
};
std::uint64_t name_bits(std::string_view name);

// Who waits for a job or an array.
struct DependentKey {
  JobKey target, waiter;
  auto operator<=>(const DependentKey&) const = default;
};

struct SubmissionOf {
  UserId uid;
  SubmissionKey submission{};
  auto operator<=>(const SubmissionOf&) const = default;
};

// The whole of an array: its tasks, and how many came to what.
struct ArrayState {
  JobId id;
  ArraySpec spec;
  IndexSet rest;                                         // tasks without a record of their own
  std::uint32_t running = 0;                             // split off and now running or completing
  std::uint64_t ended = 0, ended_well = 0, started = 0;  // counted in tasks
  std::uint64_t records = 0;  // job records that belong to it; with the last one it is forgotten
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(2, "id", self.id);
    visit(3, "spec", self.spec);
    visit(4, "rest", self.rest);
    visit(5, "running", self.running);
    visit(6, "ended", self.ended);
    visit(7, "ended_well", self.ended_well);
    visit(8, "started", self.started);
    visit(9, "records", self.records);
  }
};

template <>
struct KeyBits<QueueKey> {
  static std::uint64_t of(const QueueKey& k) {
    return mix_bits(static_cast<std::uint64_t>(k.tier_below_max) << 32 | k.priority_below_max) ^ k.key.value;
  }
};
template <>
struct KeyBits<DeadlineKey> {
  static std::uint64_t of(const DeadlineKey& k) {
    return mix_bits(static_cast<std::uint64_t>(k.at.value)) ^
           mix_bits(k.key.value * 16 + static_cast<std::uint64_t>(k.kind));
  }
};
template <>
struct KeyBits<TaskKey> {
  static std::uint64_t of(const TaskKey& k) { return mix_bits(k.array.value) ^ k.task; }
};
template <>
struct KeyBits<StepKey> {
  static std::uint64_t of(const StepKey& k) {
    return mix_bits(k.job.value) ^ (static_cast<std::uint64_t>(k.attempt.value) << 32 | k.id);
  }
};
template <>
struct KeyBits<NameKey> {
  static std::uint64_t of(const NameKey& k) { return k.name_bits ^ mix_bits(k.key.value) ^ k.uid.value; }
};
template <>
struct KeyBits<DependentKey> {
  static std::uint64_t of(const DependentKey& k) { return mix_bits(k.target.value) ^ mix_bits(k.waiter.value + 1); }
};
template <>
struct KeyBits<SubmissionOf> {
  static std::uint64_t of(const SubmissionOf& k) {
    std::uint64_t bits = k.uid.value;
    for (const std::uint8_t byte : k.submission) bits = mix_bits(bits) + byte;
    return bits;
  }
};

struct AssociationName {
  std::string account, user, partition;
  auto operator<=>(const AssociationName&) const = default;
};
template <>
struct KeyBits<AssociationName> {
  static std::uint64_t of(const AssociationName& k) {
    return mix_bits(name_bits(k.account)) ^ mix_bits(name_bits(k.user) + 1) ^ name_bits(k.partition);
  }
};
template <>
struct KeyBits<UseKey> {
  static std::uint64_t of(const UseKey& k) {
    return mix_bits(static_cast<std::uint64_t>(k.id) << 8 | static_cast<std::uint64_t>(k.of)) ^ k.member;
  }
};

template <>
struct KeyBits<KeptName> {
  static std::uint64_t of(const KeptName& k) { return mix_bits(k.id.value) ^ k.number.value; }
};

struct Nothing {};

struct State {
  std::uint64_t version = 0;  // number of events applied
  Epoch epoch;
  JobKey next_key{1};
  JobId last_id{0};
  std::uint64_t unsplit_tasks =
      0;  // array tasks that wait without a record of their own, besides the one record of each rest

  SharedMap<JobKey, SharedValue<Job>> jobs;
  SharedMap<JobId, JobKey> by_id;
  SharedMap<QueueKey, Nothing> queue;  // pending, not held, dependencies met, begin time passed
  SharedMap<JobKey, Nothing> active;   // running, suspended or completing
  SharedMap<JobKey, Nothing> suspended;
  Time slice_due;  // when those that share CPUs take turns; not set: nobody waits for one
  SharedMap<DeadlineKey, Nothing> deadlines;
  SharedMap<JobKey, SharedValue<ArrayState>> arrays;
  SharedMap<TaskKey, JobKey> tasks;  // split-off tasks by array and number
  SharedMap<DependentKey, Nothing> dependents;
  SharedMap<NameKey, Nothing> live_names;
  SharedMap<JobKey, Nothing> singletons;  // jobs still waiting for their name to be free
  SharedMap<SubmissionOf, JobKey> submissions;
  SharedMap<UserId, SharedValue<Owner>> owners;  // the last seen of each, so that equal ones are stored once
  SharedMap<UserId, RunHistory> run_histories;   // where run times are to be predicted
  SharedMap<NodeIndex, SharedValue<Node>> nodes;
  SharedValue<std::vector<Partition>> partitions{std::vector<Partition>{}};
  SharedValue<Policy> policy{Policy{}};
  ReservationId next_reservation{1};
  SharedMap<ReservationId, SharedValue<Reservation>> reservations;
  SharedValue<std::vector<PastReservation>> past_reservations{
      std::vector<PastReservation>{}};  // the newest, in the order of their ends
  SharedValue<std::vector<LicenceAsk>> licences_used{
      std::vector<LicenceAsk>{}};  // by jobs that hold nodes; sorted by name
  // Beside the jobs, not in them: nothing that is planned or counted depends on a step, and a job with thousands of
  // them costs no more to change.
  SharedMap<StepKey, SharedValue<Step>> steps;  // of jobs that are known; of ended ones the newest
  SharedMap<StepKey, Nothing> running_steps;
  SharedMap<JobKey, StepTally> step_tallies;  // of jobs of which a step was ever told
  // For sacct alone (core/ledger/kept_jobs): none of it is planned, counted or found by its number anywhere else.
  KeptNumber next_kept{1};
  std::uint64_t kept_rows = 0;  // records and their steps
  SharedMap<KeptNumber, SharedValue<KeptJob>> kept;
  SharedMap<KeptName, Nothing> kept_names;
  SharedMap<UserId, SharedValue<Crontab>> crontabs;
  TriggerId next_trigger{1};
  SharedMap<TriggerId, SharedValue<Trigger>> triggers;
  SharedValue<SwitchTree> topology{SwitchTree{}};
  AssociationId next_association{1};
  QosId next_qos{1};
  SharedMap<AssociationId, SharedValue<Association>> associations;
  SharedMap<AssociationName, AssociationId> association_names;
  SharedMap<QosId, SharedValue<Qos>> qos;
  SharedMap<UseKey, SharedValue<Use>> uses;
  SharedValue<std::vector<AccountUser>> account_users{
      std::vector<AccountUser>{}};  // sorted by name; those of whom something is known
  TransactionId next_transaction{1};
  SharedMap<TransactionId, SharedValue<Transaction>> transactions;  // the newest
  std::uint64_t accounts_version =
      0;  // counts the events about them, so that a plan sees when shares and limits are others
  SharedValue<TresNames> tres_names{first_tres_names()};  // grows only: a slot keeps its meaning
  Time usage_reset_at;                                    // or since when it is counted

  // Numbers, tables and indexes. A table is stored under its number, with the key as the first field of each row unless
  // the row has it as its id.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "version", self.version);
    visit(2, "epoch", self.epoch);
    visit(3, "next_key", self.next_key);
    visit(4, "last_id", self.last_id);
    visit(5, "policy", self.policy);
    visit(6, "partitions", self.partitions);
    visit(7, "nodes", self.nodes);
    visit(8, "arrays", self.arrays);
    visit(300, "next_reservation", field::or_default(self.next_reservation, ReservationId{1}));
    visit(301, "reservations", self.reservations);
    visit(993, "past_reservations", self.past_reservations);
    visit(100, "topology", self.topology);
    visit(200, "next_association", field::or_default(self.next_association, AssociationId{1}));
    visit(201, "next_qos", field::or_default(self.next_qos, QosId{1}));
    visit(202, "associations", self.associations);
    visit(203, "qos", self.qos);
    visit(990, "account_users", self.account_users);
    visit(992, "next_transaction", field::or_default(self.next_transaction, TransactionId{1}));
    visit(991, "transactions", self.transactions);
    visit(204, "uses", self.uses);
    visit(205, "tres_names", self.tres_names);
    visit(206, "usage_reset_at", self.usage_reset_at);
    visit(880, "crontabs", self.crontabs);
    visit(882, "next_trigger", field::or_default(self.next_trigger, TriggerId{1}));
    visit(881, "triggers", self.triggers);
    visit(450, "slice_due", self.slice_due);
    visit(320, "run_histories", self.run_histories);
    visit(11, "jobs", self.jobs);
    visit(801, "next_kept", field::or_default(self.next_kept, KeptNumber{1}));
    visit(800, "kept", self.kept);
    visit(600, "step_tallies", self.step_tallies);  // with the steps
    visit(0, "steps", self.steps);
    visit(0, "running_steps", self.running_steps);
    visit(0, "unsplit_tasks", self.unsplit_tasks);
    visit(0, "by_id", self.by_id);
    visit(0, "queue", self.queue);
    visit(0, "active", self.active);
    visit(0, "suspended", self.suspended);
    visit(0, "deadlines", self.deadlines);
    visit(0, "tasks", self.tasks);
    visit(0, "dependents", self.dependents);
    visit(0, "live_names", self.live_names);
    visit(0, "singletons", self.singletons);
    visit(0, "submissions", self.submissions);
    visit(0, "licences_used", self.licences_used);
    visit(0, "kept_rows", self.kept_rows);
    visit(0, "kept_names", self.kept_names);
    visit(0, "association_names", self.association_names);
    visit(0, "owners", field::cache(self.owners));
    visit(0, "accounts_version", field::cache(self.accounts_version));
  }

  const Job* find_job(JobKey key) const {
    const auto* found = jobs.find(key);
    return found ? found->get() : nullptr;
  }
  const Job* find_job(JobId id) const {
    const auto* key = by_id.find(id);
    return key ? find_job(*key) : nullptr;
  }
  const Job& job(JobKey key) const { return *jobs.at(key); }
  const Node& node(NodeIndex index) const { return *nodes.at(index); }
  const ArrayState* find_array(JobKey array) const {
    const auto* found = arrays.find(array);
    return found ? found->get() : nullptr;
  }
  const Reservation* find_reservation(std::string_view name) const;
  std::optional<NodeIndex> find_node(std::string_view name) const;
  std::optional<PartitionIndex> find_partition(std::string_view name) const;
  const Partition& partition(PartitionIndex index) const { return partitions->at(index.value); }
  const Association* find_association(AssociationId id) const {
    const auto* found = associations.find(id);
    return found ? found->get() : nullptr;
  }
  const Association* find_association(const AssociationName& name) const {
    const auto* id = association_names.find(name);
    return id ? find_association(*id) : nullptr;
  }
  const Qos* find_qos(QosId id) const {
    const auto* found = qos.find(id);
    return found ? found->get() : nullptr;
  }
  const Qos* find_qos(std::string_view name) const;
  // Of one of whom nothing is known: null.
  const AccountUser* find_account_user(std::string_view name) const;

  Job& edit_job(JobKey key) {
    auto* found = jobs.edit(key);
    MR_ASSERT(found != nullptr);
    return found->edit();
  }
  Node& edit_node(NodeIndex index) {
    auto* found = nodes.edit(index);
    MR_ASSERT(found != nullptr);
    return found->edit();
  }
  ArrayState& edit_array(JobKey key) {
    auto* found = arrays.edit(key);
    MR_ASSERT(found != nullptr);
    return found->edit();
  }
};

// The node of each of these names, as find_node() gives it: the nodes are looked through once for all of them.
std::vector<std::optional<NodeIndex>> find_nodes(const State& state, std::span<const std::string> names);

// The components of the job it belongs to, the leader first; of any other job its own key alone.
std::vector<JobKey> whole_of(const Job& job);
JobKey leader_of(const Job& job);
// Ended, and so have all its components where it has some.
bool whole_has_ended(const State& state, const Job& job);
// When the record goes, of an ended job; components go together, with their leader.
Time forget_time(const State& state, const Job& job);

// The next number to give a job: wraps between FirstJobId and MaxJobId and skips numbers still known.
JobId next_job_id(const State& state, JobId after);
// The first of so many consecutive ones, where there are so many.
std::optional<JobId> next_job_ids(const State& state, JobId after, std::uint32_t count);

// After this a pending job can no longer end by its deadline; `never` without one.
Time latest_start(const Job& job);

// When a running job's time is over; `never` without a limit, while it is suspended, and while its nodes are powered
// up.
Time limit_end(const Job& job);
// When it is ended for that: later where it may run over its limit.
Time kill_time(const Job& job);
// How long jobs of the partition may run over their limits.
std::uint16_t over_time_of(const State& state, PartitionIndex partition);

// Where a pending job stands in the queue.
QueueKey queue_key(const State& state, const Job& job);
// Whether the planner may look at it: pending, not held, dependencies met, its begin time passed. Components stand in
// their leader's place.
bool is_queueable(const Job& job);

}  // namespace millrace
