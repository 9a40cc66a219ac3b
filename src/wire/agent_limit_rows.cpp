// src/wire/agent_limit_rows.cpp - the table of request_limits.h for what agents say to the controller: a row for each
// text, message and list, by tag. A test compares it with schema/: a field without a row fails it.
#include <array>

#include "wire/limit_rows.h"
#include "wire/limits.h"

namespace millrace::limit_rows {
namespace {

constexpr std::size_t node_list = 1024 * kib;    // of a job: all nodes of a large cluster, and in a random order
constexpr std::size_t by_node = 256 * kib;       // numbers, one for each node
constexpr std::size_t by_task = 1024 * kib;      // numbers, one for each task
constexpr std::size_t words = 64 * kib;          // to be shown; some name what a user wrote
constexpr std::size_t inventory_max = 64 * kib;  // it is kept in the log and shown to everybody
constexpr std::size_t attempts_max = 64 * kib;

// ---- attempts and steps ----

constexpr MessageLimits usage = plain("StepUsage");
constexpr FieldLimit step_wishes_rows[] = {text(1, "gres", list),          text(2, "tres_per_step", list),
                                           text(3, "tres_per_node", list), text(4, "tres_per_socket", list),
                                           text(5, "tres_per_task", list), text(6, "cpus_per_tres", list),
                                           text(7, "mem_per_tres", list)};
constexpr MessageLimits step_wishes{"StepWishes", step_wishes_rows};
constexpr FieldLimit step_fact_rows[] = {
    path(2, "name"),         text(3, "nodes", node_list),     path(8, "srun_host"),      path(10, "distribution"),
    one(17, "usage", usage), one(731, "wishes", step_wishes), text(1020, "ports", list),
};
constexpr MessageLimits step_fact{"StepFact", step_fact_rows};
constexpr FieldLimit step_facts_rows[] = {many(2, "facts", step_fact, 64 * kib)};
constexpr MessageLimits step_facts{"StepFacts", step_facts_rows};

constexpr FieldLimit attempt_rows[] = {text(7, "problem", words), one(600, "usage", usage),
                                       many(601, "steps", step_fact, 64 * kib)};
constexpr MessageLimits attempt{"AttemptStatus", attempt_rows};

// ---- the node ----

constexpr FieldLimit found_devices_rows[] = {text(1, "name"), text(2, "type"), text(4, "files", list),
                                             numbers(5, "near", 4096), numbers(795, "links", 64 * kib)};
constexpr MessageLimits found_devices{"FoundDevices", found_devices_rows};
constexpr FieldLimit inventory_rows[] = {text(8, "arch"),           text(9, "os"),
                                         text(10, "host_name"),     many(670, "devices", found_devices, 1024),
                                         text(1040, "instance_id"), text(1041, "instance_type"),
                                         text(1042, "extra", list)};
constexpr MessageLimits inventory{"Inventory", inventory_rows};
constexpr FieldLimit hello_rows[] = {text(2, "node"),
                                     text(3, "boot_id"),
                                     text(4, "version"),
                                     one(5, "inventory", inventory, inventory_max),
                                     many(6, "attempts", attempt, attempts_max, agent_frame_max),
                                     text(701, "configuration", list),
                                     text(1311, "spool_id")};
constexpr MessageLimits hello{"AgentHello", hello_rows};

constexpr FieldLimit device_state_rows[] = {text(1, "name"), text(2, "type"), text(9, "trouble")};
constexpr MessageLimits device_state{"DeviceState", device_state_rows};
constexpr FieldLimit telemetry_rows[] = {many(670, "devices", device_state, 4096)};
constexpr MessageLimits telemetry{"Telemetry", telemetry_rows};
constexpr FieldLimit report_rows[] = {many(1, "attempts", attempt, attempts_max, agent_frame_max),
                                      one(2, "telemetry", telemetry, inventory_max)};
constexpr MessageLimits report{"AgentReport", report_rows};

// ---- clients of the node ----

constexpr FieldLimit relayed_rows[] = {text(4, "request", request_size_max)};
constexpr MessageLimits relayed{"RelayedRequest", relayed_rows}, relay_closed = plain("RelayClosed");

// ---- step managers of steps ----

constexpr FieldLimit failure_rows[] = {text(2, "text", words), texts(3, "notes", words, 1024, 1024 * kib)};
constexpr MessageLimits failure{"Failure", failure_rows};
constexpr FieldLimit news_rows[] = {text(3, "nodes", node_list),
                                    text(5, "problem", words),
                                    texts(6, "notes", words, 1024, 1024 * kib),
                                    numbers(761, "cpus_per_node", by_node),
                                    numbers(762, "tasks_per_node", by_node),
                                    numbers(950, "lost_tasks", by_task)};
constexpr MessageLimits news{"StepNews", news_rows};
constexpr FieldLimit step_reply_rows[] = {one(3, "news", news), one(4, "failure", failure)};
constexpr MessageLimits step_reply{"StepReply", step_reply_rows};

constexpr FieldLimit grant_rows[] = {text(1, "name"), text(2, "type"), numbers(4, "devices", 4096),
                                     text(6, "files", list)};
constexpr MessageLimits grant{"DeviceGrant", grant_rows};
constexpr FieldLimit allocation_node_rows[] = {many(1, "devices", grant, 1024), text(2, "cpu_ids", list),
                                               texts(5, "features", list, 4096, list)};
constexpr MessageLimits allocation_node{"AllocationNode", allocation_node_rows};

// Components of a heterogeneous job are plans, and have none themselves.
constexpr auto plan_rows(const MessageLimits& component, std::size_t components_max) {
  return std::to_array<FieldLimit>({text(4, "script", script_bytes_max),
                                    text(5, "environment", environment_bytes_max),
                                    one(6, "job", job_limits, description_size_max),
                                    text(7, "nodes", node_list),
                                    numbers(8, "cpus_per_node", by_node),
                                    numbers(9, "tasks_per_node", by_node),
                                    numbers(10, "memory_per_node_mib", by_node),
                                    text(12, "node_name"),
                                    text(13, "partition"),
                                    text(14, "cluster"),
                                    text(24, "group_name"),
                                    path(27, "config_path"),
                                    numbers(100, "ranks", by_task),
                                    text(101, "cpu_ids", list),
                                    many(102, "devices", grant, 1024),
                                    text(104, "licenses", list),
                                    text(105, "topology_address", list),
                                    text(106, "topology_pattern", list),
                                    many(400, "het_components", component, components_max, launch_overhead_max),
                                    numbers(551, "step_cpus", by_node),
                                    text(552, "allocation_nodes", node_list),
                                    numbers(553, "allocation_cpus_per_node", by_node),
                                    path(620, "task_prolog"),
                                    path(621, "task_epilog"),
                                    many(730, "allocation", allocation_node, by_node),
                                    many(733, "job_devices", grant, 1024),
                                    text(1020, "ports", list)});
}
constexpr MessageLimits no_component = plain("LaunchPlan");
constexpr auto component_rows = plan_rows(no_component, 0);
constexpr MessageLimits component{"LaunchPlan", component_rows};
constexpr auto launch_plan_rows = plan_rows(component, 256);
constexpr MessageLimits launch_plan{"LaunchPlan", launch_plan_rows};
constexpr FieldLimit credential_rows[] = {text(1, "cluster"),      numbers(7, "groups", 64 * kib),
                                          text(8, "user_name"),    text(9, "nodes", node_list),
                                          text(11, "plan_digest"), text(13, "boot_id")};
constexpr MessageLimits credential{"Credential", credential_rows};
constexpr FieldLimit step_launch_rows[] = {one(1, "plan", launch_plan, agent_frame_max),
                                           one(2, "identity", credential)};
constexpr MessageLimits step_launch{"StepLaunch", step_launch_rows};

constexpr MessageLimits kill = plain("Kill"), forget = plain("Forget"), signal = plain("SignalAttempt");
constexpr FieldLimit from_step_manager_rows[] = {one(3, "reply", step_reply),
                                                 one(4, "launch", step_launch, agent_frame_max),
                                                 one(5, "kill", kill),
                                                 one(6, "forget", forget),
                                                 text(7, "node"),
                                                 one(600, "facts", step_facts, agent_frame_max),
                                                 one(601, "signal", signal)};
constexpr MessageLimits from_step_manager{"StepFromNode", from_step_manager_rows};

constexpr MessageLimits task_sample = plain("TaskSample");
constexpr FieldLimit sample_rows[] = {text(5, "node"), many(7, "tasks", task_sample, 64 * kib),
                                      numbers(8, "other_pids", by_task)};
constexpr MessageLimits sample{"StepSample", sample_rows};

constexpr FieldLimit to_controller_rows[] = {one(10, "hello", hello, agent_frame_max),
                                             one(11, "report", report, agent_frame_max),
                                             one(12, "relayed", relayed, agent_frame_max),
                                             one(13, "relay_closed", relay_closed),
                                             one(550, "step", from_step_manager, agent_frame_max),
                                             one(600, "sample", sample)};
constexpr MessageLimits to_controller{"ToController", to_controller_rows};

}  // namespace

}  // namespace millrace::limit_rows

namespace millrace {

const MessageLimits& agent_word_limits() { return limit_rows::to_controller; }

}  // namespace millrace
