// src/cli/srun_bcast.cpp - see srun_bcast.h.
#include "cli/srun_bcast.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "cli/commands.h"

namespace millrace {
namespace {

// As a shell would find it.
std::string find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  for (const std::string_view folder : split(path, ':')) {
    const std::string file = std::string{folder.empty() ? "." : folder} + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return name;
}

}  // namespace

Result<void> broadcast_program(const Command& command, Submission& all, const ClientSettings& settings,
                               std::uint32_t job_id, std::string& copy) {
  const JobDraft& draft = all.draft;
  const std::string source = find_in_path(std::string{all.operands[0]});
  copy = *draft.bcast;
  if (copy.empty()) copy = "slurm_bcast_" + std::to_string(job_id) + "." + std::to_string(getpid());
  if (copy[0] != '/' && !settings.bcast_destination.empty()) copy = settings.bcast_destination + "/" + copy;
  if (copy.ends_with('/')) copy += source.substr(source.rfind('/') + 1);
  if (copy[0] != '/') copy = current_directory() + "/" + copy;
  std::vector<std::string> words{"--force", "--preserve", "--jobid=" + std::to_string(job_id)};
  if (!draft.job.required_nodes().empty()) words.push_back("--nodelist=" + draft.job.required_nodes());
  if (draft.bcast_compress)
    words.push_back("--compress=" + (draft.bcast_compress->empty() ? "zlib" : *draft.bcast_compress));
  if (draft.send_libraries) words.push_back("--send-libs=yes");
  if (draft.bcast_exclude) words.push_back("--exclude=" + *draft.bcast_exclude);
  words.push_back(source);
  words.push_back(copy);
  const pid_t pid = fork();
  if (pid == 0) {
    Command sbcast;
    sbcast.name = "sbcast";
    sbcast.words.assign(words.begin(), words.end());
    sbcast.submit_line = command.submit_line;
    _exit(run_sbcast(sbcast));
  }
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (pid < 0 || status != 0) return fail(Errc::refused, "Failed to broadcast '" + source + "'. Step launch aborted.");
  if (draft.send_libraries || settings.bcast_libraries) {
    const char* before = std::getenv("LD_LIBRARY_PATH");
    setenv("LD_LIBRARY_PATH", (copy + "_libs" + (before != nullptr ? ":" + std::string{before} : "")).c_str(), 1);
  }
  all.operands[0] = copy;
  return {};
}

}  // namespace millrace
