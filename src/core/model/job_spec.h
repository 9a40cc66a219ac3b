// src/core/model/job_spec.h - what a job asks for, as submitted and completed with defaults.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"
#include "base/shared_value.h"
#include "core/model/job_extras.h"
#include "core/model/resources.h"

namespace millrace {

using Digest = std::array<std::uint8_t, 16>;  // names a payload in the log; all zero: none

// Made by the client, unique per submission: the same key again means the same job. All zero: none given.
using SubmissionKey = std::array<std::uint8_t, 16>;

constexpr std::uint32_t unlimited = 0xffffffff;

struct ResourceLimit {
  std::string name;
  std::uint64_t soft = 0;
  bool operator==(const ResourceLimit&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "soft", self.soft);
  }
};

// Where srun waits for its tasks.
struct StdioEndpoint {
  std::string host;
  std::uint32_t port = 0;
  std::string secret;
  bool operator==(const StdioEndpoint&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "host", self.host);
    visit(2, "port", self.port);
    visit(3, "secret", field::unshown(self.secret));
  }
};

// srun --pty: of the terminal of task 0; no columns: none was asked for.
struct TerminalSize {
  std::uint32_t rows = 0, columns = 0;
  bool operator==(const TerminalSize&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(550, "terminal_rows", self.rows);
    visit(551, "terminal_columns", self.columns);
  }
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "comment", self.comment);
    visit(2, "qos", self.qos);
    visit(3, "std_in", self.std_in);
    visit(4, "std_err", self.std_err);
    visit(5, "export_env", self.export_env);
    visit(6, "arguments", self.arguments);
    visit(8, "stdio", self.stdio);
    visit(9, "required_nodes", self.required_nodes);
    visit(10, "excluded_nodes", self.excluded_nodes);
    visit(500, "cpu_bind", self.cpu_bind);
    visit(501, "mem_bind", self.mem_bind);
    visit(670, "gpu_bind", self.gpu_bind);
    visit(671, "container", self.container);
    visit(502, "oom_kill_step", self.oom_kill_step);
    visit(0, "", field::inlined(self.terminal));
    visit(620, "step_options", field::unshown(self.step_options));
    visit(1500, "client_waits", self.client_waits);
  }
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "uid", self.uid);
    visit(2, "gid", self.gid);
    visit(3, "user_name", self.user_name);
    visit(4, "group_name", self.group_name);
    visit(5, "groups", self.groups);
    visit(6, "submit_host", self.submit_host);
    visit(7, "limits", self.limits);
  }
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "owner", self.owner);
    visit(2, "rare", self.rare);
    visit(26, "resources", self.resources);
    visit(820, "extras", self.extras);
    visit(3, "name", self.name);
    visit(4, "account", self.account);
    visit(5, "work_dir", self.work_dir);
    visit(6, "std_out", self.std_out);
    visit(7, "command", self.command);
    visit(8, "submit_line", self.submit_line);
    visit(9, "partition", self.partition);
    visit(10, "submit_sid", self.submit_sid);
    visit(11, "min_nodes", self.min_nodes);
    visit(12, "max_nodes", self.max_nodes);
    visit(13, "tasks", self.tasks);
    visit(14, "tasks_per_node", self.tasks_per_node);
    visit(15, "cpus_per_task", field::or_default(self.cpus_per_task, 1));
    visit(16, "min_cpus_per_node", self.min_cpus_per_node);
    visit(17, "memory_per_node", self.memory_per_node);
    visit(18, "memory_per_cpu", self.memory_per_cpu);
    visit(19, "nice", self.nice);
    visit(20, "umask", field::octal(self.umask));
    visit(21, "open_mode", self.open_mode);
    visit(22, "tasks_asked", field::flag(1, self.tasks_asked));
    visit(22, "nodes_asked", field::flag(2, self.nodes_asked));
    visit(22, "cpus_per_task_asked", field::flag(4, self.cpus_per_task_asked));
    visit(22, "exclusive", field::flag(8, self.exclusive));
    visit(22, "oversubscribe", field::flag(16, self.oversubscribe));
    visit(22, "requeue", field::flag(32, self.requeue));
    visit(22, "interactive", field::flag(64, self.interactive));
    visit(22, "label_output", field::flag(128, self.label_output));
    visit(22, "kill_on_invalid_dependency", field::flag(256, self.kill_on_invalid_dependency));
    visit(22, "allocation_only", field::flag(512, self.allocation_only));
    visit(23, "script", self.script);
    visit(24, "environment", self.environment);
    visit(25, "submission", self.submission);
  }
};

}  // namespace millrace
