// src/step/launch/task_prolog.cpp - see task_prolog.h.
#include "step/launch/task_prolog.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::size_t output_max = 1u << 20;

}  // namespace

std::string obey_prolog_output(std::string_view output, Environment& environment) {
  std::string printed;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    std::string_view line = trim(output.substr(0, end));
    output = end == std::string_view::npos ? std::string_view{} : output.substr(end + 1);
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    const std::string_view rest = trim(line.substr(word.size()));
    const std::size_t equals = rest.find('=');
    if (word == "print")
      printed += std::string{rest} + "\n";
    else if (word == "unset" && !rest.empty())
      environment.unset(rest);
    else if (word == "export" && equals != std::string_view::npos && equals > 0)
      environment.set(trim(rest.substr(0, equals)), trim(rest.substr(equals + 1)));
  }
  return printed;
}

int run_task_prolog(const std::string& path, Environment& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 127;
  Environment own = environment;
  own.set("SLURM_SCRIPT_CONTEXT", "prolog_task");
  const std::string task_pid = std::to_string(getpid());
  own.set("SLURM_TASK_PID", task_pid);
  const pid_t pid = fork();
  if (pid == 0) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);  // the program's input is not for it
    dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> entries;
    for (const std::string& entry : own.entries()) entries.push_back(const_cast<char*>(entry.c_str()));
    entries.push_back(nullptr);
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    execve(path.c_str(), arguments, entries.data());
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (;;) {
    const ssize_t count = pid > 0 ? read(ends[0], buffer, sizeof buffer) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (output.size() < output_max) output.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  if (pid <= 0 || waitpid(pid, &status, 0) != pid) return 127;
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  const std::string printed = obey_prolog_output(output, environment);
  [[maybe_unused]] const ssize_t ignored = write(STDOUT_FILENO, printed.data(), printed.size());
  return 0;
}

}  // namespace millrace
