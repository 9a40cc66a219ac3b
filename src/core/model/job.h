// src/core/model/job.h - what has become of a job so far; what it asked for is job_spec.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/index_set.h"
#include "base/quantity.h"
#include "base/shared_value.h"
#include "core/model/account.h"
#include "core/model/job_spec.h"
#include "core/model/job_state.h"
#include "core/model/resources.h"
#include "core/model/step.h"

namespace millrace {

enum class DependencyKind : std::uint8_t { after, afterany, afterok, afternotok, singleton, aftercorr };
enum class DependencyState : std::uint8_t { unfulfilled, fulfilled, failed };

struct Dependency {
  DependencyKind kind{};
  JobKey target;                      // of a job, or of an array as a whole; unused for singleton
  JobId shown;                        // the number the user wrote
  std::optional<std::uint32_t> task;  // 12_3
  std::uint32_t delay_minutes = 0;    // after:12+5
  Time due_at;                        // when that delay is over, once the target has started
  DependencyState state{};
  bool operator==(const Dependency&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "target", self.target);
    visit(3, "shown", self.shown);
    visit(4, "task", self.task);
    visit(5, "delay_minutes", self.delay_minutes);
    visit(6, "due_at", self.due_at);
    visit(7, "state", self.state);
  }
};

struct Dependencies {
  bool any = false;  // '?': one fulfilled is enough
  std::vector<Dependency> list;
  bool operator==(const Dependencies&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "any", self.any);
    visit(2, "list", self.list);
  }
};

// Which CPUs and devices of a node exactly: bits by position (core/model/assign chooses them when a placement is
// accepted).
struct ShareDetail {
  std::vector<std::uint64_t> cpus;  // of all CPUs of the node: socket by socket, the threads of a core together
  std::array<std::uint64_t, gres_kinds_max>
      devices{};                                    // by the node's kinds; of a shard or mps: the gpu it is a part of
  std::array<std::int64_t, gres_kinds_max> gres{};  // how many of each kind
  bool operator==(const ShareDetail&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(6, "cpu_ids", field::bits(self.cpus));
    visit(7, "devices", field::by_slot(self.devices, self.gres));
  }
};

// One node's part of an allocation.
struct NodeShare {
  NodeIndex node;
  Cpus cpus;
  Mebibytes memory;
  std::uint32_t tasks = 0;
  bool released = false;              // nothing of the job is left there
  SharedValue<ShareDetail> detail{};  // null: CPUs and memory are all there is to say
  bool exited = false;                // no process of the job is left there, and the node is being tidied up
  bool lost = false;      // the job goes on without it: the node failed, and what it had there is released too
  bool given_up = false;  // lost too, because somebody said so: released when nothing of the job is left there
  bool operator==(const NodeShare& other) const {
    return node == other.node && cpus == other.cpus && memory == other.memory && tasks == other.tasks &&
           released == other.released && exited == other.exited && lost == other.lost && given_up == other.given_up &&
           (detail.get() == other.detail.get() || (detail && other.detail && *detail == *other.detail));
  }
  Amounts amounts() const {
    return {cpus.value, memory.value, detail ? detail->gres : std::array<std::int64_t, gres_kinds_max>{}};
  }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "cpus", self.cpus);
    visit(3, "memory", self.memory);
    visit(4, "tasks", self.tasks);
    visit(5, "released", self.released);
    visit(0, "", field::inlined(self.detail));
    visit(640, "exited", self.exited);
    visit(950, "lost", self.lost);
    visit(1100, "given_up", self.given_up);
  }
};

struct Placement {
  std::vector<NodeShare> shares;
  bool by_backfill = false;
  std::vector<LicenceAsk> licences;  // what it holds of each
  bool shared = false;               // others of its partition may be on its CPUs (OverSubscribe)
  bool on_all_nodes = false;  // a batch job too is launched on each of its nodes, and each says when it is done with it
  bool supervised = false;    // of a further component: supervisors keep its steps, and it ends when they have
  bool stops_alone = false;   // of a further component: what became of it is its own, not its leader's
  std::string ports{};        // "12000-12003": reserved for its steps on each of its nodes
  Time resized_at{};          // when it last gave up nodes
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(5, "shares", self.shares);
    visit(6, "by_backfill", self.by_backfill);
    visit(100, "licences", self.licences);
    visit(451, "shared", self.shared);
    visit(640, "on_all_nodes", self.on_all_nodes);
    visit(760, "supervised", self.supervised);
    visit(761, "stops_alone", self.stops_alone);
    visit(1020, "ports", self.ports);
    visit(1100, "resized_at", self.resized_at);
  }
};

