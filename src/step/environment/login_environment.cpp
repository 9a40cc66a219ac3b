// src/step/environment/login_environment.cpp - see login_environment.h.
#include "step/environment/login_environment.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::size_t printed_max = 4u << 20;
constexpr std::int64_t usual_seconds = 8;
// Whatever a profile prints stands before it.
constexpr std::string_view mark = "MILLRACE-LOGIN-ENVIRONMENT";

std::int64_t now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

// Of the shell that asked, not of the user.
bool is_of_shell(std::string_view name) { return name == "_" || name == "SHLVL" || name == "PWD" || name == "OLDPWD"; }

[[noreturn]] void run_shell(const passwd& user, bool login, int output) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  setsid();
  const std::string shell = user.pw_shell != nullptr && *user.pw_shell != '\0' ? user.pw_shell : "/bin/sh";
  const std::string short_name = shell.substr(shell.rfind('/') + 1);
  const std::string own_name = (login ? "-" : "") + short_name;  // what every shell takes for a login
  const std::string ask = "echo; echo " + std::string{mark} + "; /usr/bin/env -0";
  const std::string entries[] = {"HOME=" + std::string{user.pw_dir}, "USER=" + std::string{user.pw_name},
                                 "LOGNAME=" + std::string{user.pw_name}, "SHELL=" + shell,
                                 "PATH=/usr/local/bin:/usr/bin:/bin"};
  std::vector<char*> environment;
  for (const std::string& entry : entries) environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(nullptr);
  [[maybe_unused]] const int home = chdir(user.pw_dir);
  char* const arguments[] = {const_cast<char*>(own_name.c_str()), const_cast<char*>("-c"),
                             const_cast<char*>(ask.c_str()), nullptr};
  execve(shell.c_str(), arguments, environment.data());
  _exit(127);
}

// What it prints until it ends, or nothing.
bool read_until(int fd, std::int64_t until_ms, std::string& out) {
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(until_ms - now_ms(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[16384];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > printed_max) return false;
  }
}

}  // namespace

void add_login_variables(std::string_view printed, Environment& environment) {
  const char end = printed.find('\0') == std::string_view::npos ? '\n' : '\0';
  while (!printed.empty()) {
    const std::string_view entry = printed.substr(0, printed.find(end));
    printed.remove_prefix(std::min(printed.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !is_name(entry.substr(0, equals)) || is_of_shell(entry.substr(0, equals)))
      continue;
    environment.set_if_missing(entry.substr(0, equals), entry.substr(equals + 1));
  }
}

bool load_login_environment(const std::string& wish, Environment& environment) {
  const passwd* user = getpwuid(getuid());
  int ends[2];
  if (user == nullptr || wish.empty() || pipe2(ends, O_CLOEXEC) != 0) return false;
  const std::int64_t limit = parse_integer(std::string_view{wish}.substr(1)).value_or(usual_seconds);
  const pid_t pid = fork();
  if (pid == 0) run_shell(*user, wish[0] != 'S', ends[1]);
  close(ends[1]);
  std::string printed;
  const bool whole = pid > 0 && read_until(ends[0], now_ms() + limit * 1000, printed);
  close(ends[0]);
  if (pid <= 0) return false;
  if (!whole) kill(-pid, SIGKILL), kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  const std::size_t at = printed.rfind(std::string{mark} + "\n");
  if (!whole || status != 0 || at == std::string::npos) return false;
  add_login_variables(std::string_view{printed}.substr(at + mark.size() + 1), environment);
  return true;
}

}  // namespace millrace
