// tests/bench/repeat.cpp - runs one command many times with a few workers and says how long it took; a shell loop would
// measure the shell. With a script as the command and two workers it is the physical limit: nothing but spawn, run,
// output file, wait.
//   repeat --count N [--workers W] [--out PATTERN] -- COMMAND ARGUMENTS...      PATTERN: %d is the number of the run
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration span) { return std::chrono::duration<double, std::milli>(span).count(); }

struct Plan {
  int count = 0;
  std::size_t workers = 1;
  std::string out = "/dev/null";
  char** command = nullptr;
};

bool read_plan(int argc, char** argv, Plan& plan) {
  int i = 1;
  for (; i + 1 < argc && std::strcmp(argv[i], "--") != 0; i += 2) {
    const std::string name = argv[i];
    if (name == "--count")
      plan.count = std::atoi(argv[i + 1]);
    else if (name == "--workers")
      plan.workers = static_cast<std::size_t>(std::atoi(argv[i + 1]));
    else if (name == "--out")
      plan.out = argv[i + 1];
    else
      return false;
  }
  if (i + 1 >= argc || plan.count < 1 || plan.workers < 1) return false;
  plan.command = argv + i + 1;
  return true;
}

pid_t start(const Plan& plan, int number) {
  std::string path = plan.out;
  if (const auto at = path.find("%d"); at != std::string::npos) path.replace(at, 2, std::to_string(number));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t pid = -1;
  const int problem = posix_spawnp(&pid, plan.command[0], &actions, nullptr, plan.command, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) {
    std::fprintf(stderr, "repeat: %s: %s\n", plan.command[0], std::strerror(problem));
    std::exit(1);
  }
  return pid;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  if (!read_plan(argc, argv, plan)) {
    std::fputs("usage: repeat --count N [--workers W] [--out PATTERN] -- COMMAND ARGUMENTS...\n", stderr);
    return 2;
  }
  std::map<pid_t, Clock::time_point> running;
  std::vector<double> times;
  int failed = 0;
  const auto begin = Clock::now();
  for (int started = 0, ended = 0; ended < plan.count;) {
    for (; started < plan.count && running.size() < plan.workers; ++started) {
      const auto now = Clock::now();
      running.emplace(start(plan, started), now);
    }
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto found = running.find(pid);
    if (found == running.end()) continue;
    times.push_back(milliseconds(Clock::now() - found->second));
    running.erase(found);
    failed += status != 0;
    ++ended;
  }
  const double seconds = milliseconds(Clock::now() - begin) / 1000;
  std::ranges::sort(times);
  std::printf(
      "{\"count\": %d, \"failed\": %d, \"seconds\": %.6f, \"per_second\": %.3f, \"median_ms\": %.3f, \"p95_ms\": "
      "%.3f}\n",
      plan.count, failed, seconds, plan.count / seconds, times[times.size() / 2], times[times.size() * 95 / 100]);
}
