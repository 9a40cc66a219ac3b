// src/step/spool.h - an attempt's directory in the node's spool, from the supervisor's side: who runs it, how it ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::wire {
class AttemptStatus;
}

namespace millrace {

// The directory is made by the agent before the launch and is the journal: while it is there, the attempt is never
// launched again. Inside it, in the order they appear:
//   socket        listens from before the claim, so whoever sees the claim can connect
//   supervisor    a link whose text is "PID START_TIME BOOT_ID": made once, by the supervisor (or by an agent that
//   gives
//                 the attempt up), so exactly one of them wins; a link because making one is atomic and exclusive
//   slurm_script  the batch script, the user's
//   tasks         "PID START_TIME" per task, for the agent that finds the supervisor dead
//   end           the serialized AttemptStatus, complete or not there; written before anybody is told
// Nothing is synced: after a power cut the machine has another boot id, and every attempt on it is lost anyway.
//
// All of it is done relative to the working directory, which the supervisor moves here: the path of a socket is limited
// to 107 bytes and the spool's is not.
class AttemptSpool {
 public:
  static Result<AttemptSpool> enter(const std::string& directory);

  const std::string& directory() const { return directory_; }
  Result<int> listen() const;
  // Refused when somebody else claimed the attempt: then nothing of it may run here.
  Result<void> claim(std::string_view boot_id) const;
  // Gives the script to the user; path to execute. Only root can give files away, anybody else runs as itself.
  Result<std::string> write_script(std::string_view script, uid_t uid, gid_t gid) const;
  Result<void> write_tasks(const std::vector<pid_t>& pids) const;
  Result<void> write_end(const wire::AttemptStatus& status) const;

 private:
  explicit AttemptSpool(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace millrace
