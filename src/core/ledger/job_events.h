// src/core/ledger/job_events.h - what happens to a job in the queue, and what is decided about it; a part of event.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "core/model/job.h"

namespace millrace {

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
  static constexpr EventTag event{3, "JobSubmitted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "id", self.id);
    visit(3, "spec", self.spec);
    visit(4, "dependencies", self.dependencies);
    visit(5, "array", self.array);
    visit(6, "priority", self.priority);
    visit(7, "time_limit_minutes", self.time_limit_minutes);
    visit(11, "expected_seconds", self.expected_seconds);
    visit(8, "hold", self.hold);
    visit(9, "begin_at", self.begin_at);
    visit(201, "qos", self.qos);
    visit(200, "priority_fixed", self.priority_fixed);
    visit(10, "at", self.at);
  }
};

// All components of a heterogeneous job, the leader first, with consecutive keys and numbers. One event, so that a log
// that ends in the middle of a write knows all of them or none.
struct HetJobSubmitted {
  std::vector<JobSubmitted> components;
  Time at;
  static constexpr EventTag event{400, "HetJobSubmitted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "components", self.components);
    visit(2, "at", self.at);
  }
};

// Held, or released with the priority it gets back.
struct JobHoldChanged {
  JobKey key;
  Hold hold{};
  std::uint32_t priority = 0;
  Time at;
  static constexpr EventTag event{4, "JobHoldChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "hold", self.hold);
    visit(3, "priority", self.priority);
    visit(4, "at", self.at);
  }
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
  static constexpr EventTag event{5, "JobModified"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(3, "time_limit_minutes", self.time_limit_minutes);
    visit(4, "priority", self.priority);
    visit(5, "min_nodes", self.min_nodes);
    visit(6, "max_nodes", self.max_nodes);
    visit(7, "tasks", self.tasks);
    visit(8, "cpus_per_task", self.cpus_per_task);
    visit(9, "array_throttle", self.array_throttle);
    visit(10, "nice", self.nice);
    visit(11, "name", self.name);
    visit(12, "comment", self.comment);
    visit(13, "account", self.account);
    visit(14, "std_out", self.std_out);
    visit(15, "std_err", self.std_err);
    visit(16, "work_dir", self.work_dir);
    visit(17, "partition", self.partition);
    visit(18, "begin_at", self.begin_at);
    visit(19, "memory_per_node", self.memory_per_node);
    visit(20, "memory_per_cpu", self.memory_per_cpu);
    visit(21, "dependencies", self.dependencies);
    visit(22, "required_nodes", self.required_nodes);
    visit(23, "excluded_nodes", self.excluded_nodes);
    visit(24, "requeue", self.requeue);
    visit(201, "qos", self.qos);
    visit(200, "priority_fixed", self.priority_fixed);
    visit(100, "resources", self.resources);
    visit(820, "extras", self.extras);
    visit(821, "std_in", self.std_in);
    visit(101, "tasks_per_node", self.tasks_per_node);
    visit(102, "min_cpus_per_node", self.min_cpus_per_node);
    visit(103, "exclusive", self.exclusive);
    visit(104, "oversubscribe", self.oversubscribe);
    visit(2, "at", self.at);
  }
};

// Its begin time has come; from now on the planner sees it.
struct JobBecameEligible {
  JobKey key;
  Time at;
  static constexpr EventTag event{6, "JobBecameEligible"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "at", self.at);
  }
};

// One task of an array gets a record of its own; the last one keeps the array's.
struct ArrayTaskSplit {
  JobKey array;
  std::uint32_t task = 0;
  JobKey key;
  JobId id;
  Time at;
  static constexpr EventTag event{7, "ArrayTaskSplit"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "array", self.array);
    visit(2, "task", self.task);
    visit(3, "key", self.key);
    visit(4, "id", self.id);
    visit(5, "at", self.at);
  }
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
  static constexpr EventTag event{8, "JobPlaced"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "attempt", self.attempt);
    visit(3, "shares", self.shares);
    visit(4, "by_backfill", self.by_backfill);
    visit(6, "partition", self.partition);
    visit(100, "licences", self.licences);
    visit(200, "priority", self.priority);
    visit(310, "waited", self.waited);
    visit(311, "limit_minutes", self.limit_minutes);
    visit(450, "shared", self.shared);
    visit(640, "on_all_nodes", self.on_all_nodes);
    visit(641, "prolog", self.prolog);
    visit(760, "supervised", self.supervised);
    visit(5, "at", self.at);
  }
};

