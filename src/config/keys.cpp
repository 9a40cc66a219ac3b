// src/config/keys.cpp - see keys.h; the order of rows is the order of `scontrol show config`.
#include "config/keys.h"

#include <algorithm>

#include "base/text.h"
#include "config/key_setters.h"

namespace millrace {
namespace {

using C = Configuration;
using enum KeyKind;
using enum KeyEffect;
constexpr bool show = true, quiet = false;

// clang-format off
constexpr ConfigKey rows[] = {
    {"AccountingStorageBackupHost", text, "", not_built, show, "second accounting daemon", nullptr},
    {"AccountingStorageEnforce", text, "none", works, show, "which accounting limits are enforced", setter::enforce},
    {"AccountingStorageHost", text, "localhost", no_effect, show, "host of the accounting daemon", nullptr},
    {"AccountingStorageExternalHost", text, "", not_built, show, "further accounting daemons", nullptr},
    {"AccountingStorageParameters", text, "", no_effect, show, "options of the accounting storage", nullptr},
    {"AccountingStoragePass", text, "", no_effect, quiet, "secret of the accounting daemon", nullptr},
    {"AccountingStoragePort", number, "6819", no_effect, show, "port of the accounting daemon", nullptr},
    {"AccountingStorageTRES", text, "cpu,mem,energy,node,billing,fs/disk,vmem,pages", works, show, "resources that are accounted", setter::tracked_tres},
    {"AccountingStorageType", text, "", not_built, show, "where accounting records go", nullptr},
    {"AccountingStorageUser", text, "", no_effect, quiet, "user at the accounting storage", nullptr},
    {"AccountingStoreFlags", text, "", works, show, "what is kept of a job for sacct after MinJobAge: job_script, job_env, job_comment, job_extra", setter::store_flags},
    {"AccountingStoreJobComment", text, "", works, quiet, "old form of AccountingStoreFlags=job_comment", setter::store_comment},
    {"AcctGatherEnergyType", text, "", not_built, show, "energy measurement", nullptr},
    {"AcctGatherFilesystemType", text, "", not_built, show, "file system measurement", nullptr},
    {"AcctGatherInterconnectType", text, "", not_built, show, "network measurement", nullptr},
    {"AcctGatherNodeFreq", seconds, "0", agrees, show, "interval of energy measurement", nullptr},
    {"AcctGatherProfileType", text, "", not_built, show, "profiling", nullptr},
    {"AllowSpecResourcesUsage", flag, "no", works, show, "--core-spec and --thread-spec of a job count, whatever CoreSpecCount of its nodes says; otherwise they are ignored, and commands say so", setter::flag<&C::allow_spec_resources>},
    {"AuthAltTypes", text, "", works, show, "further ways to prove identity: auth/jwt makes tokens (scontrol token)", setter::other_authentication},
    {"AuthAltParameters", text, "", works, show, "options of AuthAltTypes: jwt_key=, disable_token_creation, max_token_lifespan=", setter::token_parameters},
    {"AuthInfo", text, "", works, show, "socket=PATH: the unix socket on which commands reach the controller, or munged's where the path has /munge in it", setter::auth_info},
    {"AuthType", text, "auth/munge", works, show, "auth/munge: nodes without a key file prove themselves by MUNGE where it runs; users are always known by the kernel", setter::auth_type},
    {"BatchStartTimeout", seconds, "10", no_effect, show, "time a batch job may take to start", setter::in_seconds<&C::batch_start_timeout>},
    {"BcastExclude", text, "/lib,/usr/lib,/lib64,/usr/lib64", works, show, "folders whose libraries sbcast and srun --bcast do not copy, or none", nullptr},
    {"BcastParameters", text, "", works, show, "of sbcast and srun --bcast: DestDir=, Compression=zlib or none, send_libs", setter::bcast_parameters},
    {"BOOT_TIME", live, "", works, show, "when the controller started", nullptr},
    {"BurstBufferType", text, "", not_built, show, "burst buffer plugin", nullptr},
    {"CertgenParameters", text, "", no_effect, show, "options of CertgenType", nullptr},
    {"CertgenType", text, "", no_effect, show, "certificate generation", nullptr},
    {"CertmgrParameters", text, "", no_effect, show, "options of CertmgrType", nullptr},
    {"CertmgrType", text, "", no_effect, show, "certificate management", nullptr},
    {"CliFilterParameters", text, "", not_built, show, "options of CliFilterPlugins", nullptr},
    {"CliFilterPlugins", text, "", not_built, show, "filters of command lines", nullptr},
    {"ClusterName", text, "", works, show, "name of the cluster", setter::cluster_name},
    {"CommunicationParameters", text, "", no_effect, show, "options of communication", nullptr},
    {"CompleteWait", seconds, "0", works, show, "no job starts while others have been completing for less than this", setter::in_seconds<&C::complete_wait>},
    {"CpuFreqDef", text, "Unknown", agrees, show, "default processor frequency", nullptr},
    {"CpuFreqGovernors", text, "OnDemand,Performance,UserSpace", agrees, show, "frequency governors allowed", nullptr},
    {"CredType", text, "cred/munge", no_effect, show, "accepted and shown; launch credentials are signed by the controller", nullptr},
    {"DataParserParameters", text, "", no_effect, show, "options of JSON output", nullptr},
    {"DebugFlags", text, "", works, show, "subsystems to log in detail", setter::debug_flag_list},
    {"DefMemPerNode", memory, "", works, show, "memory per node of a job that asks for none, MiB", setter::memory<&C::default_memory_per_node>},
    {"DefMemPerCPU", memory, "", works, show, "memory per processor of a job that asks for none, MiB", setter::memory<&C::default_memory_per_cpu>},
    {"DefMemPerGPU", memory, "", works, quiet, "memory per GPU of a job that asks for none, MiB", setter::default_memory_per_gpu},
    {"DefRuntimePlugin", text, "runtime/oci", agrees, show, "container runtime", nullptr},
    {"DependencyParameters", text, "", works, show, "kill_invalid_depend: jobs that wait for what can never be are cancelled; others are named as not built", setter::dependency_parameters},
    {"DisableRootJobs", flag, "no", works, show, "refuse jobs of root", setter::flag<&C::disable_root_jobs>},
    {"EioTimeout", number, "60", no_effect, show, "time srun waits for output after the tasks ended", nullptr},
    {"EnforcePartLimits", upper, "NO", works, show, "jobs beyond the limits of their partitions are refused: ANY: when no partition would do, ALL: when one would not; NO: they wait", setter::enforce_part_limits},
    {"Epilog", text, "", works, quiet, "program run on a node after each job; may be given several times, and as a pattern", setter::epilog},
    {"EpilogSlurmctld", text, "", works, quiet, "program the controller runs after each job; may be given several times", setter::controller_epilog},
    {"EpilogMsgTime", microseconds, "2000", no_effect, show, "time the controller needs for an epilog message", nullptr},
    {"FairShareDampeningFactor", number, "1", works, show, "dampening of fair share", setter::weight<&PriorityPolicy::damping>},
    {"FederationParameters", text, "", no_effect, show, "options of federations", nullptr},
    {"FirstJobId", number, "1", works, show, "first job id given out", setter::number<&C::first_job_id>},
    {"GresTypes", text, "", works, show, "kinds of generic resources that nodes have: gpu, shard, nic", setter::gres_types},
    {"GpuFreqDef", text, "", not_built, show, "default GPU frequency", nullptr},
    {"GroupUpdateForce", number, "1", no_effect, show, "refresh of group membership", nullptr},
    {"GroupUpdateTime", seconds, "600", no_effect, show, "interval of that refresh", nullptr},
    {"HASH_VAL", live, "", works, show, "whether all hosts have the same file", nullptr},
    {"HashPlugin", text, "hash/k12", no_effect, show, "hash of messages", nullptr},
    {"HealthCheckInterval", seconds, "0", works, show, "interval of node checks", setter::health_check_interval},
    {"HealthCheckNodeState", text, "ANY", works, show, "nodes that are checked: ANY, IDLE, ALLOC, MIXED, START_ONLY", setter::health_check_state},
    {"HealthCheckProgram", text, "", works, show, "program that checks a node", setter::health_check_program},
    {"HealthCheckTimeout", seconds, "0", works, show, "seconds a check may take; 0: a minute", setter::health_check_limit},
    {"HttpParserType", text, "", no_effect, show, "HTTP parser", nullptr},
    {"InactiveLimit", seconds, "0", works, show, "time after which an allocation whose srun or salloc is gone is ended; 0: never", setter::in_seconds<&C::inactive_limit>},
    {"InteractiveStepOptions", text, "--interactive --preserve-env --pty $SHELL", works, show, "what salloc gives srun to start the interactive step", nullptr},
    {"JobAcctGatherFrequency", text, "30", works, show, "seconds between measurements of tasks, as 30 or task=30; 0: none", setter::measure_frequency},
    {"JobAcctGatherType", text, "", works, show, "whether tasks are measured while they run: jobacct_gather/none, linux or cgroup", setter::measure_type},
    {"JobAcctGatherParams", text, "", not_built, show, "options of task measurement", nullptr},
    {"JobCompHost", text, "localhost", no_effect, show, "host of job completion records", nullptr},
    {"JobCompLoc", text, "", works, show, "the file of JobCompType=jobcomp/filetxt, the program of jobcomp/script", setter::completion_location},
    {"JobCompParams", text, "", not_built, show, "options of job completion records", nullptr},
    {"JobCompPass", text, "", not_built, show, "secret of job completion records", nullptr},
    {"JobCompPassScript", text, "", not_built, quiet, "program that prints that secret", nullptr},
    {"JobCompPort", number, "0", no_effect, show, "port of job completion records", nullptr},
    {"JobCompType", text, "", works, show, "who is told of jobs that ended: jobcomp/filetxt, jobcomp/script, jobcomp/none", setter::completion_type},
    {"JobCompUser", text, "root", no_effect, show, "user of job completion records", nullptr},
    {"JobDefaults", text, "", works, show, "what jobs with GPUs get when they say nothing: DefCpuPerGPU=, DefMemPerGPU=", setter::job_defaults_of_all},
    {"JobFileAppend", switch01, "0", works, show, "batch output is appended to an existing file", setter::flag<&C::job_file_append>},
    {"JobRequeue", switch01, "1", works, show, "batch jobs may be requeued unless they say otherwise", setter::flag<&C::job_requeue>},
    {"JobSubmitPlugins", text, "", works, show, "what is done to submissions: require_timelimit refuses jobs without a limit, all_partitions lets a job that names no partition start in any", setter::job_submit_plugins},
    {"KillOnBadExit", switch01, "0", works, show, "a step ends when one of its tasks fails", setter::flag<&C::kill_on_bad_exit>},
    {"KillWait", seconds, "30", works, show, "time between TERM and KILL", setter::in_seconds<&C::kill_wait>},
    {"LaunchParameters", text, "", works, show, "use_interactive_step: salloc without a command starts a shell on the first node; others are named as not built", nullptr},
    {"LicenseParameters", text, "", not_built, show, "options of licenses", nullptr},
    {"Licenses", text, "", works, show, "licenses of the cluster: name:count, with commas", setter::licences},
    {"LogTimeFormat", text, "iso8601_ms", works, show, "form of times in logs: iso8601, iso8601_ms, rfc5424, rfc5424_ms, rfc3339, clock, short, thread_id", setter::log_time_format},
    {"MailDomain", text, "", works, show, "domain of recipients that have none", setter::mail_domain},
    {"MailProg", text, "/bin/mail", works, show, "program that sends mail: MailProg -s subject recipient", setter::mail_program},
    {"MaxArraySize", number, "1001", works, show, "array indices are below this", setter::number<&C::max_array_size>},
    {"MaxBatchRequeue", number, "5", works, show, "how often a batch job goes back to the queue by itself before it is held; above 254: never", setter::number<&C::max_batch_requeue>},
    {"MaxDBDMsgs", number, "20016", no_effect, show, "messages kept for the accounting daemon", nullptr},
    {"MaxJobCount", number, "10000", works, show, "jobs the controller keeps at once", setter::number<&C::max_job_count>},
    {"MaxJobId", number, "67043328", works, show, "last job id before they start again", setter::number<&C::max_job_id>},
    {"MaxMemPerNode", memory, "", works, show, "most memory per node a job may ask for, MiB", setter::memory<&C::max_memory_per_node>},
    {"MaxMemPerCPU", memory, "", works, show, "most memory per processor, MiB; a job that asks for more gets more processors", setter::memory<&C::max_memory_per_cpu>},
    {"MaxNodeCount", live, "", works, show, "most nodes, with those that are made later", setter::max_node_count},
    {"MaxStepCount", number, "40000", works, show, "most steps of a job, 40000 at most", setter::max_step_count},
    {"MaxTasksPerNode", number, "512", works, show, "most tasks of a step on one node, 65533 at most", setter::max_tasks_per_node},
    {"MCSPlugin", text, "", not_built, show, "security categories", nullptr},
    {"MCSParameters", text, "", not_built, show, "options of MCSPlugin", nullptr},
    {"MessageTimeout", seconds, "10", works, show, "time an answer may take", setter::in_seconds<&C::message_timeout>},
    {"MetricsAuthUsers", text, "", not_built, show, "who may read metrics", nullptr},
    {"MetricsParameters", text, "", not_built, show, "options of metrics", nullptr},
    {"MetricsType", text, "", not_built, show, "metrics", nullptr},
    {"MinJobAge", seconds, "300", works, show, "time an ended job stays visible", setter::in_seconds<&C::min_job_age>},
    {"MpiDefault", text, "", works, show, "how tasks of a parallel program find each other when srun is not told: none, pmi2, pmix", setter::mpi_default},
    {"MpiParams", text, "", works, show, "ports=FIRST-LAST: the ports that srun --resv-ports gives out", setter::mpi_params},
    {"MULTIPLE_SLURMD", live, "", works, show, "several agents on one host", nullptr},
    {"NamespaceType", text, "", works, show, "private file systems of jobs: namespace/tmpfs, with job_container.conf", setter::namespace_type},
    {"NEXT_JOB_ID", live, "", works, show, "id of the next job", nullptr},
    {"NodeFeaturesPlugins", text, "", not_built, show, "changing node features", nullptr},
    {"OverTimeLimit", minutes, "0", works, show, "minutes a job may run beyond its limit, or UNLIMITED; partitions may say otherwise", setter::over_time_limit},
    {"PluginDir", text, "/usr/lib/slurm", no_effect, show, "where plugins lie", nullptr},
    {"PlugStackConfig", text, "", works, show, "the file that names SPANK plugins; it is read and checked, plugins are not loaded yet", nullptr},
    {"PreemptMode", upper, "OFF", works, show, "what happens to preempted jobs: OFF, CANCEL, REQUEUE or SUSPEND; GANG: jobs on the same CPUs take turns", setter::preempt_mode},
    {"PreemptParameters", text, "", not_built, show, "options of preemption", nullptr},
    {"PreemptType", text, "", works, show, "who may take nodes from whom: preempt/none, preempt/partition_prio or preempt/qos", setter::preempt_type},
    {"PreemptExemptTime", duration, "0", works, show, "time a job is safe from preemption", setter::in_seconds<&C::preempt_exempt>},
    {"PrEpParameters", text, "", not_built, show, "options of PrEpPlugins", nullptr},
    {"PrEpPlugins", text, "prep/script", agrees, show, "prolog and epilog plugins", nullptr},
    {"PriorityParameters", text, "", no_effect, show, "options of priorities", nullptr},
    {"PrioritySiteFactorParameters", text, "", not_built, show, "options of the site factor", nullptr},
    {"PrioritySiteFactorPlugin", text, "", not_built, show, "site factor of priorities", nullptr},
    {"PriorityDecayHalfLife", duration, "7-0", works, show, "half life of past usage", setter::priority_time<&PriorityPolicy::half_life_seconds>},
    {"PriorityCalcPeriod", duration, "5", works, show, "interval of priority calculation, minutes", setter::priority_time<&PriorityPolicy::calc_period_seconds>},
    {"PriorityFavorSmall", flag, "no", works, show, "small jobs first", setter::priority_favor_small},
    {"PriorityFlags", text, "", works, show, "options of priorities", setter::priority_flags},
    {"PriorityMaxAge", duration, "7-0", works, show, "age after which waiting longer does not count", setter::priority_time<&PriorityPolicy::max_age_seconds>},
    {"PriorityType", text, "priority/multifactor", works, show, "how jobs are ordered", setter::priority_type},
    {"PriorityUsageResetPeriod", upper, "NONE", works, show, "when past usage is forgotten", setter::priority_reset},
    {"PriorityWeightAge", number, "0", works, show, "weight of age", setter::weight<&PriorityPolicy::age>},
    {"PriorityWeightAssoc", number, "0", works, show, "weight of the association", setter::weight<&PriorityPolicy::assoc>},
    {"PriorityWeightFairShare", number, "0", works, show, "weight of fair share", setter::weight<&PriorityPolicy::fairshare>},
    {"PriorityWeightJobSize", number, "0", works, show, "weight of size", setter::weight<&PriorityPolicy::job_size>},
    {"PriorityWeightPartition", number, "0", works, show, "weight of the partition", setter::weight<&PriorityPolicy::partition>},
    {"PriorityWeightQOS", number, "0", works, show, "weight of the quality of service", setter::weight<&PriorityPolicy::qos>},
    {"PriorityWeightTRES", text, "", works, show, "weights of resources", setter::priority_tres},
    {"PrivateData", text, "none", works, show, "what users do not see of others: accounts, events, jobs, nodes, partitions, reservations, usage, users; cloud: nodes that are powered down are shown", setter::private_data},
    {"ProctrackType", text, "proctrack/cgroup", works, show, "how processes of a job are found: proctrack/cgroup, proctrack/linuxproc or proctrack/pgid", setter::proctrack_type},
    {"Prolog", text, "", works, quiet, "program run on a node before each job; may be given several times, and as a pattern", setter::prolog},
    {"PrologSlurmctld", text, "", works, quiet, "program the controller runs before each job; may be given several times", setter::controller_prolog},
    {"PrologEpilogTimeout", number, "65534", works, show, "seconds each prolog and epilog may take; 65534: as long as it likes", setter::prolog_epilog_limit},
    {"EpilogTimeout", number, "", works, quiet, "seconds each epilog may take", setter::epilog_limit},
    {"PrologTimeout", number, "", works, quiet, "seconds each prolog may take", setter::prolog_limit},
    {"PrologFlags", text, "", works, show, "Alloc, ForceRequeueOnFail; others are named as not built", setter::prolog_flags},
    {"PropagatePrioProcess", number, "0", agrees, show, "nice value of jobs", nullptr},
    {"PropagateResourceLimits", text, "ALL", works, show, "limits of the submitter that jobs get", setter::text<&C::propagate_limits>},
    {"PropagateResourceLimitsExcept", text, "", works, show, "limits of the submitter that jobs do not get", setter::text<&C::propagate_limits_except>},
    {"RebootProgram", text, "", works, show, "program that reboots a node", setter::reboot_program},
    {"ReconfigFlags", text, "", works, show, "what stays at a reconfiguration of partitions that scontrol changed: KeepPartInfo, KeepPartState", setter::reconfig_flags},
    {"RequeueExit", text, "", works, show, "exit codes after which a batch job is requeued: 1,3-5", setter::requeue_exit},
    {"RequeueExitHold", text, "", works, show, "exit codes after which a batch job is requeued and held", setter::requeue_exit_hold},
    {"ResumeFailProgram", text, "", works, show, "program for nodes that did not come up", setter::resume_fail_program},
    {"ResumeProgram", text, "", works, show, "program that powers nodes up", setter::resume_program},
    {"ResumeRate", rate, "300", works, show, "nodes powered up in a minute", setter::resume_rate},
    {"ResumeTimeout", seconds, "60", works, show, "time a node may take to boot", setter::resume_timeout},
    {"ResvEpilog", text, "", works, show, "program of the controller for the end of a reservation, whose name it is given", setter::reservation_epilog},
    {"ResvOverRun", minutes, "0", agrees, show, "time jobs may outlive their reservation", nullptr},
    {"ResvProlog", text, "", works, show, "program of the controller for the start of a reservation, whose name it is given", setter::reservation_prolog},
    {"ReturnToService", number, "0", works, show, "when a node that was down comes back by itself", setter::return_to_service},
    {"SchedulerParameters", text, "", works, show, "max_script_size=, requeue_delay=, default_queue_depth=, bf_*=, millrace_policy=, millrace_predict", setter::scheduler_parameters},
    {"SchedulerTimeSlice", seconds, "30", works, show, "time slice of gang scheduling", setter::in_seconds<&C::time_slice>},
    {"SchedulerType", text, "sched/backfill", works, show, "sched/backfill or sched/builtin (first in, first out)", setter::scheduler_type},
    {"ScronParameters", text, "", works, show, "enable: users may have crontabs (scrontab); explicit_scancel is how it always is", setter::scron_parameters},
    {"SelectType", text, "select/cons_tres", works, show, "what is given out: parts of nodes or whole ones", setter::select_type},
    {"SelectTypeParameters", upper, "CR_Core_Memory", works, show, "which parts of nodes are given out", setter::select_type_parameters},
    {"SerializerParameters", text, "", no_effect, show, "options of JSON output", nullptr},
    {"SerializerPlugins", text, "", no_effect, show, "JSON plugins", nullptr},
    {"SlurmUser", user, "root", works, show, "user the controller runs as", setter::text<&C::slurm_user>},
    {"SlurmctldAddr", text, "", works, show, "address of the controller", setter::controller_address},
    {"SlurmctldDebug", text, "info", works, show, "how much the controller logs: quiet, fatal, error, info, verbose, debug to debug5", setter::controller_debug},
    {"SlurmctldHost", indexed, "", works, show, "host of the controller, name or name(address)", setter::controller_host},
    {"SlurmctldHttpAuthParameters", text, "", not_built, show, "options of HTTP", nullptr},
    {"SlurmctldLogFile", text, "", works, show, "log of the controller", setter::text<&C::controller_log_file>},
    {"SlurmctldPort", number, "6817", works, show, "port of the controller", setter::port_controller},
    {"SlurmctldSyslogDebug", text, "", works, show, "how much the controller says to syslog besides", setter::controller_syslog},
    {"SlurmctldPrimaryOffProg", text, "", not_built, show, "program run when the controller gives way", nullptr},
    {"SlurmctldPrimaryOnProg", text, "", not_built, show, "program run when the controller takes over", nullptr},
    {"SlurmctldTimeout", seconds, "120", no_effect, show, "time after which a standby takes over", setter::in_seconds<&C::controller_timeout>},
    {"SlurmctldParameters", text, "", works, show, "millrace_keep_ended=, millrace_keep_ended_rows=: how long (seconds) and how many ended jobs and steps sacct knows; allow_user_triggers; cloud_dns, cloud_reg_addrs", setter::controller_parameters},
    {"SlurmdDebug", text, "info", works, show, "how much agents log, and supervisors through them", setter::agent_debug},
    {"SlurmdHttpAuthParameters", text, "", not_built, show, "options of HTTP", nullptr},
    {"SlurmdLogFile", text, "", works, show, "log of an agent; %n is the node, %h the host", setter::text<&C::agent_log_file>},
    {"SlurmdParameters", text, "", works, show, "config_overrides; others are named as not built", setter::agent_parameters},
    {"SlurmdPidFile", text, "/var/run/slurmd.pid", works, show, "process id of an agent", setter::text<&C::agent_pid_file>},
    {"SlurmdPort", number, "6818", works, show, "port of agents", setter::port_agent},
    {"SlurmdSpoolDir", text, "/var/spool/slurmd", works, show, "state of an agent; %n is the node, %h the host", setter::text<&C::agent_spool_pattern>},
    {"SlurmdSyslogDebug", text, "", works, show, "how much agents say to syslog besides", setter::agent_syslog},
    {"SlurmdTimeout", seconds, "300", works, show, "time after which a silent node is down", setter::in_seconds<&C::agent_timeout>},
    {"SlurmdUser", user, "root", agrees, show, "user agents run as", nullptr},
    {"SlurmrestdHttpAuthParameters", text, "", not_built, show, "options of HTTP", nullptr},
    {"SlurmrestdParameters", text, "", not_built, show, "options of the REST gateway", nullptr},
    {"SlurmSchedLogFile", text, "", works, show, "log of what the scheduler decides", setter::schedule_log_file},
    {"SlurmSchedLogLevel", number, "0", works, show, "whether the scheduler writes that log: 0 or 1", setter::schedule_log_level},
    {"SlurmstepdParameters", text, "", no_effect, show, "options of supervisors", nullptr},
    {"SlurmctldPidFile", text, "/var/run/slurmctld.pid", works, show, "process id of the controller", setter::text<&C::controller_pid_file>},
    {"SLURM_CONF", live, "", works, show, "this file", nullptr},
    {"SLURM_VERSION", live, "", works, show, "version of Slurm whose behaviour is kept", nullptr},
    {"SrunEpilog", text, "", works, show, "program srun runs at its end", setter::text<&C::srun_epilog>},
    {"SrunPortRange", text, "0-0", works, show, "ports on which srun, sattach and sbcast listen for tasks; 0-0: any", setter::srun_port_range},
    {"SrunProlog", text, "", works, show, "program srun runs at its start", setter::text<&C::srun_prolog>},
    {"StateSaveLocation", text, "/var/spool", works, show, "directory of the event log and the cluster key", setter::text<&C::state_dir>},
    {"SuspendExcNodes", text, "", works, show, "nodes that stay on", setter::suspend_except_nodes},
    {"SuspendExcParts", text, "", works, show, "partitions whose nodes stay on", setter::suspend_except_partitions},
    {"SuspendExcStates", text, "", works, show, "states in which nodes stay on", setter::suspend_except_states},
    {"SuspendProgram", text, "", works, show, "program that powers nodes down", setter::suspend_program},
    {"SuspendRate", rate, "60", works, show, "nodes powered down in a minute", setter::suspend_rate},
    {"SuspendTime", seconds_or_infinite, "INFINITE", works, show, "idle nodes are powered down after this", setter::suspend_time},
    {"SuspendTimeout", seconds, "30", works, show, "time a node may take to go down", setter::suspend_timeout},
    {"SwitchParameters", text, "", not_built, show, "options of SwitchType", nullptr},
    {"SwitchType", text, "", not_built, show, "interconnect plugin", nullptr},
    {"TaskEpilog", text, "", works, show, "program run after each task", setter::text<&C::task_epilog>},
    {"TaskPlugin", text, "", works, show, "how tasks are kept apart: task/affinity, task/cgroup, both, or task/none", setter::task_plugin},
    {"TaskPluginParam", text, "", works, show, "binding of tasks that ask for none: none, cores, sockets, threads, verbose, autobind=", setter::task_plugin_param},
    {"TaskProlog", text, "", works, show, "program run before each task", setter::text<&C::task_prolog>},
    {"TCPTimeout", seconds, "2", no_effect, show, "time a connection may take", setter::in_seconds<&C::tcp_timeout>},
    {"TLSParameters", text, "", no_effect, show, "options of TLS", nullptr},
    {"TLSType", text, "tls/none", no_effect, show, "accepted and shown; daemons always speak encrypted", nullptr},
    {"TmpFS", text, "/tmp", works, show, "file system whose size is TmpDisk", setter::text<&C::tmp_fs>},
    {"TopologyParam", text, "", not_built, show, "options of topology", nullptr},
    {"TopologyPlugin", text, "topology/flat", works, show, "how topology.conf is read: topology/flat, topology/tree or topology/block", setter::topology_plugin},
    {"TrackWCKey", flag, "no", works, show, "jobs have workload keys, and users a default one (sacctmgr)", setter::flag<&C::track_wckeys>},
    {"TreeWidth", number, "16", no_effect, show, "fan-out of messages", nullptr},
    {"UsePam", flag, "no", agrees, show, "PAM sessions for jobs", nullptr},
    {"UnkillableStepProgram", text, "", works, show, "program that is run on a node where something of a job does not end", setter::unkillable_program},
    {"UnkillableStepTimeout", seconds, "60", works, show, "seconds after SIGKILL from which that is so; the node is drained", nullptr},
    {"UrlParserType", text, "", no_effect, show, "URL parser", nullptr},
    {"VSizeFactor", percent, "0", agrees, show, "limit of virtual memory", nullptr},
    {"WaitTime", seconds, "0", works, show, "time srun waits for the others after its first task ended", setter::in_seconds<&C::wait_time>},
    {"X11Parameters", text, "", not_built, show, "options of X11 forwarding", nullptr},
    // Accepted, never shown.
    {"ControlMachine", text, "", works, quiet, "old name of SlurmctldHost", setter::controller_host},
    {"ControlAddr", text, "", works, quiet, "old name of SlurmctldAddr", setter::controller_address},
    {"BackupController", text, "", not_built, quiet, "host of a second controller", nullptr},
    {"BackupAddr", text, "", not_built, quiet, "its address", nullptr},
    {"BurstBufferParameters", text, "", not_built, quiet, "options of burst buffers", nullptr},
    {"CoreSpecPlugin", text, "", no_effect, quiet, "specialised cores", nullptr},
    {"CryptoType", text, "", no_effect, quiet, "old name of CredType", nullptr},
    {"ExtSensorsFreq", text, "", no_effect, quiet, "external sensors", nullptr},
    {"ExtSensorsType", text, "", no_effect, quiet, "external sensors", nullptr},
    {"FastSchedule", text, "", no_effect, quiet, "obsolete", nullptr},
    {"GetEnvTimeout", text, "", no_effect, quiet, "time --get-user-env may take", nullptr},
    {"AcctGatherInfinibandType", text, "", no_effect, quiet, "old name of AcctGatherInterconnectType", nullptr},
    {"JobContainerType", text, "", works, quiet, "old name of NamespaceType: job_container/tmpfs", setter::namespace_type},
    {"JobCredentialPrivateKey", text, "", no_effect, quiet, "obsolete", nullptr},
    {"JobCredentialPublicCertificate", text, "", no_effect, quiet, "obsolete", nullptr},
    {"KeepAliveTime", text, "", no_effect, quiet, "keep-alive of connections", nullptr},
    {"LaunchType", text, "", no_effect, quiet, "obsolete", nullptr},
    {"PowerAction", text, "", not_built, quiet, "power saving", nullptr},
    {"PowerParameters", text, "", no_effect, quiet, "power saving", nullptr},
    {"PowerPlugin", text, "", no_effect, quiet, "power saving", nullptr},
    {"RoutePlugin", text, "", no_effect, quiet, "obsolete", nullptr},
    {"SallocDefaultCommand", text, "", works, quiet, "what salloc runs, by a shell, when it is given no command", nullptr},
    {"SbcastParameters", text, "", works, quiet, "old name of BcastParameters", setter::bcast_parameters},
};
// clang-format on

constexpr bool rows_have_help() {
  for (const ConfigKey& row : rows)
    if (row.help.empty()) return false;
  return true;
}
static_assert(rows_have_help(), "a key without help is a key nobody can use");

std::unexpected<Error> not_a(std::string_view value, std::string_view what) {
  return fail(Errc::invalid, "'" + std::string{value} + "' is not " + std::string{what});
}

}  // namespace

std::span<const ConfigKey> config_keys() { return rows; }

const ConfigKey* find_config_key(std::string_view name) {
  const auto it =
      std::ranges::find_if(rows, [&](const ConfigKey& row) { return equals_ignoring_case(row.name, name); });
  return it == std::end(rows) ? nullptr : it;
}

Result<void> check_kind(const ConfigKey& key, std::string_view value) {
  const auto number = parse_integer(value);
  const bool is_count = number && *number >= 0 && *number <= UINT32_MAX;
  const bool is_word =
      std::ranges::any_of(std::initializer_list<std::string_view>{"yes", "no", "true", "false", "0", "1"},
                          [&](std::string_view word) { return equals_ignoring_case(word, value); });
  switch (key.kind) {
    case KeyKind::number:
      if (key.set == setter::port_controller) return {};  // may be a range
      [[fallthrough]];
    case KeyKind::rate:
    case KeyKind::percent:
    case KeyKind::microseconds:
      return is_count ? Result<void>{} : not_a(value, "a number");
    case KeyKind::seconds:
    case KeyKind::minutes:
    case KeyKind::seconds_or_infinite:
    case KeyKind::duration:
      if (is_count || equals_ignoring_case(value, "none") ||
          (key.kind == KeyKind::seconds_or_infinite && value == "-1"))
        return {};
      return parse_duration(value) ? Result<void>{} : not_a(value, "a time, as in 120 or 1-00:00:00");
    case KeyKind::switch01:
    case KeyKind::flag:
      return is_word ? Result<void>{} : not_a(value, "YES or NO");
    case KeyKind::memory:
      if (parse_memory(value) || equals_ignoring_case(value, "unlimited")) return {};
      return not_a(value, "a size in MiB, as in 2000 or 4G");
    case KeyKind::live:
      return key.name == "MaxNodeCount" ? Result<void>{} : not_a(value, "something to set: this key is only shown");
    case KeyKind::text:
    case KeyKind::upper:
    case KeyKind::user:
    case KeyKind::indexed:
      return value.empty() ? not_a(value, "a value") : Result<void>{};
  }
  return {};
}

}  // namespace millrace
