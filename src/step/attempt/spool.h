// src/step/attempt/spool.h - an attempt's directory in the node's spool, from the supervisor's side: who runs it, how
// it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::wire {
class AttemptStatus;
class Isolation;
}  // namespace millrace::wire

namespace millrace {

// The directory is made by the agent before the launch and is the journal: while it is there, the attempt is never
// launched again. Inside it:
//   state         lines of text, each complete only with its newline:
//                   supervisor PID START_TIME BOOT_ID SOCKET   first, and there from the moment the file has its name
//                   user UID                                   whose it is; together with the first
//                   step ID                                    given out, never to be given out again
//                   isolation HEX                              the serialized Isolation; before anything of it is made
//                   task PID START_TIME UID                    one per task, for the agent that finds the supervisor
//                   dead end HEX                                    the serialized AttemptStatus; before anybody is
//                   told
//   slurm_script  the batch script, the user's
// The file gets its name by a rename that replaces nothing, from the supervisor or from an agent that gives the attempt
// up: one of them wins, and a supervisor that lost runs nothing. SOCKET is an abstract one, picked by the kernel,
// listening from before that moment; both sides check who is at the other end.
//
// Few files, because making one costs up to a millisecond on an ext4 without journal that has just deleted many
// (measured: 6.3 ms of processor for a job with seven, see tests/system/step). Nothing is synced: after a power cut the
// machine has another boot id, and every attempt on it is lost anyway.
class AttemptSpool {
 public:
  static Result<AttemptSpool> enter(const std::string& directory);  // and works from there

  // Refused when somebody else claimed the attempt: then nothing of it may run here.
  Result<void> claim(std::string_view boot_id, std::string_view socket, uid_t uid);
  struct FirstFile {
    std::string name, bytes;
  };
  // A new folder of the user's own below ours; removed with it. It becomes the user's last of all: whatever we put into
  // it (`first`) is there before anybody else can reach it. One that is there already is not ours to touch.
  Result<std::string> make_folder(const std::string& name, uid_t uid, gid_t gid, const FirstFile& first = {}) const;
  // Gives the script to the user; path to execute. Only root can give files away, anybody else runs as itself.
  Result<std::string> write_script(std::string_view script, uid_t uid, gid_t gid) const;
  // Another file of the user's, such as the list of hosts that PBS promises; its path.
  Result<std::string> write_file(const std::string& name, mode_t mode, std::string_view bytes, uid_t uid,
                                 gid_t gid) const;
  Result<void> write_tasks(const std::vector<pid_t>& pids, uid_t uid);
  Result<void> write_step(std::uint32_t id);
  Result<void> write_isolation(const wire::Isolation& isolation);
  Result<void> write_end(const wire::AttemptStatus& status);

 private:
  explicit AttemptSpool(std::string directory) : directory_(std::move(directory)) {}
  Result<void> append(std::string_view line);
  std::string directory_;
  int state_ = -1;  // open until the process ends
  std::uint64_t state_size_ = 0;
};

// A socket for the agents to come, and its name.
struct StepListener {
  int fd = -1;
  std::string name;
};
Result<StepListener> listen_for_agents();

}  // namespace millrace