// All components of a heterogeneous job start at one moment, the leader first.
struct HetJobPlaced {
  std::vector<JobPlaced> components;
  Time at;
  static constexpr EventTag event{401, "HetJobPlaced"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "components", self.components);
    visit(2, "at", self.at);
  }
};

struct JobCancelled {
  JobKey key;
  UserId by;
  Time at;
  static constexpr EventTag event{10, "JobCancelled"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "by", self.by);
    visit(3, "at", self.at);
  }
};

struct JobTimedOut {
  JobKey key;
  Time at;
  bool inactive = false;  // not its limit: nobody is there any more who asked for it
  static constexpr EventTag event{11, "JobTimedOut"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(910, "inactive", self.inactive);
    visit(2, "at", self.at);
  }
};

// Back to the queue: at once if it has ended, otherwise when its attempt is gone.
struct JobRequeued {
  JobKey key;
  bool hold = false;
  UserId by;
  Time at;
  Time begin_at{};            // of one that has ended, for those of scrontab; not set: when the requeue delay is over
  bool special_exit = false;  // held, and shown as that
  static constexpr EventTag event{12, "JobRequeued"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "hold", self.hold);
    visit(3, "by", self.by);
    visit(880, "begin_at", self.begin_at);
    visit(910, "special_exit", self.special_exit);
    visit(4, "at", self.at);
  }
};

// It could not start early enough to end by its deadline.
struct JobDeadlinePassed {
  JobKey key;
  Time at;
  static constexpr EventTag event{30, "JobDeadlinePassed"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "at", self.at);
  }
};

// MinJobAge after its end the record goes.
struct JobForgotten {
  JobKey key;
  Time at;
  static constexpr EventTag event{17, "JobForgotten"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "at", self.at);
  }
};

// It has to make room for another job: at once, or when its time of grace is over.
struct JobPreempted {
  JobKey key;
  JobKey by;             // for whom
  bool requeue = false;  // back to the queue; otherwise that was its end
  Time due;              // when it is stopped; not after `at`: now
  Time at;
  static constexpr EventTag event{42, "JobPreempted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "by", self.by);
    visit(3, "requeue", self.requeue);
    visit(4, "due", self.due);
    visit(5, "at", self.at);
  }
};

// Stopped, not ended: it keeps its nodes, memory, devices and licences and gives back its CPUs.
struct JobSuspended {
  JobKey key;
  SuspendWhy why{};
  JobKey by;     // preempted: for whom
  UserId actor;  // administrator: who
  Time at;
  static constexpr EventTag event{450, "JobSuspended"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "why", self.why);
    visit(3, "by", self.by);
    visit(4, "actor", self.actor);
    visit(5, "at", self.at);
  }
};

// It is to go on as soon as all its CPUs are free.
struct JobResumeWanted {
  JobKey key;
  UserId actor;
  Time at;
  static constexpr EventTag event{451, "JobResumeWanted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "actor", self.actor);
    visit(3, "at", self.at);
  }
};

struct JobResumed {
  JobKey key;
  Time at;
  static constexpr EventTag event{452, "JobResumed"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "at", self.at);
  }
};

// Jobs on the same CPUs take turns: all changes of one moment.
struct TimeSliceTurned {
  std::vector<JobKey> suspended, resumed;
  Time at;
  static constexpr EventTag event{453, "TimeSliceTurned"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "suspended", self.suspended);
    visit(2, "resumed", self.resumed);
    visit(3, "at", self.at);
  }
};

}  // namespace millrace