// What the controller has to run for a job before it goes on: PrologSlurmctld before its launch, EpilogSlurmctld before
// its end.
enum class JobProgram : std::uint8_t { none, prolog, epilog };

// Why a job that went back to the queue is held there.
enum class HeldWhy : std::uint8_t { asked, special_exit, too_often };

constexpr std::uint16_t over_time_for_ever = 0xffff;

enum class SuspendWhy : std::uint8_t { administrator, preempted, time_slice };

// Of a job that was suspended in this attempt, also when it runs again.
struct Suspension {
  Time changed_at;      // when it was last suspended or resumed
  Duration ran_before;  // how long it had run until then
  SuspendWhy why{};
  JobKey by;                // preempted: for whom
  bool wants_cpus = false;  // it goes on as soon as all its CPUs are free; otherwise when someone says so
  bool cpus_free = false;   // its CPUs are there for others; also of one that was ended while suspended
  bool operator==(const Suspension&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "changed_at", self.changed_at);
    visit(2, "ran_before", self.ran_before);
    visit(3, "why", self.why);
    visit(4, "by", self.by);
    visit(5, "wants_cpus", self.wants_cpus);
    visit(6, "cpus_free", self.cpus_free);
  }
};

// Why it waited, from when on; the last holds until the start.
struct WaitSpan {
  Reason reason{};
  Time from;
  bool operator==(const WaitSpan&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "reason", self.reason);
    visit(2, "from", self.from);
  }
};
struct WaitHistory {
  std::vector<WaitSpan> spans;
  Time planned_at, planned_start;  // the first time a plan had a start for it, and which
  bool operator==(const WaitHistory&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "spans", self.spans);
    visit(2, "planned_at", self.planned_at);
    visit(3, "planned_start", self.planned_start);
  }
};

struct ArraySpec {
  IndexSet tasks;
  std::uint32_t throttle = 0;  // 0: none
  bool operator==(const ArraySpec&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "throttle", self.throttle);
  }
};

// Why its last start failed.
struct LaunchTrouble {
  std::string words;
  NodeIndex node;
  std::uint32_t tries = 0;  // so many in a row failed for reasons of nodes
  bool operator==(const LaunchTrouble&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "words", self.words);
    visit(2, "node", self.node);
    visit(3, "tries", self.tries);
  }
};

// A component of a heterogeneous job: several requests that wait, start and end together. Keys and numbers of the
// components are consecutive; the first one leads: it has the script, and its place in the queue is that of the whole.
struct HetRole {
  JobKey leader;
  std::uint32_t offset = 0, size = 0;
  bool operator==(const HetRole&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(400, "het_leader", self.leader);
    visit(401, "het_offset", self.offset);
    visit(402, "het_size", self.size);
  }
};

struct Job {
  JobKey key;
  JobId id;
  SharedValue<JobSpec> spec;
  SharedValue<Placement> placement;        // while running or completing, and of the last attempt once ended
  SharedValue<Dependencies> dependencies;  // null: none
  SharedValue<WaitHistory> waited;         // once it started; null: it did not wait
  SharedValue<HetRole> het;                // null: a job of its own
  SharedValue<Suspension> suspension;      // null: it never was
  SharedValue<LaunchTrouble> trouble;      // null: its last start went well, or it never started
  SharedValue<StepUsage> used;  // by its own processes in its latest attempt, as far as nodes have told; null: nothing
  JobKey array;                 // the array this belongs to; 0: none
  std::optional<std::uint32_t> array_task;  // a task split off; the rest stays one record
  Time submitted_at, begin_at, eligible_at, started_at;
  Time stopped_at;  // when it was completing: what it had may take a while to be tidied up. Not set in logs of old
  Time ended_at;    // when nothing of it held anything any more
  std::uint32_t priority = 0;
  std::uint32_t time_limit_minutes = unlimited;
  std::uint32_t expected_seconds = 0;  // what it is thought to run; 0: nothing better than its limit is known
  QosId qos;
  AssociationId association;  // of its account, user and partition, as far as there is one; follows from the others
  Attempt attempt;
  std::uint32_t exit_code = 0, exit_signal = 0;
  UserId cancelled_by;
  Time preempt_due;              // it has to make room, and is let run until then
  bool preempt_requeue = false;  // ... and goes back to the queue
  std::optional<NodeIndex> failed_node;
  JobState state{};
  Outcome outcome{};
  Hold hold{};
  Reason end_reason{};
  bool requeue_wanted = false;  // back to the queue when the attempt is gone
  bool requeue_held = false;
  bool launch_failed = false;           // ... because its prolog failed
  HeldWhy held_why{};                   // ... when it is for another reason than that somebody said so
  std::uint8_t requeues = 0;            // how often it went back to the queue without anybody having asked for it
  std::uint16_t over_time_minutes = 0;  // it may run so long beyond its limit; over_time_for_ever
  JobProgram program{};                 // not done yet
  bool boots = false;  // it has its nodes, and some of them (or of its components) are not powered up yet
  bool dependency_never = false;
  bool priority_fixed = false;  // an administrator's; it does not change with age or usage

