// src/core/model/partition.h - a queue over some nodes with its limits, and the cluster-wide policy numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"
#include "core/model/account.h"
#include "core/model/job.h"
#include "core/model/node_fit.h"
#include "core/model/schedule.h"

namespace millrace {

enum class Availability : std::uint8_t { up, down, drain, inactive };
// Whether jobs of a partition may be given the same CPUs: none, those that ask for it, all.
enum class CpuSharing : std::uint8_t { no, on_request, forced };

struct PartitionDef {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> allow_groups, allow_accounts, deny_accounts;  // empty: all, all, none
  std::vector<std::uint32_t> allow_gids;  // what allow_groups resolved to when the configuration was read
  bool is_default = false, root_only = false, hidden = false, exclusive = false, disable_root_jobs = false;
  Availability availability{};
  std::uint32_t max_time_minutes = unlimited;
  std::uint32_t default_time_minutes = 0;  // 0: none set, then max_time holds
  std::uint32_t max_nodes = unlimited, min_nodes = 0;
  std::uint32_t priority_tier = 1, priority_job_factor = 1;
  std::optional<Mebibytes> default_memory_per_cpu, default_memory_per_node, max_memory_per_cpu, max_memory_per_node;
  std::string qos;                               // limits of this QOS hold for all jobs of the partition
  std::vector<std::string> allow_qos, deny_qos;  // empty: all, none
  std::vector<TresWeight> billing_weights;       // empty: a CPU counts one
  PreemptMode preempt_mode{};                    // of its jobs
  std::uint32_t grace_seconds = 0;               // they may run on for so long
  CpuSharing sharing{};
  std::uint32_t share_max = 1;               // jobs on one CPU, where they share
  bool all_nodes = false;                    // Nodes=ALL: also those that are made later
  std::vector<std::string> node_features{};  // ... and those that have one of these, for the sake of node sets
  std::optional<std::uint32_t> suspend_seconds{}, suspend_timeout_seconds{},
      resume_timeout_seconds{};             // of its nodes; the largest counts
  bool power_down_on_idle = false;          // as soon as one of its jobs leaves a node idle
  bool never_suspend = false;               // SuspendExcParts
  bool exclusive_user = false;              // ExclusiveUser: jobs of one user at a time on a node
  bool require_reservation = false;         // ReqResv
  std::vector<std::string> submit_hosts{};  // AllocNodes; empty: all
  std::int64_t default_memory_per_gpu = 0;  // MiB; 0: none set
  std::uint32_t default_cpus_per_gpu = 0;
  std::optional<std::uint32_t> over_time_minutes{};  // OverTimeLimit; not set: that of the policy
  std::uint32_t max_cpus_per_node = unlimited;       // of a node, for all jobs of the partition together
  bool least_loaded = false;                         // LLN: the nodes with the most idle CPUs first
  bool operator==(const PartitionDef&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "nodes", self.nodes);
    visit(3, "allow_groups", self.allow_groups);
    visit(4, "allow_accounts", self.allow_accounts);
    visit(5, "deny_accounts", self.deny_accounts);
    visit(6, "allow_gids", self.allow_gids);
    visit(7, "is_default", self.is_default);
    visit(8, "root_only", self.root_only);
    visit(9, "hidden", self.hidden);
    visit(10, "exclusive", self.exclusive);
    visit(11, "disable_root_jobs", self.disable_root_jobs);
    visit(12, "availability", self.availability);
    visit(13, "max_time_minutes", self.max_time_minutes);
    visit(14, "default_time_minutes", self.default_time_minutes);
    visit(15, "max_nodes", self.max_nodes);
    visit(16, "min_nodes", self.min_nodes);
    visit(17, "priority_tier", self.priority_tier);
    visit(18, "priority_job_factor", self.priority_job_factor);
    visit(19, "default_memory_per_cpu", self.default_memory_per_cpu);
    visit(20, "default_memory_per_node", self.default_memory_per_node);
    visit(21, "max_memory_per_cpu", self.max_memory_per_cpu);
    visit(22, "max_memory_per_node", self.max_memory_per_node);
    visit(200, "qos", self.qos);
    visit(201, "allow_qos", self.allow_qos);
    visit(202, "deny_qos", self.deny_qos);
    visit(203, "billing_weights", self.billing_weights);
    visit(300, "preempt_mode", self.preempt_mode);
    visit(301, "grace_seconds", self.grace_seconds);
    visit(450, "sharing", self.sharing);
    visit(451, "share_max", field::or_default(self.share_max, 1));
    visit(700, "all_nodes", self.all_nodes);
    visit(701, "node_features", self.node_features);
    visit(702, "suspend_seconds", self.suspend_seconds);
    visit(703, "suspend_timeout_seconds", self.suspend_timeout_seconds);
    visit(704, "resume_timeout_seconds", self.resume_timeout_seconds);
    visit(705, "power_down_on_idle", self.power_down_on_idle);
    visit(706, "never_suspend", self.never_suspend);
    visit(870, "exclusive_user", self.exclusive_user);
    visit(871, "require_reservation", self.require_reservation);
    visit(872, "submit_hosts", self.submit_hosts);
    visit(873, "default_memory_per_gpu", self.default_memory_per_gpu);
    visit(874, "default_cpus_per_gpu", self.default_cpus_per_gpu);
    visit(910, "over_time_minutes", self.over_time_minutes);
    visit(1010, "max_cpus_per_node", field::unless(self.max_cpus_per_node, unlimited));
    visit(1011, "least_loaded", self.least_loaded);
  }
};

