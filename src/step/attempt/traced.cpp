// src/step/attempt/traced.cpp - see traced.h.
#include "step/attempt/traced.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "step/attempt/proc.h"

namespace millrace {
namespace {

constexpr std::int64_t traced_patience_us = 1'000'000;  // a debugger that looks at its processes has done so by then
constexpr std::int64_t same_kill_us = 10'000'000;       // rounds further apart have nothing to do with each other
constexpr int exit_status_field = 52;

// From field 3 on, the state; the command before it may hold anything.
const char* state_in(const std::string& stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? nullptr : stat.c_str() + end + 2;
}

// Of a line of /proc/PID/status, its first number.
std::optional<long> status_number(pid_t pid, std::string_view line) {
  const std::string text = read_small_file(("/proc/" + std::to_string(pid) + "/status").c_str());
  const std::size_t at = text.find("\n" + std::string{line} + ":\t");
  if (at == std::string::npos) return std::nullopt;
  return std::strtol(text.c_str() + at + line.size() + 3, nullptr, 10);
}

}  // namespace

bool is_dead(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  DIR* directory = opendir(tasks.c_str());
  if (directory == nullptr) return true;
  bool alive = false;
  while (const dirent* entry = alive ? nullptr : readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const std::string stat = read_small_file((tasks + "/" + entry->d_name + "/stat").c_str());
    const char* state = state_in(stat);
    alive = state != nullptr && *state != 'Z' && *state != 'X';
  }
  closedir(directory);
  return !alive;
}

std::optional<int> held_end(pid_t child) {
  if (!is_dead(child)) return std::nullopt;
  siginfo_t ended{};
  if (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
    return std::nullopt;
  const std::string stat = read_small_file(("/proc/" + std::to_string(child) + "/stat").c_str());
  const char* at = state_in(stat);
  for (int field = 3; at != nullptr && field < exit_status_field; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  if (at == nullptr) return std::nullopt;
  return static_cast<int>(std::strtol(at, nullptr, 10));
}

bool TracerBreaker::is_due(std::int64_t now_us) {
  if (first_round_us_ == 0 || now_us > last_round_us_ + same_kill_us) first_round_us_ = now_us;
  last_round_us_ = now_us;
  return now_us >= first_round_us_ + traced_patience_us;
}

void TracerBreaker::set_free(const std::vector<pid_t>& pids) const {
  for (const pid_t pid : pids) {
    const std::string stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    const char* state = state_in(stat);
    if (state == nullptr || *state != 't') continue;
    const long tracer = status_number(pid, "TracerPid").value_or(0);
    if (tracer <= 1 || tracer == getpid()) continue;
    const auto owner = status_number(static_cast<pid_t>(tracer), "Uid");
    if (owner && *owner != 0 && owner == status_number(pid, "Uid")) kill(static_cast<pid_t>(tracer), SIGKILL);
  }
}

}  // namespace millrace
