// src/step/attempt/proc.cpp - see proc.h.
#include "step/attempt/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace millrace {

namespace {

// The text after the command name, which is in parentheses and may itself hold parentheses and spaces.
const char* after_command(const std::string& stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? nullptr : stat.c_str() + end + 2;
}

// Nothing when this kernel was built without CONFIG_PROC_CHILDREN.
std::optional<std::vector<pid_t>> children_by_list(pid_t parent) {
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  DIR* directory = opendir(tasks.c_str());
  if (directory == nullptr) return std::vector<pid_t>{};
  std::vector<pid_t> found;
  bool known = true;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = tasks + "/" + entry->d_name + "/children";
    const std::string list = read_small_file(path.c_str());
    if (list.empty() && access(path.c_str(), F_OK) != 0 && access((tasks + "/" + entry->d_name).c_str(), F_OK) == 0)
      known = false;
    const char* at = list.c_str();
    while (*at != '\0') {
      char* end = nullptr;
      const long pid = std::strtol(at, &end, 10);
      if (end == at) break;
      if (pid > 0) found.push_back(static_cast<pid_t>(pid));
      at = *end == ' ' ? end + 1 : end;
    }
  }
  closedir(directory);
  if (!known) return std::nullopt;
  return found;
}

std::vector<std::pair<pid_t, pid_t>> every_process_and_parent() {
  std::vector<std::pair<pid_t, pid_t>> pairs;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return pairs;
  while (const dirent* entry = readdir(directory)) {
    const long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid <= 0) continue;
    const std::string stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    const char* rest = after_command(stat);
    if (rest == nullptr) continue;
    pairs.emplace_back(static_cast<pid_t>(pid), static_cast<pid_t>(std::strtol(rest + 2, nullptr, 10)));
  }
  closedir(directory);
  return pairs;
}

}  // namespace

std::string read_small_file(const char* path) {
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

std::uint64_t start_time(pid_t pid) {
  const std::string stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
  const char* at = after_command(stat);  // field 3
  for (int field = 3; at != nullptr && field < 22; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

bool is_stopped(pid_t pid) {
  const std::string stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
  const char* state = after_command(stat);
  return state == nullptr || *state == 'T' || *state == 't' || *state == 'Z' || *state == 'X' || *state == 'D';
}

std::vector<pid_t> descendants(pid_t root) {
  std::vector<pid_t> found;
  bool listed = true;
  for (std::size_t next = 0; listed; ++next) {
    const pid_t parent = next == 0 ? root : found[next - 1];
    const auto children = children_by_list(parent);
    if (!children) listed = false;
    if (children) found.insert(found.end(), children->begin(), children->end());
    if (listed && next == found.size()) return found;
  }
  found.clear();
  const auto pairs = every_process_and_parent();
  for (std::size_t next = 0; next <= found.size(); ++next) {
    const pid_t parent = next == 0 ? root : found[next - 1];
    for (const auto& [pid, of] : pairs)
      if (of == parent) found.push_back(pid);
  }
  return found;
}

ProcessUsage process_usage(pid_t pid) {
  ProcessUsage out;
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = read_small_file((folder + "/stat").c_str());
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return out;
  long long faults = 0, waited_faults = 0, user = 0, system = 0, waited_user = 0, waited_system = 0, pages = 0;
  unsigned long long vm = 0;
  if (std::sscanf(stat.c_str() + name_end + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %lld %lld %lld %lld %lld %lld %*d %*d %*d %*d %*u %llu %lld",
                  &faults, &waited_faults, &user, &system, &waited_user, &waited_system, &vm, &pages) != 8)
    return out;
  static const std::int64_t tick_us = 1'000'000 / sysconf(_SC_CLK_TCK), page_bytes = sysconf(_SC_PAGESIZE);
  out.user_us = (user + waited_user) * tick_us;
  out.system_us = (system + waited_system) * tick_us;
  out.vm_bytes = static_cast<std::int64_t>(vm);
  out.rss_bytes = pages * page_bytes;
  out.page_faults = faults + waited_faults;
  const std::string io = read_small_file((folder + "/io").c_str());
  long long read = 0, written = 0;
  if (std::sscanf(io.c_str(), "rchar: %lld wchar: %lld", &read, &written) == 2) {
    out.read_bytes = read;
    out.written_bytes = written;
  }
  return out;
}

}  // namespace millrace
