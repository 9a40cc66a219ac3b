// src/agent/leftovers.cpp - see leftovers.h.
#include "agent/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace millrace {

namespace {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_time = 0;
  uid_t uid = 0;
  bool zombie = false;
};

std::string read_proc(pid_t pid, const char* name) {
  std::string text;
  const int fd = open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

std::optional<Process> look_at(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const std::size_t command_end = stat.rfind(')');  // the command may hold anything, so from behind
  if (command_end == std::string::npos || command_end + 2 >= stat.size()) return std::nullopt;
  Process process;
  process.pid = pid;
  const char* at = stat.c_str() + command_end + 2;
  process.zombie = *at == 'Z' || *at == 'X';
  for (int field = 3; field <= 22 && at != nullptr; ++field) {
    if (field == 4) process.parent = static_cast<pid_t>(std::strtol(at, nullptr, 10));
    if (field == 6) process.session = static_cast<pid_t>(std::strtol(at, nullptr, 10));
    if (field == 22) process.start_time = std::strtoull(at, nullptr, 10);
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  struct stat info{};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &info) == 0) process.uid = info.st_uid;
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

bool carries_marker(pid_t pid, const std::string& marker) {
  std::string environment = read_proc(pid, "environ");
  environment.insert(0, 1, '\0');
  environment += '\0';
  return environment.find(marker) != std::string::npos;
}

}  // namespace

std::uint64_t start_time_of(pid_t pid) {
  const auto process = look_at(pid);
  return process && !process->zombie ? process->start_time : 0;
}

std::vector<pid_t> find_leftovers(const AttemptRecord& record, const std::string& attempt_directory) {
  const std::string marker = '\0' + ("MILLRACE_ATTEMPT=" + attempt_directory) + '\0';
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
    if (ours || carries_marker(process.pid, marker)) members.insert(process.pid);
  }
  // A session whose leader's number now belongs to a younger process is another one.
  for (const ProcessName& task : record.tasks) {
    const auto leader = std::ranges::find(processes, task.pid, &Process::pid);
    if (leader == processes.end() || leader->start_time == task.start_time) continue;
    for (const Process& process : processes)
      if (process.session == task.pid && !carries_marker(process.pid, marker)) members.erase(process.pid);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (const Process& process : processes)
      if (process.pid != getpid() && members.contains(process.parent)) grown |= members.insert(process.pid).second;
  }
  return {members.begin(), members.end()};
}

namespace {

std::string link_of(pid_t pid, const char* name) {
  char text[4096];
  const ssize_t length = readlink(("/proc/" + std::to_string(pid) + "/" + name).c_str(), text, sizeof text);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

// The attempt's folder, of a process that carries it in its environment.
std::string attempt_of(pid_t pid) {
  constexpr std::string_view name = "MILLRACE_ATTEMPT=";
  const std::string environment = '\0' + read_proc(pid, "environ");
  const std::size_t at = environment.find('\0' + std::string{name});
  return at == std::string::npos ? "" : environment.c_str() + at + 1 + name.size();
}

}  // namespace

std::vector<pid_t> find_strangers(const std::string& spool) {
  const std::string within = spool + "/";
  const auto is_gone = [&](const std::string& folder) {  // the kernel adds a word to the name of one that was removed
    return folder.starts_with(within) && access(folder.c_str(), F_OK) != 0;
  };
  std::vector<pid_t> strangers;
  for (const Process& process : every_process()) {
    if (process.pid == getpid()) continue;
    const bool supervises =
        is_gone(link_of(process.pid, "cwd")) && link_of(process.pid, "exe").find("/millrace-step") != std::string::npos;
    if (supervises || is_gone(attempt_of(process.pid))) strangers.push_back(process.pid);
  }
  return strangers;
}

}  // namespace millrace