  bool is_array_rest() const { return array.value != 0 && !array_task; }
  bool is_het_leader() const { return het && het->offset == 0; }
  bool is_component() const { return het && het->offset > 0; }  // and not the leader
  bool is_on_nodes() const {
    return state == JobState::running || state == JobState::suspended || state == JobState::completing;
  }
  bool holds_cpus() const { return !suspension || !suspension->cpus_free; }
  bool wants_cpus_back() const { return state == JobState::suspended && suspension->wants_cpus; }
  // When it would have started, had it never been suspended. Not of a suspended one: that moves on with time.
  Time ran_from() const { return suspension ? suspension->changed_at - suspension->ran_before : started_at; }
  // When it was over for its user, whatever its nodes had to do afterwards.
  Time over_at() const { return stopped_at.is_set() ? stopped_at : ended_at; }
  Duration ran_until(Time now) const {
    return state == JobState::suspended ? suspension->ran_before : (over_at().is_set() ? over_at() : now) - ran_from();
  }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "id", self.id);
    visit(0, "spec", self.spec);
    visit(0, "", field::inlined(self.placement));
    visit(7, "dependencies", self.dependencies);
    visit(310, "waited", self.waited);
    visit(0, "", field::inlined(self.het));
    visit(450, "suspension", self.suspension);
    visit(1310, "trouble", self.trouble);
    visit(800, "used", self.used);
    visit(8, "array", self.array);
    visit(9, "array_task", self.array_task);
    visit(10, "submitted_at", self.submitted_at);
    visit(11, "begin_at", self.begin_at);
    visit(12, "eligible_at", self.eligible_at);
    visit(13, "started_at", self.started_at);
    visit(1320, "stopped_at", self.stopped_at);
    visit(14, "ended_at", self.ended_at);
    visit(15, "priority", self.priority);
    visit(16, "time_limit_minutes", self.time_limit_minutes);
    visit(29, "expected_seconds", self.expected_seconds);
    visit(201, "qos", self.qos);
    visit(0, "association", self.association);
    visit(17, "attempt", self.attempt);
    visit(18, "exit_code", self.exit_code);
    visit(19, "exit_signal", self.exit_signal);
    visit(20, "cancelled_by", self.cancelled_by);
    visit(30, "preempt_due", self.preempt_due);
    visit(31, "preempt_requeue", self.preempt_requeue);
    visit(21, "failed_node", self.failed_node);
    visit(22, "state", self.state);
    visit(23, "outcome", self.outcome);
    visit(24, "hold", self.hold);
    visit(25, "end_reason", self.end_reason);
    visit(26, "requeue_wanted", self.requeue_wanted);
    visit(27, "requeue_held", self.requeue_held);
    visit(642, "launch_failed", self.launch_failed);
    visit(912, "held_why", self.held_why);
    visit(911, "requeues", self.requeues);
    visit(910, "over_time_minutes", self.over_time_minutes);
    visit(641, "program", self.program);
    visit(700, "boots", self.boots);
    visit(28, "dependency_never", self.dependency_never);
    visit(200, "priority_fixed", self.priority_fixed);
  }
};

}  // namespace millrace