struct Partition {
  PartitionDef def;
  std::vector<NodeIndex> nodes;  // sorted by weight, then index: the order in which they are filled
  bool configured = true;
  bool changed = false;  // by scontrol: made, changed or, when it is not configured, deleted
  std::optional<PartitionDef>
      written{};  // of one that was changed: what the configuration says of it; nothing: it does not know it
  std::optional<Availability>
      afterwards{};  // its state once the configuration is read again, where it is another one until then
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "def", self.def);
    visit(2, "nodes", self.nodes);
    visit(3, "configured", self.configured);
    visit(890, "changed", self.changed);
    visit(891, "written", self.written);
    visit(892, "afterwards", self.afterwards);
  }
};

// What a configuration that is read leaves of the changes that scontrol made to partitions (docs/adr/0010).
enum class KeepPartitions : std::uint8_t { none, states, all, not_rewritten };

// The smallest part of a node's processors that a job is given (SelectType, SelectTypeParameters).
enum class CpuUnit : std::uint8_t { cpu, core, socket, node };

// SuspendExcStates.
enum ExceptState : std::uint32_t {
  except_cloud = 1,
  except_down = 2,
  except_drain = 4,
  except_dynamic = 8,
  except_fail = 16,
  except_silent = 32,
  except_reserved = 64,
  except_maintenance = 128,
};

// PrivateData: what users do not see of others. Administrators see all.
enum PrivateData : std::uint32_t {
  private_accounts = 1,
  private_events = 2,
  private_jobs = 4,
  private_nodes = 8,
  private_partitions = 16,
  private_reservations = 32,
  private_usage = 64,
  private_users = 128,
};

// The keys of slurm.conf about saving power.
struct PowerPolicy {
  bool saving = false;                        // SuspendProgram and ResumeProgram
  std::uint32_t suspend_seconds = unlimited;  // a node that is idle for so long is powered down
  std::uint32_t suspend_timeout_seconds = 30, suspend_rate = 60, resume_rate = 300;  // rates per minute; 0: none
  std::uint32_t suspend_except = 0;    // of ExceptState: nodes in such a state stay on
  std::vector<std::uint32_t> keep_up;  // groups of SuspendExcNodes: so many usable ones of each stay on; unlimited: all
  bool show_cloud = false;             // also those that are powered down
  bool operator==(const PowerPolicy&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "saving", self.saving);
    visit(2, "suspend_seconds", self.suspend_seconds);
    visit(3, "suspend_timeout_seconds", self.suspend_timeout_seconds);
    visit(4, "suspend_rate", self.suspend_rate);
    visit(5, "resume_rate", self.resume_rate);
    visit(6, "suspend_except", self.suspend_except);
    visit(7, "keep_up", self.keep_up);
    visit(8, "show_cloud", self.show_cloud);
  }
};

