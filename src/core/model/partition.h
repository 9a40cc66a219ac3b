// src/core/model/partition.h - a queue over some nodes with its limits, and the cluster-wide policy numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  bool power_saving = false;                  // SuspendProgram and ResumeProgram
  std::uint32_t suspend_seconds = unlimited;  // a node that is idle for so long is powered down
  std::uint32_t suspend_timeout_seconds = 30, suspend_rate = 60, resume_rate = 300;  // rates per minute; 0: none
  std::uint32_t suspend_except = 0;    // of ExceptState: nodes in such a state stay on
  std::vector<std::uint32_t> keep_up;  // groups of SuspendExcNodes: so many usable ones of each stay on; unlimited: all
  bool show_cloud = false;             // also those that are powered down
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
  bool operator==(const Policy&) const = default;
};

inline FitRules fit_rules(const Policy& policy) {
  return {policy.memory_is_consumable, policy.cpu_unit == CpuUnit::core || policy.cpu_unit == CpuUnit::socket,
          policy.cpu_unit == CpuUnit::socket};
}

}  // namespace millrace
