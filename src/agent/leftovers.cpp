// src/agent/leftovers.cpp - see leftovers.h.
#include "agent/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "agent/marker_search.h"

namespace millrace {

namespace {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_time = 0;
  uid_t uid = 0;
  bool zombie = false;
  bool of_kernel = false;
};

constexpr unsigned long kernel_thread = 0x00200000;  // PF_KTHREAD: such a one has no environment

constexpr std::size_t small_file_max = 4096;  // of `stat` and of what is needed of `status`: the kernel writes both

// A process by its folder: what is opened in it later is of the same process, or nothing.
class ProcFolder {
 public:
  explicit ProcFolder(pid_t pid)
      : fd_(open(("/proc/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ProcFolder(const ProcFolder&) = delete;
  ProcFolder& operator=(const ProcFolder&) = delete;
  ~ProcFolder() {
    if (fd_ >= 0) close(fd_);
  }

  std::optional<uid_t> owner() const {
    struct stat info{};
    return fd_ >= 0 && fstat(fd_, &info) == 0 ? std::optional{info.st_uid} : std::nullopt;
  }
  // Calls `use` with the open file, if there is one.
  void with(const char* name, const std::function<void(int)>& use) const {
    const int fd = fd_ < 0 ? -1 : openat(fd_, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    use(fd);
    close(fd);
  }
  std::string small(const char* name) const {
    std::string text;
    with(name, [&](int fd) { text = read_at_most(fd, small_file_max); });
    return text;
  }

 private:
  int fd_;
};

std::optional<Process> look_at(pid_t pid) {
  const ProcFolder folder(pid);
  const auto owner = folder.owner();
  if (!owner) return std::nullopt;
  const std::string stat = folder.small("stat");
  const std::size_t command_end = stat.rfind(')');  // the command may hold anything, so from behind
  if (command_end == std::string::npos || command_end + 2 >= stat.size()) return std::nullopt;
  Process process;
  process.pid = pid;
  const char* at = stat.c_str() + command_end + 2;
  process.zombie = *at == 'Z' || *at == 'X';
  for (int field = 3; field <= 22 && at != nullptr; ++field) {
    if (field == 4) process.parent = static_cast<pid_t>(std::strtol(at, nullptr, 10));
    if (field == 6) process.session = static_cast<pid_t>(std::strtol(at, nullptr, 10));
    if (field == 9) process.of_kernel = (std::strtoul(at, nullptr, 10) & kernel_thread) != 0;
    if (field == 22) process.start_time = std::strtoull(at, nullptr, 10);
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  process.uid = *owner;
  return process;
}

std::vector<Process> every_process() {
  std::vector<Process> processes;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return processes;
  while (const dirent* entry = readdir(directory)) {
    const long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid <= 1) continue;
    if (auto process = look_at(static_cast<pid_t>(pid)); process && !process->zombie) processes.push_back(*process);
  }
  closedir(directory);
  return processes;
}

// A setuid program has the rights of another user: who started it counts too.
bool is_of(const ProcFolder& folder, uid_t owner, const std::set<uid_t>& users) {
  if (users.contains(owner)) return true;
  constexpr std::string_view line = "\nUid:\t";
  const std::string status = folder.small("status");
  const std::size_t at = status.find(line);
  return at != std::string::npos &&
         users.contains(static_cast<uid_t>(std::strtoul(status.c_str() + at + line.size(), nullptr, 10)));
}

// Nothing that a process can make long is read of one that is not of these users. Empty: of all of them.
bool names_one(MarkerSearch& search, const Process& process, const std::set<uid_t>& users,
               const std::function<bool(std::string_view)>& is_right) {
  if (process.of_kernel) return false;
  const ProcFolder folder(process.pid);
  const auto owner = folder.owner();
  if (!owner || (!users.empty() && !is_of(folder, *owner, users))) return false;
  bool found = false;
  folder.with("environ", [&](int fd) { found = search.names_one(fd, *owner, is_right); });
  return found;
}

}  // namespace

std::uint64_t start_time_of(pid_t pid) {
  const auto process = look_at(pid);
  return process && !process->zombie ? process->start_time : 0;
}

std::vector<pid_t> find_leftovers(const AttemptRecord& record, const std::string& attempt_directory,
                                  std::size_t* cut_short) {
  // What root begins for the job has the agent's own user. A prolog may have begun anything in the name of anybody.
  std::set<uid_t> users;
  if (record.uid) users = {*record.uid, geteuid()};
  MarkerSearch search;
  std::map<pid_t, bool> known;
  const auto carries_marker = [&](const Process& process) {
    const auto [at, is_new] = known.try_emplace(process.pid, false);
    if (is_new)
      at->second = names_one(search, process, users, [&](std::string_view name) { return name == attempt_directory; });
    return at->second;
  };
  const std::vector<Process> processes = every_process();
  std::set<pid_t> members;
  for (const Process& process : processes) {
    if (process.pid == getpid()) continue;
    const bool ours = std::ranges::any_of(record.tasks, [&](const ProcessName& task) {
      if (process.pid == task.pid) return process.start_time == task.start_time;
      // The number of a session is not given out again while somebody is in it; one that began before the task is not
      // its.
      return process.session == task.pid && process.uid == record.uid && process.start_time >= task.start_time;
    });
    if (ours || carries_marker(process)) members.insert(process.pid);
  }
  // A session whose leader's number now belongs to a younger process is another one.
  for (const ProcessName& task : record.tasks) {
    const auto leader = std::ranges::find(processes, task.pid, &Process::pid);
    if (leader == processes.end() || leader->start_time == task.start_time) continue;
    for (const Process& process : processes)
      if (process.session == task.pid && !carries_marker(process)) members.erase(process.pid);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (const Process& process : processes)
      if (process.pid != getpid() && members.contains(process.parent)) grown |= members.insert(process.pid).second;
  }
  if (cut_short != nullptr) *cut_short = search.cut_short();
  return {members.begin(), members.end()};
}

namespace {

std::string link_of(pid_t pid, const char* name) {
  char text[4096];
  const ssize_t length = readlink(("/proc/" + std::to_string(pid) + "/" + name).c_str(), text, sizeof text);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace

std::vector<pid_t> find_strangers(const std::string& spool) {
  const std::string within = spool + "/";
  const auto is_gone = [&](std::string_view folder) {  // the kernel adds a word to the name of one that was removed
    return folder.starts_with(within) && access(std::string{folder}.c_str(), F_OK) != 0;
  };
  MarkerSearch search;
  std::vector<pid_t> strangers;
  for (const Process& process : every_process()) {
    if (process.pid == getpid()) continue;
    const bool supervises =
        is_gone(link_of(process.pid, "cwd")) && link_of(process.pid, "exe").find("/millrace-step") != std::string::npos;
    if (supervises || names_one(search, process, {}, is_gone)) strangers.push_back(process.pid);
  }
  return strangers;
}

}  // namespace millrace