// What the configuration says about the whole cluster, as far as decisions depend on it.
struct Policy {
  std::uint32_t first_job_id = 1, max_job_id = 0x03ff0000;
  std::uint32_t max_job_count = 10000, max_array_size = 1001;
  std::uint32_t kill_wait_seconds = 30, min_job_age_seconds = 300, requeue_delay_seconds = 120;
  std::uint32_t max_script_bytes = 4u << 20;
  std::uint32_t return_to_service = 0;
  bool job_requeue = true;
  bool memory_is_consumable = false;
  bool backfill = true;
  bool least_loaded = false;          // CR_LLN: in every partition
  bool one_task_per_core = false;     // CR_ONE_TASK_PER_CORE: where a job does not say how many
  bool enforce_gres_binding = false;  // ENFORCE_BINDING_GRES: for every job that does not say otherwise
  bool require_time_limit = false;    // JobSubmitPlugins=require_timelimit
  bool all_partitions = false;        // JobSubmitPlugins=all_partitions: a job that names none may start in any
  bool basic_priority = true;         // each job one below the last; otherwise by core/planner/priority
  bool enforce_partition_limits = false, enforce_every_partition = false;  // EnforcePartLimits=ANY and ALL
  CpuUnit cpu_unit{};
  Schedule schedule{};               // where backfill is on
  bool predict_run_times = false;    // from what each user's last jobs did
  std::vector<LicenceAsk> licences;  // of the whole cluster, sorted by name
  std::optional<Mebibytes> default_memory_per_cpu, default_memory_per_node, max_memory_per_cpu, max_memory_per_node;
  PriorityPolicy priority;
  std::uint32_t enforce = 0;  // of EnforceFlag
  PreemptType preempt_type{};
  PreemptMode preempt_mode = PreemptMode::off;
  std::uint32_t preempt_exempt_seconds = 0;  // a job is safe for so long after its start
  bool gang = false;                         // jobs that share CPUs take turns, and jobs may be suspended
  std::uint32_t time_slice_seconds = 30;     // of a turn
  std::vector<std::string> tres;             // resources that are tracked besides cpu, mem, node, billing and gres/gpu
  bool node_programs = false;                // Prolog or Epilog: nodes have something to do before and after each job
  bool job_prolog = false, job_epilog = false;  // PrologSlurmctld, EpilogSlurmctld
  bool requeue_on_prolog_failure = false;       // also those that do not want to be requeued
  bool hold_on_prolog_failure = true;
  bool config_overrides = false;              // what the configuration says of a node counts, whatever it has
  std::uint32_t resume_timeout_seconds = 60;  // a node that boots is down after this
  PowerPolicy power;
  bool kill_invalid_dependency = false;                            // what waits for what can never be is cancelled
  std::vector<std::uint32_t> requeue_exit{}, requeue_exit_hold{};  // exit codes after which a batch job is queued again
  std::int64_t default_memory_per_gpu = 0;                         // MiB; 0: none set
  std::uint32_t default_cpus_per_gpu = 0;
  std::uint32_t keep_ended_seconds = 0,
                keep_ended_rows =
                    0;          // of forgotten jobs and their steps: so long, and so many together (sacct); 0: nothing
  std::uint32_t max_nodes = 0;  // also with those that are made later; 0: as many as there are in the configuration
  std::uint32_t over_time_minutes = 0;     // jobs may run so long beyond their limits; unlimited: for ever
  std::uint32_t max_requeues = unlimited;  // a job that went back to the queue by itself more often is held
  std::uint32_t private_data = 0;          // of PrivateData: what users do not see of others
  bool track_wckeys = false;               // jobs have a workload key, by default that of their user
  std::uint32_t store_flags = 0;           // of StoreFlag: what stays of a forgotten job
  bool keep_stops = true;                  // jobs know when they stopped; what logs of old lead to stays what it was
  bool operator==(const Policy&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "first_job_id", self.first_job_id);
    visit(2, "max_job_id", self.max_job_id);
    visit(3, "max_job_count", self.max_job_count);
    visit(4, "max_array_size", self.max_array_size);
    visit(5, "kill_wait_seconds", self.kill_wait_seconds);
    visit(6, "min_job_age_seconds", self.min_job_age_seconds);
    visit(7, "requeue_delay_seconds", self.requeue_delay_seconds);
    visit(8, "max_script_bytes", self.max_script_bytes);
    visit(9, "return_to_service", self.return_to_service);
    visit(10, "job_requeue", self.job_requeue);
    visit(11, "memory_is_consumable", self.memory_is_consumable);
    visit(12, "backfill", self.backfill);
    visit(1011, "least_loaded", self.least_loaded);
    visit(1012, "one_task_per_core", self.one_task_per_core);
    visit(1013, "enforce_gres_binding", self.enforce_gres_binding);
    visit(1014, "require_time_limit", self.require_time_limit);
    visit(1015, "all_partitions", self.all_partitions);
    visit(13, "basic_priority", self.basic_priority);
    visit(14, "enforce_partition_limits", self.enforce_partition_limits);
    visit(870, "enforce_every_partition", self.enforce_every_partition);
    visit(100, "cpu_unit", self.cpu_unit);
    visit(320, "schedule", self.schedule);
    visit(321, "predict_run_times", self.predict_run_times);
    visit(101, "licences", self.licences);
    visit(15, "default_memory_per_cpu", self.default_memory_per_cpu);
    visit(16, "default_memory_per_node", self.default_memory_per_node);
    visit(17, "max_memory_per_cpu", self.max_memory_per_cpu);
    visit(18, "max_memory_per_node", self.max_memory_per_node);
    visit(200, "priority", field::unless(self.priority, PriorityPolicy{}));
    visit(201, "enforce", self.enforce);
    visit(300, "preempt_type", self.preempt_type);
    visit(301, "preempt_mode", self.preempt_mode);
    visit(302, "preempt_exempt_seconds", self.preempt_exempt_seconds);
    visit(450, "gang", self.gang);
    visit(451, "time_slice_seconds", field::or_default(self.time_slice_seconds, 30));
    visit(202, "tres", self.tres);
    visit(640, "node_programs", self.node_programs);
    visit(641, "job_prolog", self.job_prolog);
    visit(642, "job_epilog", self.job_epilog);
    visit(643, "requeue_on_prolog_failure", self.requeue_on_prolog_failure);
    visit(644, "hold_on_prolog_failure", field::inverted(self.hold_on_prolog_failure));
    visit(645, "config_overrides", self.config_overrides);
    visit(646, "resume_timeout_seconds", field::or_default(self.resume_timeout_seconds, 60));
    visit(700, "power", field::unless(self.power, PowerPolicy{}));
    visit(871, "kill_invalid_dependency", self.kill_invalid_dependency);
    visit(872, "requeue_exit", self.requeue_exit);
    visit(873, "requeue_exit_hold", self.requeue_exit_hold);
    visit(874, "default_memory_per_gpu", self.default_memory_per_gpu);
    visit(875, "default_cpus_per_gpu", self.default_cpus_per_gpu);
    visit(800, "keep_ended_seconds", self.keep_ended_seconds);
    visit(801, "keep_ended_rows", self.keep_ended_rows);
    visit(701, "max_nodes", self.max_nodes);
    visit(910, "over_time_minutes", self.over_time_minutes);
    visit(911, "max_requeues", field::plus_one(self.max_requeues));
    visit(912, "private_data", self.private_data);
    visit(990, "track_wckeys", self.track_wckeys);
    visit(991, "store_flags", self.store_flags);
    visit(1320, "keep_stops", self.keep_stops);
  }
};

inline FitRules fit_rules(const Policy& policy) {
  return {policy.memory_is_consumable, policy.cpu_unit == CpuUnit::core || policy.cpu_unit == CpuUnit::socket,
          policy.cpu_unit == CpuUnit::socket};
}

}  // namespace millrace
