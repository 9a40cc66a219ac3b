// src/config/configuration.h - what slurm.conf says, as plain typed values for daemons and clients.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/index_set.h"
#include "base/log_level.h"
#include "base/quantity.h"
#include "config/isolation.h"
#include "core/model/account.h"
#include "core/model/partition.h"
#include "core/model/resources.h"
#include "core/model/schedule.h"
#include "core/model/topology.h"

namespace millrace {

constexpr std::uint32_t unlimited_count = UINT32_MAX;

struct ControllerHost {
  std::string host;
  std::string address;  // what to connect to; the host's name when nothing else was given
};

enum class ConfiguredNodeState : std::uint8_t { unknown, down, drain, fail, future, cloud };

struct ConfiguredNode {
  std::string name;
  std::string host_name;
  std::string address;
  std::uint16_t port = 0;
  std::uint32_t cpus = 1;
  std::uint32_t boards = 1;
  std::uint32_t sockets = 1;  // of all boards
  std::uint32_t cores_per_socket = 1;
  std::uint32_t threads_per_core = 1;
  Mebibytes memory{1};
  Mebibytes tmp_disk{0};
  std::uint32_t weight = 1;
  std::string features;
  std::string gres;
  std::vector<NodeGres> kinds;       // what `gres` and gres.conf say of it
  std::string detect;                // AutoDetect: how its gpus are found; empty: not at all
  std::uint32_t gpu_variables = 15;  // whose names for them jobs see: 1 NVIDIA, 2 AMD, 4 Intel, 8 OpenCL
  ConfiguredNodeState state = ConfiguredNodeState::unknown;
  std::string reason;
  std::optional<std::uint32_t> suspend_seconds;  // SuspendTime; UINT32_MAX: never
  std::vector<std::uint64_t> withheld_cpus;      // CoreSpecCount, CPUSpecList; positions as in ShareDetail
  Mebibytes withheld_memory{0};                  // MemSpecLimit
};

enum class ConfiguredPartitionState : std::uint8_t { up, down, drain, inactive };
enum class Sharing : std::uint8_t { no, exclusive, yes, force };

struct ConfiguredPartition {
  std::string name;
  std::vector<std::string> nodes;
  bool is_default = false;
  ConfiguredPartitionState state = ConfiguredPartitionState::up;
  std::optional<std::uint32_t> max_time_minutes;      // nothing: unlimited
  std::optional<std::uint32_t> default_time_minutes;  // nothing: NONE
  std::uint32_t max_nodes = unlimited_count;
  std::uint32_t min_nodes = 0;
  std::uint32_t max_cpus_per_node = unlimited_count;
  bool least_loaded = false;  // LLN
  std::uint32_t priority_tier = 1;
  std::uint32_t priority_job_factor = 1;
  bool root_only = false;
  bool hidden = false;
  bool disable_root_jobs = false;
  Sharing sharing = Sharing::no;
  std::uint32_t share_count = 4;  // of yes and force
  std::optional<Mebibytes> default_memory_per_cpu, default_memory_per_node;
  std::optional<Mebibytes> max_memory_per_cpu, max_memory_per_node;
  std::string allow_groups = "ALL", allow_accounts = "ALL", allow_qos = "ALL";
  std::string deny_accounts, deny_qos;
  std::string alloc_nodes = "ALL";
  std::string qos;
  std::vector<TresWeight> billing_weights;
  PreemptMode preempt_mode{};
  std::uint32_t grace_seconds = 0;
  bool all_nodes = false;                  // Nodes=ALL
  std::vector<std::string> node_features;  // of its node sets
  std::optional<std::uint32_t> suspend_seconds, suspend_timeout_seconds, resume_timeout_seconds;
  bool power_down_on_idle = false;
  bool exclusive_user = false, require_reservation = false;
  std::uint32_t default_cpus_per_gpu = 0;
  Mebibytes default_memory_per_gpu{0};             // 0: none
  std::optional<std::uint32_t> over_time_minutes;  // OverTimeLimit; unlimited_count: for ever
};

// NodeSet=: nodes by name, by feature, or both.
struct ConfiguredNodeSet {
  std::string name, feature, nodes;
};

// AuthAltTypes=auth/jwt, AuthAltParameters.
struct TokenSettings {
  bool enabled = false;
  bool only_administrators = false;                 // disable_token_creation
  std::string key_file;                             // jwt_key=
  std::uint32_t longest_seconds = unlimited_count;  // max_token_lifespan=
};

struct SchedulerParameters {
  std::uint64_t script_size_max = 4u << 20;  // max_script_size
  Duration requeue_delay = seconds(120);
  std::uint32_t backfill_jobs_max =
      100;  // bf_max_job_test: jobs that get a planned start; all others are still tried for a start now
  Duration backfill_interval = seconds(30);  // bf_interval
  Schedule schedule{};                       // millrace_policy
  bool predict_run_times = false;            // millrace_predict, or a policy that needs it
};

enum class ConsumableUnit : std::uint8_t { cpu, core, socket, whole_node };

// A remark about the file, for a daemon's log and `millrace check`.
struct ConfigurationNote {
  std::string key;
  std::string file;
  int line = 0;
  std::string text;
};

// The site's own programs around jobs and nodes; of each several, or patterns, run in this order.
struct NodeLifeSettings {
  std::vector<std::string> prolog, epilog, controller_prolog, controller_epilog;
  Duration prolog_limit{}, epilog_limit{};   // 0: none
  bool requeue_on_prolog_failure = false;    // PrologFlags=ForceRequeueOnFail
  bool hold_on_prolog_failure = true;        // SchedulerParameters=nohold_on_prolog_fail
  std::string health_check, reboot_program;  // empty: none
  std::string mail_program = "/bin/mail", mail_domain;
  std::string reservation_prolog, reservation_epilog;  // empty: none
  Duration health_check_interval{};                    // 0: never
  Duration health_check_limit{};                       // HealthCheckTimeout; 0: a minute
  bool check_idle = true, check_busy = true, check_only_at_start = false;
  bool config_overrides = false;  // SlurmdParameters
  Duration resume_timeout = seconds(60);
};

// Nodes of which so many stay on (SuspendExcNodes).
struct KeepUp {
  std::vector<std::string> nodes;
  std::uint32_t count = unlimited_count;  // all of them
};

struct PowerSettings {
  std::string suspend_program, resume_program, resume_fail_program;  // absolute; empty: none
  std::uint32_t suspend_seconds = unlimited_count;                   // SuspendTime; unlimited: never
  std::uint32_t suspend_timeout_seconds = 30, suspend_rate = 60, resume_rate = 300;
  std::vector<KeepUp> keep_up;
  std::vector<std::string> except_partitions;
  std::uint32_t except_states = 0;  // of ExceptState
  bool show_cloud = false;          // PrivateData=cloud
};

// JobCompType, JobCompLoc: where the ends of jobs are told.
struct JobCompletionSettings {
  enum class Kind : std::uint8_t { none, file, program };
  Kind kind{};
  std::string location;  // a file, or a program; absolute
};

// What goes into the logs of the daemons, and how.
struct LogSettings {
  LogLevel controller = LogLevel::info, agent = LogLevel::info;  // SlurmctldDebug, SlurmdDebug
  std::optional<LogLevel> controller_syslog, agent_syslog;
  DebugFlags flags = 0;
  LogTimeFormat time = LogTimeFormat::iso8601_ms;
  std::string schedule_file;  // SlurmSchedLogFile; empty: the scheduler has no log of its own
  bool schedule = false;      // SlurmSchedLogLevel
};

struct Configuration {
  std::string path;  // the file itself, absolute where it was given so
  std::string cluster_name;
  std::vector<ControllerHost> controllers;
  std::uint16_t controller_port = 6817;
  std::uint16_t agent_port = 6818;
  std::string state_dir = "/var/spool";
  std::string agent_spool_pattern = "/var/spool/slurmd";  // %n, %h: see expand_node_path()
  std::string controller_pid_file = "/var/run/slurmctld.pid";
  std::string agent_pid_file = "/var/run/slurmd.pid";
  std::string controller_log_file;  // empty: syslog, or stderr in the foreground
  std::string agent_log_file;
  LogSettings log;
  std::string slurm_user = "root";
  std::string socket_path;       // AuthInfo socket=; a relay agent listens on this path + ".relay"
  bool munge = false;            // AuthType=auth/munge was said
  std::string munge_socket;      // AuthInfo socket=; empty: libmunge's own
  std::string cluster_key_file;  // of the controller, 0600
  std::string node_key_file;     // of a node, beside slurm.conf

