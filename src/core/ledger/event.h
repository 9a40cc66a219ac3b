// src/core/ledger/event.h - what happened; the only thing we store. Everything needed to apply it is inside, the time
// too.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ledger/record_events.h"
#include "core/model/account.h"
#include "core/model/job.h"
#include "core/model/node.h"
#include "core/model/partition.h"
#include "core/model/reservation.h"
#include "core/model/standing.h"
#include "core/model/step.h"
#include "core/model/topology.h"

namespace millrace {

struct ControllerStarted {
  Epoch epoch;
  Time at;
};

struct ClusterConfigured {
  std::vector<NodeDef> nodes;
  std::vector<PartitionDef> partitions;
  Policy policy;
  Time at;
  Topology topology{};
  KeepPartitions keep{};
};

struct JobSubmitted {
  JobKey key;
  JobId id;
  JobSpec spec;
  Dependencies dependencies;
  std::optional<ArraySpec> array;
  std::uint32_t priority = 0;
  std::uint32_t time_limit_minutes = unlimited;
  std::uint32_t expected_seconds = 0;
  Hold hold{};
  Time begin_at;
  Time at;
  QosId qos;                    // 0: none
  bool priority_fixed = false;  // an administrator gave it; nothing is computed
};

// All components of a heterogeneous job, the leader first, with consecutive keys and numbers. One event, so that a log
// that ends in the middle of a write knows all of them or none.
struct HetJobSubmitted {
  std::vector<JobSubmitted> components;
  Time at;
};

// Held, or released with the priority it gets back.
struct JobHoldChanged {
  JobKey key;
  Hold hold{};
  std::uint32_t priority = 0;
  Time at;
};

// Only what is set changes.
struct JobModified {
  JobKey key;
  std::optional<std::uint32_t> time_limit_minutes, priority, min_nodes, max_nodes, tasks, cpus_per_task, array_throttle;
  std::optional<std::int32_t> nice;
  std::optional<std::string> name, comment, account, std_out, std_err, work_dir;
  std::optional<PartitionIndex> partition;
  std::optional<Time> begin_at;
  std::optional<Mebibytes> memory_per_node, memory_per_cpu;
  std::optional<Dependencies> dependencies;
  std::optional<std::vector<std::uint32_t>> required_nodes, excluded_nodes;
  std::optional<bool> requeue;
  std::optional<QosId> qos;
  std::optional<bool> priority_fixed;
  Time at;
  std::optional<ResourceRequest> resources{};  // the whole of it, as it is from now on
  std::optional<JobExtras> extras{};           // the same
  std::optional<std::string> std_in{};
  std::optional<std::uint32_t> tasks_per_node{}, min_cpus_per_node{};
  std::optional<bool> exclusive{}, oversubscribe{};
};

// Its begin time has come; from now on the planner sees it.
struct JobBecameEligible {
  JobKey key;
  Time at;
};

// One task of an array gets a record of its own; the last one keeps the array's.
struct ArrayTaskSplit {
  JobKey array;
  std::uint32_t task = 0;
  JobKey key;
  JobId id;
  Time at;
};

struct JobPlaced {
  JobKey key;
  Attempt attempt;
  std::vector<NodeShare> shares;
  bool by_backfill = false;
  Time at;
  std::optional<PartitionIndex> partition{};  // of several asked for, where it is not the first
  std::vector<LicenceAsk> licences{};         // what it takes of each
  std::uint32_t priority = 0;                 // as computed then; 0: what it had
  std::optional<WaitHistory> waited{};
  std::optional<std::uint32_t> limit_minutes{};  // shortened to what was free (--time-min)
  bool shared = false;                           // others of its partition may be on its CPUs
  bool on_all_nodes = false;                     // each of its nodes has something to run before and after it
  bool prolog = false;                           // it is launched when PrologSlurmctld is done
  bool supervised =
      false;  // a further component of a heterogeneous job that has supervisors of its own; those of old logs had none
};

// All components of a heterogeneous job start at one moment, the leader first.
struct HetJobPlaced {
  std::vector<JobPlaced> components;
  Time at;
};

enum class AttemptEnd : std::uint8_t {
  exited,
  launch_failed,
  supervisor_lost,
  node_lost,
  out_of_memory,
  prolog_failed = 64,
  node_unfit = 96,  // nothing could be launched, for a reason that is the node's alone
  not_begun         // nothing was launched, and nobody can say whose fault it is
};

// Nothing of this attempt is left on this node.
struct AttemptEnded {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  Time at;
  StepUsage usage{};    // of what ran there in the attempt's own name: the script, or srun's tasks
  std::string words{};  // why it could not be launched
};

// No process of this attempt is left on this node, which is not free before its epilog is done (AttemptEnded).
struct AttemptExited {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  Time at;
  std::string words{};  // why it could not be launched
};

// Its steps have these ports for themselves on each of its nodes, until the attempt is over. All it has, not only what
// is new.
struct JobPortsHeld {
  JobKey key;
  Attempt attempt;
  std::string ports;
  Time at;
};

// The node failed, and the job, which is to outlive that (--no-kill), goes on with the others.
struct JobLostNode {
  JobKey key;
  Attempt attempt;
  NodeIndex node;
  Time at;
};

// A running job does without these nodes from now on. What it has there is its own until they have said that nothing of
// it is left.
struct JobShrunk {
  JobKey key;
  Attempt attempt;
  std::vector<NodeIndex> nodes;
  Time at;
};

// PrologSlurmctld or EpilogSlurmctld of this attempt is done.
struct JobProgramEnded {
  JobKey key;
  Attempt attempt;
  JobProgram program{};
  bool failed = false;
  Time at;
};

struct JobCancelled {
  JobKey key;
  UserId by;
  Time at;
};

struct JobTimedOut {
  JobKey key;
  Time at;
  bool inactive = false;  // not its limit: nobody is there any more who asked for it
};

// Back to the queue: at once if it has ended, otherwise when its attempt is gone.
struct JobRequeued {
  JobKey key;
  bool hold = false;
  UserId by;
  Time at;
  Time begin_at{};            // of one that has ended, for those of scrontab; not set: when the requeue delay is over
  bool special_exit = false;  // held, and shown as that
};

struct NodeRegistered {
  NodeIndex node;
  std::string boot_id;
  Inventory inventory;
  std::string problem;  // words when what it has is less than what is configured: it is drained
  Time at;
  std::string spool_id{};  // another one: nothing of the attempts that were there is left
};

struct NodeLost {
  NodeIndex node;
  Time at;
};

// Which devices of the node are out of order, all of them; found out by the node itself.
struct DevicesJudged {
  NodeIndex node;
  std::vector<DeviceTrouble> troubles;
  Time at;
};

// Its clock is not the controller's, or is again.
struct NodeClockJudged {
  NodeIndex node;
  std::string words;  // by how much; empty: they agree
  Time at;
};

// Somebody has set the controller's clock: what was to last so long from now on still does.
struct ClockStepped {
  Duration by;   // forward; backward when it is negative
  Time at;       // by the clock as it is now
  Time since{};  // when the machine started, by the clock as it was: what is older was read from another clock
};

enum class NodeOrder : std::uint8_t {
  drain,
  undrain,
  down,
  resume,
  reason_only,
  fail = 64,
  reboot,
  reboot_asap,
  reboot_issued,
  cancel_reboot,
  future = 96
};

struct NodeStateChanged {
  NodeIndex node;
  NodeOrder order{};
  std::string reason;
  UserId by;
  Time at;
  AfterReboot after_reboot{};  // with reboot, reboot_asap
  Time due{};                  // reboot_issued: until when it must be back
};

// Only what is set changes, until the configuration is read again.
struct NodeModified {
  NodeIndex node;
  std::optional<std::uint32_t> weight;
  std::optional<std::string> features, comment, extra;
  Time at;
  std::optional<std::string> address{}, host_name{};
  std::optional<std::string> active_features{};  // some of its features; without them all are active
  std::optional<std::string> instance_id{}, instance_type{};
  std::optional<Time> resume_at{};  // when it comes back to service by itself; Time{}: not any more
};

// What becomes of the power of some nodes: what somebody wants of them, how far it has come, that the site's program
// has been run.
enum class PowerChange : std::uint8_t {
  down_wanted,
  down_asap,
  down_forced,
  going_down,
  off,
  up_wanted,
  coming_up,
  told,
  failed,
  called_off
};

struct NodesPowered {
  PowerChange change{};
  std::vector<NodeIndex> nodes;
  Time due{};  // going_down, coming_up: when that must be over
  UserId by{};
  Time at{};
};

// By scontrol create, or by a node that came by itself (slurmd -Z).
struct NodeCreated {
  NodeDef def;
  UserId by;
  Time at;
};

// One that had been created; nothing of it is left but its name in the records of jobs.
struct NodeDeleted {
  NodeIndex node;
  UserId by;
  Time at;
};

// Until the configuration is read the next time.
struct PartitionStateChanged {
  PartitionIndex partition;
  Availability availability{};
  Time at;
};

// By scontrol create or update: the whole of it as it is from now on. A name that is not known is a new one.
struct PartitionChanged {
  PartitionDef def;
  UserId by;
  Time at;
};

// No job that has not ended is in it.
struct PartitionDeleted {
  PartitionIndex partition;
  UserId by;
  Time at;
};

// scontrol fsdampeningfactor; until the configuration is read the next time.
struct DampingChanged {
  std::uint32_t factor = 1;
  Time at;
};

// It could not start early enough to end by its deadline.
struct JobDeadlinePassed {
  JobKey key;
  Time at;
};

// MinJobAge after its end the record goes.
struct JobForgotten {
  JobKey key;
  Time at;
};

// It has to make room for another job: at once, or when its time of grace is over.
struct JobPreempted {
  JobKey key;
  JobKey by;             // for whom
  bool requeue = false;  // back to the queue; otherwise that was its end
  Time due;              // when it is stopped; not after `at`: now
  Time at;
};

// Made, changed, or come to its next turn: the whole of it as it is from now on.
struct ReservationSet {
  Reservation reservation;
  Time at;
};

struct ReservationRemoved {
  ReservationId id;
  Time at;
};

// Stopped, not ended: it keeps its nodes, memory, devices and licences and gives back its CPUs.
struct JobSuspended {
  JobKey key;
  SuspendWhy why{};
  JobKey by;     // preempted: for whom
  UserId actor;  // administrator: who
  Time at;
};

// It is to go on as soon as all its CPUs are free.
struct JobResumeWanted {
  JobKey key;
  UserId actor;
  Time at;
};

struct JobResumed {
  JobKey key;
  Time at;
};

// Jobs on the same CPUs take turns: all changes of one moment.
struct TimeSliceTurned {
  std::vector<JobKey> suspended, resumed;
  Time at;
};

// Steps of one attempt, as their keeper told of them: starts in the order of their numbers, none left out before
// another; of ends only those of steps that have started. Told again they are not in here again.
struct StepsReported {
  JobKey key;
  Attempt attempt;
  std::vector<StepStart> started;
  std::vector<StepEnd> ended;
  Time at;
  std::vector<StepChange> changed{};  // between the starts and the ends
};

// The user's crontab, with the jobs of its new entries; empty: it is gone. Jobs that were in the one before and are not
// in this one go if they wait, and do not come again if they run. One event, so that a log that ends in the middle of a
// write knows the old crontab or the new one.
struct CrontabSet {
  UserId uid;
  Crontab crontab;
  Time at;
  UserId by{};
  std::vector<JobSubmitted> submitted{};
};

// Of a new trigger, or of one that is known with another list of what is due.
struct TriggerSet {
  Trigger trigger;
  Time at;
};

// Somebody took it back, or what it waited for has happened.
struct TriggerRemoved {
  TriggerId id;
  Time at;
};

// Words about a job that is over, whether it is still known as a job or only to accounting. Only what is set changes.
struct RecordAnnotated {
  JobKey key;
  std::optional<std::string> comment, admin_comment, system_comment, extra, wckey, derived_exit;
  Time at;
};

using EventKinds =
    std::variant<ControllerStarted, ClusterConfigured, JobSubmitted, JobHoldChanged, JobModified, JobBecameEligible,
                 ArrayTaskSplit, JobPlaced, AttemptEnded, JobCancelled, JobTimedOut, JobRequeued, NodeRegistered,
                 NodeLost, NodeStateChanged, PartitionStateChanged, JobForgotten, ReservationSet, ReservationRemoved,
                 JobPreempted, AssociationChanged, AssociationRemoved, QosChanged, QosRemoved, UsageReset,
                 JobDeadlinePassed, HetJobSubmitted, HetJobPlaced, JobSuspended, JobResumeWanted, JobResumed,
                 TimeSliceTurned, AttemptExited, JobProgramEnded, NodeModified, DevicesJudged, StepsReported,
                 NodesPowered, NodeCreated, NodeDeleted, PartitionChanged, PartitionDeleted, DampingChanged, CrontabSet,
                 TriggerSet, TriggerRemoved, AccountUserChanged, TransactionNoted, RecordAnnotated, JobLostNode,
                 JobPortsHeld, JobShrunk, RecordsPutAside, NodeClockJudged, ClockStepped>;

// Copied, moved and dropped in one unit: what that means for fifty kinds took every unit that makes an event seconds to
// compile.
struct Event : EventKinds {
  using EventKinds::EventKinds;
  Event();
  Event(const Event&);
  Event(Event&&) noexcept;
  Event& operator=(const Event&);
  Event& operator=(Event&&) noexcept;
  ~Event();
};

}  // namespace millrace
