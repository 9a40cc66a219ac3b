// src/core/model/job.h - what a job asks for, and what has become of it so far.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/index_set.h"
#include "base/quantity.h"
#include "base/shared_value.h"
#include "core/model/account.h"
#include "core/model/job_extras.h"
#include "core/model/job_state.h"
#include "core/model/resources.h"
#include "core/model/step.h"

namespace millrace {

using Digest = std::array<std::uint8_t, 16>;  // names a payload in the log; all zero: none

// Made by the client, unique per submission: the same key again means the same job. All zero: none given.
using SubmissionKey = std::array<std::uint8_t, 16>;

constexpr std::uint32_t unlimited = 0xffffffff;

struct ResourceLimit {
  std::string name;
  std::uint64_t soft = 0;
  bool operator==(const ResourceLimit&) const = default;
};

// Where srun waits for its tasks.
struct StdioEndpoint {
  std::string host;
  std::uint32_t port = 0;
  std::string secret;
  bool operator==(const StdioEndpoint&) const = default;
};

// srun --pty: of the terminal of task 0; no columns: none was asked for.
struct TerminalSize {
  std::uint32_t rows = 0, columns = 0;
  bool operator==(const TerminalSize&) const = default;
};

// What only a few jobs have; kept apart so that the many do not pay for it.
struct RareRequest {
  std::string comment, qos, std_in, std_err, export_env;
  std::vector<std::string> arguments;
  std::optional<StdioEndpoint> stdio;
  std::vector<std::uint32_t> required_nodes;  // NodeIndex values, in the order asked
  std::vector<std::uint32_t> excluded_nodes;
  std::string cpu_bind{}, mem_bind{}, gpu_bind{};  // as typed; a supervisor reads them
  std::string container{};                         // the folder of an OCI bundle
  bool oom_kill_step = false;                      // memory shortage in one task ends the step
  TerminalSize terminal;
  std::string step_options{};  // of srun, for supervisors: nobody else looks inside
  bool client_waits = false;   // srun or salloc: without it the job is of no use
  bool operator==(const RareRequest&) const = default;
};

// Who submitted and from where, as found at submission; equal ones are shared by apply.
struct Owner {
  UserId uid;
  GroupId gid;
  std::string user_name, group_name;
  std::vector<std::uint32_t> groups;
  std::string submit_host;
  std::vector<ResourceLimit> limits;  // the shell's; the same for most jobs of a user, so they are kept here
  bool operator==(const Owner&) const = default;
};

// As submitted and completed with defaults. Shared by all tasks of an array.
struct JobSpec {
  SharedValue<Owner> owner;
  SharedValue<RareRequest> rare;           // null: nothing of it was asked
  SharedValue<ResourceRequest> resources;  // null: only nodes, CPUs, memory and time
  SharedValue<JobExtras> extras{};         // null: nothing of it was asked
  std::string name, account, work_dir, std_out, command, submit_line;
  PartitionIndex partition;
  std::uint32_t submit_sid = 0;
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 0;  // 0: not limited by the job
  std::uint32_t tasks = 1;
  std::uint32_t tasks_per_node = 0;  // 0: as many as fit
  std::uint32_t cpus_per_task = 1;
  std::uint32_t min_cpus_per_node = 0;
  std::optional<Mebibytes> memory_per_node;  // 0: all of it
  std::optional<Mebibytes> memory_per_cpu;
  std::int32_t nice = 0;
  std::uint32_t umask = 022;
  std::uint8_t open_mode = 0;  // 0 as configured, 1 truncate, 2 append
  bool tasks_asked = false;
  bool nodes_asked = false;
  bool cpus_per_task_asked = false;
  bool exclusive = false;
  bool oversubscribe = false;
  bool requeue = true;
  bool interactive = false;  // srun: tasks on every node, stdio to rare->stdio
  bool label_output = false;
  bool allocation_only = false;  // salloc: nodes for steps, no script; otherwise like a batch job
  bool kill_on_invalid_dependency = false;
  Digest script{}, environment{};
  SubmissionKey submission{};

  bool is_batch() const { return !interactive; }
  const RareRequest& rare_request() const {
    static const RareRequest none;
    return rare ? *rare : none;
  }
  const ResourceRequest& resource_request() const {
    static const ResourceRequest none;
    return resources ? *resources : none;
  }
  const JobExtras& extra_request() const {
    static const JobExtras none;
    return extras ? *extras : none;
  }
  bool overcommits() const { return extras && extras->overcommit; }
};

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
};

struct Dependencies {
  bool any = false;  // '?': one fulfilled is enough
  std::vector<Dependency> list;
  bool operator==(const Dependencies&) const = default;
};

// Which CPUs and devices of a node exactly: bits by position (core/model/assign chooses them when a placement is
// accepted).
struct ShareDetail {
  std::vector<std::uint64_t> cpus;  // of all CPUs of the node: socket by socket, the threads of a core together
  std::array<std::uint64_t, gres_kinds_max>
      devices{};                                    // by the node's kinds; of a shard or mps: the gpu it is a part of
  std::array<std::int64_t, gres_kinds_max> gres{};  // how many of each kind
  bool operator==(const ShareDetail&) const = default;
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
};

// Why it waited, from when on; the last holds until the start.
struct WaitSpan {
  Reason reason{};
  Time from;
  bool operator==(const WaitSpan&) const = default;
};
struct WaitHistory {
  std::vector<WaitSpan> spans;
  Time planned_at, planned_start;  // the first time a plan had a start for it, and which
  bool operator==(const WaitHistory&) const = default;
};

struct ArraySpec {
  IndexSet tasks;
  std::uint32_t throttle = 0;  // 0: none
  bool operator==(const ArraySpec&) const = default;
};

// Why its last start failed.
struct LaunchTrouble {
  std::string words;
  NodeIndex node;
  std::uint32_t tries = 0;  // so many in a row failed for reasons of nodes
  bool operator==(const LaunchTrouble&) const = default;
};

// A component of a heterogeneous job: several requests that wait, start and end together. Keys and numbers of the
// components are consecutive; the first one leads: it has the script, and its place in the queue is that of the whole.
struct HetRole {
  JobKey leader;
  std::uint32_t offset = 0, size = 0;
  bool operator==(const HetRole&) const = default;
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
  Time submitted_at, begin_at, eligible_at, started_at, ended_at;
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
  Duration ran_until(Time now) const {
    return state == JobState::suspended ? suspension->ran_before : (ended_at.is_set() ? ended_at : now) - ran_from();
  }
};

}  // namespace millrace