  Duration kill_wait = seconds(30);
  Duration min_job_age = seconds(300);
  Duration keep_ended =
      seconds(86'400);  // SlurmctldParameters=millrace_keep_ended=: for sacct, from when MinJobAge is over
  std::uint32_t keep_ended_rows =
      100'000;                            // ... and so many jobs and steps together at most (millrace_keep_ended_rows=)
  Duration agent_timeout = seconds(300);  // SlurmdTimeout
  Duration controller_timeout = seconds(120);
  Duration message_timeout = seconds(10);
  Duration tcp_timeout = seconds(2);
  Duration batch_start_timeout = seconds(10);
  Duration wait_time = seconds(0);
  Duration inactive_limit = seconds(0);
  Duration complete_wait = seconds(0);
  bool crontabs = false;                // ScronParameters=enable
  bool user_triggers = false;           // SlurmctldParameters=allow_user_triggers
  std::uint32_t over_time_minutes = 0;  // OverTimeLimit; unlimited_count: for ever
  bool least_loaded = false, one_task_per_core = false,
       enforce_gres_binding = false;  // of SelectTypeParameters: CR_LLN, CR_ONE_TASK_PER_CORE, ENFORCE_BINDING_GRES
  bool require_time_limit = false, all_partitions = false;  // JobSubmitPlugins
  std::uint32_t first_job_id = 1;
  std::uint32_t max_job_id = 67043328;
  std::uint32_t max_job_count = 10000;
  std::uint32_t max_array_size = 1001;
  std::uint32_t max_batch_requeue = 5;
  std::uint32_t private_data = 0;  // of PrivateData
  std::uint32_t max_tasks_per_node = 512;
  std::uint32_t max_step_count = 40'000;
  std::optional<Mebibytes> default_memory_per_cpu, default_memory_per_node;
  std::optional<Mebibytes> max_memory_per_cpu, max_memory_per_node;
  std::uint32_t default_cpus_per_gpu = 0;  // JobDefaults
  Mebibytes default_memory_per_gpu{0};
  std::vector<std::uint32_t> requeue_exit, requeue_exit_hold;
  bool kill_invalid_dependency = false;
  bool job_requeue = true;
  bool job_file_append = false;
  bool kill_on_bad_exit = false;
  bool measure_tasks = false;                // JobAcctGatherType
  std::uint32_t measure_every_seconds = 30;  // JobAcctGatherFrequency; 0: only when somebody asks
  bool disable_root_jobs = false;
  std::uint32_t return_to_service = 0;
  std::string tmp_fs = "/tmp";
  std::string propagate_limits = "ALL";
  std::string propagate_limits_except;
  std::string mpi_default;            // read by srun
  IndexSet reserved_ports;            // of MpiParams: given to steps that ask for some
  bool allow_spec_resources = false;  // AllowSpecResourcesUsage
  std::string task_prolog, task_epilog;
  std::string srun_prolog, srun_epilog;  // read by srun

  PreemptType preempt_type{};
  PreemptMode preempt_mode = PreemptMode::off;
  bool gang = false;  // of PreemptMode
  Duration time_slice = seconds(30);
  Duration preempt_exempt{};
  bool backfill = true;              // SchedulerType
  bool multifactor_priority = true;  // PriorityType
  PriorityPolicy priority;
  std::uint32_t enforce = 0;      // AccountingStorageEnforce, of EnforceFlag
  std::vector<std::string> tres;  // AccountingStorageTRES, besides those always tracked
  SchedulerParameters scheduler;
  ConsumableUnit consumable = ConsumableUnit::core;
  bool memory_is_consumable = true;
  std::vector<std::string> gres_types;
  std::vector<LicenceAsk> licences;  // sorted by name
  std::string topology_plugin = "topology/flat";
  Topology topology;

  IsolationSettings isolation;
  NodeLifeSettings node_life;
  JobCompletionSettings job_completion;
  bool track_wckeys = false;      // TrackWCKey
  std::uint32_t store_flags = 0;  // AccountingStoreFlags, of StoreFlag
  PowerSettings power;
  std::uint32_t max_node_count = 0;  // 0: as many as there are lines for

  std::vector<ConfiguredNode> nodes;  // in the order of the file
  std::vector<ConfiguredPartition> partitions;
  std::vector<ConfiguredNodeSet> node_sets;
  TokenSettings tokens;
  KeepPartitions keep_partitions{};  // ReconfigFlags: what stays of scontrol's changes at a reconfigure

  // Values of all keys in the table of keys.h as text, by lower-case key; only those that were given.
  std::map<std::string, std::string, std::less<>> given;
  std::vector<ConfigurationNote> unknown;         // keys nobody knows
  std::vector<ConfigurationNote> without_effect;  // keys of Slurm on which nothing here depends
  std::vector<ConfigurationNote> not_built;       // keys of Slurm that do nothing here yet
  std::vector<ConfigurationNote> adjusted;        // values that were put right, as Slurm does
};

// %n: node name, %h: host name, %%: a percent sign.
std::string expand_node_path(const std::string& pattern, const std::string& node, const std::string& host);

constexpr std::size_t cluster_name_max = 64;  // a folder below /run has this name, and sockets have short paths
bool is_cluster_name(std::string_view name);
// Where the controller of this cluster listens for commands unless AuthInfo=socket= says otherwise; a relay on this
// path + ".relay". A folder for each cluster: those of one machine never meet, and each belongs to its SlurmUser.
std::string default_socket_path(std::string_view cluster_name);
// SLURM_CONF, else the first of /etc/slurm/slurm.conf and /etc/millrace/slurm.conf that exists, else the first.
std::string configuration_path();

}  // namespace millrace
