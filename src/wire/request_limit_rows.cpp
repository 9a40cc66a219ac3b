// src/wire/request_limit_rows.cpp - the table of request_limits.h: a row for each text, message and list that a request
// can have, by tag. A test compares it with schema/: a field without a row fails it.
#include "wire/limit_rows.h"
#include "wire/request_limits.h"

namespace millrace::limit_rows {
namespace {

// ---- a job ----

constexpr MessageLimits terminal = plain("Terminal"), x11_wish = plain("X11Wish"), job_signal = plain("JobSignal");
constexpr FieldLimit resource_limit_rows[] = {text(1, "name", word)};
constexpr MessageLimits resource_limit{"ResourceLimit", resource_limit_rows};
constexpr FieldLimit stdio_rows[] = {text(1, "host"), text(3, "secret")};
constexpr MessageLimits stdio{"StdioEndpoint", stdio_rows};
constexpr FieldLimit received_file_rows[] = {path(1, "path")};
constexpr MessageLimits received_file{"ReceivedFile", received_file_rows};

constexpr FieldLimit step_options_rows[] = {text(1, "mpi"),
                                            text(2, "multi_prog", multi_prog_bytes_max),
                                            path(3, "task_prolog"),
                                            path(4, "task_epilog"),
                                            one(6, "receive", received_file),
                                            one(7, "signal", job_signal),
                                            one(790, "x11", x11_wish)};
constexpr MessageLimits step_options{"StepOptions", step_options_rows};

constexpr FieldLimit extras_rows[] = {text(2, "mail_user"),        text(3, "wckey"),          text(4, "extra", 4 * kib),
                                      text(5, "admin_comment"),    text(6, "system_comment"), text(7, "network"),
                                      text(8, "acctg_freq"),       text(9, "profile"),        text(10, "cpu_freq"),
                                      text(11, "gpu_freq"),        text(16, "user_env"),      text(880, "cron"),
                                      text(952, "batch_features"), text(990, "derived_exit")};
constexpr MessageLimits extras{"JobExtras", extras_rows};

constexpr FieldLimit wishes_rows[] = {text(1, "gres", 4 * kib),
                                      text(2, "gpus"),
                                      text(3, "gpus_per_node"),
                                      text(4, "gpus_per_task"),
                                      text(5, "gpus_per_socket"),
                                      text(6, "tres_per_task", 4 * kib),
                                      text(7, "features", 4 * kib),
                                      text(8, "prefer", 4 * kib),
                                      text(9, "licenses", 4 * kib),
                                      text(10, "distribution"),
                                      text(11, "hint"),
                                      text(12, "reservation"),
                                      text(13, "gres_flags"),
                                      text(14, "task_nodes", 1024 * kib),
                                      text(1022, "node_counts", 4 * kib)};
constexpr MessageLimits wishes{"ResourceWishes", wishes_rows};

constexpr FieldLimit job_rows[] = {text(1, "name"),
                                   text(2, "partition"),
                                   text(3, "account"),
                                   text(4, "qos"),
                                   text(5, "comment"),
                                   path(6, "work_dir"),
                                   path(7, "std_in"),
                                   path(8, "std_out"),
                                   path(9, "std_err"),
                                   path(10, "command"),
                                   texts(11, "arguments", argument, 256 * kib, arguments_bytes_max),
                                   text(12, "submit_line", submit_line_bytes_max),
                                   text(13, "submit_host"),
                                   text(26, "required_nodes", list),
                                   text(27, "excluded_nodes", list),
                                   text(31, "dependency", long_list),
                                   text(32, "array", 4 * kib),
                                   many(35, "limits", resource_limit, 32),
                                   one(38, "stdio", stdio),
                                   text(41, "export_env", long_list),
                                   one(100, "resources", wishes),
                                   text(500, "cpu_bind", long_list),
                                   text(501, "mem_bind", long_list),
                                   one(551, "pty", terminal),
                                   one(620, "step_options", step_options),
                                   text(670, "gpu_bind", long_list),
                                   path(671, "container"),
                                   one(820, "extras", extras)};
constexpr MessageLimits job{"JobDescription", job_rows};

constexpr FieldLimit submit_rows[] = {one(1, "job", job, description), text(2, "script", script_bytes_max),
                                      text(3, "environment", environment_bytes_max), text(4, "idempotency_key", word),
                                      many(400, "more_components", job, 256, description)};
constexpr MessageLimits submit{"SubmitJob", submit_rows};

constexpr FieldLimit job_name_rows[] = {text(2, "tasks", list)};
constexpr MessageLimits job_name{"JobName", job_name_rows};
constexpr FieldLimit step_name_rows[] = {one(1, "job", job_name)};
constexpr MessageLimits step_name{"StepName", step_name_rows};

// ---- jobs that are there ----

constexpr FieldLimit cancel_rows[] = {many(1, "jobs", job_name, names_of_jobs),
                                      text(2, "user"),
                                      text(3, "partition"),
                                      text(4, "name"),
                                      text(5, "account"),
                                      text(6, "state"),
                                      text(7, "nodes", list),
                                      text(11, "qos"),
                                      text(12, "reservation")};
constexpr MessageLimits cancel{"CancelJobs", cancel_rows};
constexpr FieldLimit only_jobs[] = {many(1, "jobs", job_name, names_of_jobs)};
constexpr MessageLimits query_jobs{"QueryJobs", only_jobs}, requeue{"RequeueJobs", only_jobs},
    suspend{"SuspendJobs", only_jobs};
constexpr FieldLimit top_rows[] = {many(1, "jobs", job_name, 100)};  // each looks at all jobs of its owner
constexpr MessageLimits top_jobs{"TopJobs", top_rows};
constexpr FieldLimit hold_rows[] = {many(1, "jobs", job_name, names_of_jobs), text(2, "name")};
constexpr MessageLimits hold{"HoldJobs", hold_rows};
constexpr FieldLimit update_job_rows[] = {one(1, "job", job_name),
                                          text(4, "name"),
                                          text(5, "partition"),
                                          text(9, "comment"),
                                          text(16, "dependency", long_list),
                                          text(17, "required_nodes", list),
                                          text(18, "excluded_nodes", list),
                                          text(21, "account"),
                                          path(22, "std_out"),
                                          path(23, "std_err"),
                                          path(24, "work_dir"),
                                          one(100, "resources", wishes),
                                          text(200, "qos"),
                                          one(820, "extras", extras),
                                          path(821, "std_in")};
constexpr MessageLimits update_job{"UpdateJob", update_job_rows};
constexpr FieldLimit explain_rows[] = {text(2, "tasks", list)};
constexpr MessageLimits explain{"ExplainJob", explain_rows};
constexpr FieldLimit notify_rows[] = {one(1, "step", step_name), text(2, "text", 4 * kib)};
constexpr MessageLimits notify_job{"NotifyJob", notify_rows};
constexpr MessageLimits wait_job = plain("WaitJob"), get_script = plain("GetScript"),
                        end_allocation = plain("EndAllocation"), number_job = plain("NumberJob");

// ---- steps ----

constexpr FieldLimit part_rows[] = {text(3, "nodes", list), numbers(4, "cpus_per_node", 256 * kib),
                                    numbers(5, "tasks_per_node", 256 * kib)};
constexpr MessageLimits part{"PartOfStep", part_rows};
constexpr FieldLimit create_step_rows[] = {one(2, "step", job, description),
                                           text(3, "environment", environment_bytes_max), one(762, "part", part),
                                           text(1021, "job_ports")};
constexpr MessageLimits create_step{"CreateStep", create_step_rows};
constexpr FieldLimit query_steps_rows[] = {many(1, "steps", step_name, names_of_jobs)};
constexpr MessageLimits query_steps{"QuerySteps", query_steps_rows};
constexpr FieldLimit one_step[] = {one(1, "step", step_name)};
constexpr MessageLimits signal_step{"SignalStep", one_step}, update_step{"UpdateStep", one_step};
constexpr FieldLimit attach_rows[] = {one(1, "step", step_name), one(2, "peer", stdio)};
constexpr MessageLimits attach_step{"AttachStep", attach_rows};
constexpr FieldLimit sample_rows[] = {many(1, "steps", step_name, names_of_jobs), text(2, "node")};
constexpr MessageLimits sample_steps{"SampleSteps", sample_rows};

// ---- nodes, partitions, reservations ----

constexpr FieldLimit query_nodes_rows[] = {text(1, "nodes", 256 * kib)};
constexpr MessageLimits query_nodes{"QueryNodes", query_nodes_rows};
constexpr FieldLimit update_node_rows[] = {text(1, "nodes", 256 * kib), text(2, "state"),
                                           text(3, "reason"),           text(640, "features", list),
                                           text(641, "comment"),        text(642, "extra", 4 * kib),
                                           text(643, "next_state"),     text(700, "address"),
                                           text(701, "host_name"),      text(1040, "active_features", list),
                                           text(1041, "instance_id"),   text(1042, "instance_type")};
constexpr MessageLimits update_node{"UpdateNode", update_node_rows};
constexpr FieldLimit create_nodes_rows[] = {text(1, "names", list), text(2, "configuration", list)};
constexpr MessageLimits create_nodes{"CreateNodes", create_nodes_rows};
constexpr FieldLimit delete_nodes_rows[] = {text(1, "names", list)};
constexpr MessageLimits delete_nodes{"DeleteNodes", delete_nodes_rows};
constexpr FieldLimit only_name[] = {text(1, "name")};
constexpr MessageLimits query_partitions{"QueryPartitions", only_name}, delete_partition{"DeletePartition", only_name},
    remove_reservation{"RemoveReservation", only_name}, query_reservations{"QueryReservations", only_name};
constexpr FieldLimit update_partition_rows[] = {text(1, "name"), text(2, "state"),
                                                texts(890, "settings", 256 * kib, 256, 1024 * kib)};
constexpr MessageLimits update_partition{"UpdatePartition", update_partition_rows};
constexpr FieldLimit reserve_rows[] = {text(2, "name"),
                                       text(6, "nodes", list),
                                       text(8, "partition"),
                                       text(9, "users", list),
                                       text(10, "accounts", list),
                                       text(11, "groups", list),
                                       text(12, "flags"),
                                       text(13, "features", 4 * kib),
                                       text(14, "comment"),
                                       text(15, "licences", 4 * kib),
                                       text(991, "nodes_op", word),
                                       text(992, "users_op", word),
                                       text(993, "accounts_op", word),
                                       text(994, "groups_op", word),
                                       text(995, "flags_op", word),
                                       text(998, "tres", 4 * kib)};
constexpr MessageLimits reserve{"Reserve", reserve_rows};

// ---- accounts, crontabs, triggers, the daemon ----

constexpr FieldLimit setting_rows[] = {text(1, "key"), text(2, "op", word), text(3, "value", list)};
constexpr MessageLimits setting{"AccountSetting", setting_rows};
constexpr FieldLimit change_accounts_rows[] = {many(3, "where", setting, 4 * kib), many(4, "set", setting, 4 * kib)};
constexpr MessageLimits change_accounts{"ChangeAccounts", change_accounts_rows};
constexpr FieldLimit annotate_rows[] = {numbers(1, "job_ids", names_of_jobs),
                                        text(2, "comment"),
                                        text(3, "admin_comment"),
                                        text(4, "system_comment"),
                                        text(5, "extra", 4 * kib),
                                        text(6, "wckey"),
                                        text(7, "derived_exit"),
                                        text(8, "user")};
constexpr MessageLimits annotate_record{"AnnotateRecord", annotate_rows};
constexpr FieldLimit cron_entry_rows[] = {text(2, "times"), one(3, "job", submit, submission)};
constexpr MessageLimits cron_entry{"CronEntry", cron_entry_rows};
constexpr FieldLimit set_crontab_rows[] = {text(2, "text", 256 * kib), many(3, "entries", cron_entry, 500)};
constexpr MessageLimits set_crontab{"SetCrontab", set_crontab_rows};
constexpr FieldLimit trigger_due_rows[] = {text(2, "about")};
constexpr MessageLimits trigger_due{"TriggerDue", trigger_due_rows};
// When it is due is the controller's word.
constexpr FieldLimit trigger_rows[] = {text(6, "nodes", list), path(9, "program"), many(10, "due", trigger_due, 0)};
constexpr MessageLimits trigger{"Trigger", trigger_rows};
constexpr FieldLimit set_trigger_rows[] = {one(1, "trigger", trigger)};
constexpr MessageLimits set_trigger{"SetTrigger", set_trigger_rows};
constexpr FieldLimit issue_token_rows[] = {text(1, "user")};
constexpr MessageLimits issue_token{"IssueToken", issue_token_rows};
constexpr FieldLimit set_logging_rows[] = {text(2, "add_flags", 4 * kib), text(3, "remove_flags", 4 * kib),
                                           text(4, "nodes", list)};
constexpr MessageLimits set_logging{"SetLogging", set_logging_rows};
constexpr MessageLimits query_config = plain("QueryConfig"), ping = plain("Ping"), shutdown = plain("Shutdown"),
                        reconfigure = plain("Reconfigure"), query_licences = plain("QueryLicences"),
                        query_topology = plain("QueryTopology"), query_accounts = plain("QueryAccounts"),
                        query_priorities = plain("QueryPriorities"), query_crontab = plain("QueryCrontab"),
                        query_triggers = plain("QueryTriggers"), clear_triggers = plain("ClearTriggers"),
                        query_diagnostics = plain("QueryDiagnostics"), set_damping = plain("SetDamping"),
                        query_transactions = plain("QueryTransactions");

constexpr FieldLimit request_rows[] = {text(3, "cluster"),
                                       one(10, "submit", submit, submission),
                                       one(11, "cancel", cancel),
                                       one(12, "query_jobs", query_jobs),
                                       one(13, "query_nodes", query_nodes),
                                       one(14, "query_partitions", query_partitions),
                                       one(15, "query_config", query_config),
                                       one(16, "update_job", update_job),
                                       one(17, "hold", hold),
                                       one(18, "requeue", requeue),
                                       one(19, "update_node", update_node),
                                       one(20, "update_partition", update_partition),
                                       one(21, "ping", ping),
                                       one(22, "shutdown", shutdown),
                                       one(23, "reconfigure", reconfigure),
                                       one(24, "wait_job", wait_job),
                                       one(25, "get_script", get_script),
                                       one(60, "change_accounts", change_accounts),
                                       one(61, "query_accounts", query_accounts),
                                       one(62, "query_priorities", query_priorities),
                                       one(70, "query_licences", query_licences),
                                       one(71, "query_topology", query_topology),
                                       one(80, "reserve", reserve),
                                       one(81, "remove_reservation", remove_reservation),
                                       one(82, "query_reservations", query_reservations),
                                       one(83, "explain", explain),
                                       one(450, "suspend", suspend),
                                       one(550, "create_step", create_step),
                                       one(551, "end_allocation", end_allocation),
                                       one(600, "query_steps", query_steps),
                                       one(601, "signal_step", signal_step),
                                       one(602, "attach_step", attach_step),
                                       one(603, "sample_steps", sample_steps),
                                       one(700, "create_nodes", create_nodes),
                                       one(701, "delete_nodes", delete_nodes),
                                       one(730, "update_step", update_step),
                                       one(800, "query_diagnostics", query_diagnostics),
                                       one(850, "notify_job", notify_job),
                                       one(851, "top_jobs", top_jobs),
                                       one(880, "set_crontab", set_crontab),
                                       one(881, "query_crontab", query_crontab),
                                       one(882, "set_trigger", set_trigger),
                                       one(883, "query_triggers", query_triggers),
                                       one(884, "clear_triggers", clear_triggers),
                                       one(890, "delete_partition", delete_partition),
                                       one(891, "set_damping", set_damping),
                                       one(892, "issue_token", issue_token),
                                       one(970, "set_logging", set_logging),
                                       one(990, "query_transactions", query_transactions),
                                       one(991, "annotate_record", annotate_record),
                                       one(995, "number_job", number_job)};
constexpr MessageLimits request{"Request", request_rows};

}  // namespace

constinit const MessageLimits job_limits = job;

}  // namespace millrace::limit_rows

namespace millrace {

const MessageLimits& request_limits() { return limit_rows::request; }

}  // namespace millrace
