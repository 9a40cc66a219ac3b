// src/step/launch/launch.h - starts one process as the job's user: identity, limits, directory, files, environment,
// then exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "isolation/cgroup.h"
#include "job.pb.h"
#include "step/environment/environment.h"

namespace millrace {

struct UserIds {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// Either a file, opened by the child as the user, or a descriptor of ours.
struct StreamSpec {
  std::string path;
  int flags = 0;
  int fd = -1;
};

struct TaskSpec {
  UserIds user;
  std::vector<std::string> arguments;  // the first is the program: searched in the job's PATH unless it has a slash
  Environment environment;
  std::string work_dir;
  mode_t umask = 022;
  std::vector<std::pair<int, rlim_t>> soft_limits;  // RLIMIT_ number
  StreamSpec in, out, err;
  bool err_is_out = false;
  bool hands_over_errors = false;     // we write notes into its stderr, where that is a file
  int kept_fd = -1;                   // stays open in the program, under the same number
  bool controls_terminal = false;     // its standard input is a terminal, and becomes that of its session
  const JobCgroup* cgroup = nullptr;  // joined before anything of the user's happens
  std::vector<std::uint32_t> cpus;    // empty: all that the cgroup leaves
  std::uint64_t memory_nodes = 0;     // bits; 0: no policy
  bool prefer_memory = false;         // other memory when that is full
  std::string
      login_environment{};  // --get-user-env: not empty, and the environment of a login is put under that of the task
  std::vector<std::string> prologs;             // programs whose output changes the environment, run in turn
  const wire::ReceivedFile* receive = nullptr;  // sbcast: no program, the file on standard input
  std::string node_name;                        // for its messages
  std::string bind_note, bind_mask;  // --cpu-bind=verbose: said on the task's stderr, with its pid between them
};

struct StartedTask {
  pid_t pid = -1;
  int report = -1;  // readable once the task has opened its files or failed to; see read_report()
};

// What the child says before it executes the program.
struct TaskReport {
  std::string problem;  // not empty: it never became the user's program
  bool unfit = false;   // ... and the machine is to blame for it
  int error_file = -1;  // the task's stderr when it is a file, for our own notes
};

// For good: no process comes back from being the user.
Result<void> become_user(const UserIds& user);

// A process of its own session. Plain fork: the supervisor is small and a child that hangs in
// the open of a dead file server must not hang us, as a vfork child would.
Result<StartedTask> start_task(const TaskSpec& spec);
// Closes nothing; nothing when the child is gone without a word (it was killed, or it runs).
std::optional<TaskReport> read_report(int report);

// "NOFILE" -> RLIMIT_NOFILE
std::optional<int> resource_number(std::string_view name);

}  // namespace millrace
