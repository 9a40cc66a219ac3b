// src/platform/child_programs.cpp - see child_programs.h.
#include "platform/child_programs.h"

#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/text.h"

namespace millrace {
namespace {

constexpr int given_file = 9;              // where a program finds the file it is given
constexpr std::size_t printed_max = 4096;  // of the end of what it prints

// posix_spawn cannot become somebody else. Other threads stay behind, so the child makes system calls and nothing else;
// where one fails it ends as a program that is not there. Its only files are its three streams.
int fork_as(const RunAs& who, pid_t& pid, int output, const std::string& program, char* const* arguments,
            char* const* environment) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return errno;
  pid = fork();
  if (pid == 0) {
    setsid();
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) sigaction(number, &usual, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const bool ready = dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                       dup2(output, STDERR_FILENO) >= 0 &&
                       syscall(SYS_setgroups, who.groups.size(), who.groups.data()) == 0 &&
                       syscall(SYS_setresgid, who.gid, who.gid, who.gid) == 0 &&
                       syscall(SYS_setresuid, who.uid, who.uid, who.uid) == 0 &&
                       syscall(SYS_close_range, 3, ~0U, 0) == 0 && chdir("/") == 0;
    if (ready) execve(program.c_str(), arguments, environment);
    _exit(could_not_start);
  }
  const int problem = pid < 0 ? errno : 0;
  close(null);
  return problem;
}

}  // namespace

ChildPrograms::~ChildPrograms() {
  for (auto& [id, child] : children_) {
    loop_.cancel(child.limit);
    ::kill(-child.pid, SIGKILL);
    child.process.reset();
    waitpid(child.pid, nullptr, 0);
    child.reader.reset();
    close(child.output);
  }
}

std::vector<std::string> ChildPrograms::find(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  std::vector<std::string> out;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return out;
}

Result<void> ChildPrograms::start(Id id, Child& child, const ProgramRun& what) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::unavailable, std::string{"make a pipe: "} + std::strerror(errno));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  // The text is there under a name for as long as somebody has it open, and nowhere else.
  std::string file_entry;
  int file = -1;
  if (!what.file_variable.empty()) {
    file = memfd_create("millrace-program", MFD_CLOEXEC);
    const bool written = file >= 0 && ::write(file, what.file_text.data(), what.file_text.size()) ==
                                          static_cast<ssize_t>(what.file_text.size());
    if (written) posix_spawn_file_actions_adddup2(&actions, file, given_file);
    if (written) file_entry = what.file_variable + "=/proc/self/fd/" + std::to_string(given_file);
  }
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::vector<char*> arguments{const_cast<char*>(what.program.c_str())}, environment;
  for (const std::string& word : what.arguments) arguments.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& word : what.environment) environment.push_back(const_cast<char*>(word.c_str()));
  if (!file_entry.empty()) environment.push_back(file_entry.data());
  arguments.push_back(nullptr);
  environment.push_back(nullptr);
  const int problem =
      what.as
          ? fork_as(*what.as, child.pid, ends[1], what.program, arguments.data(), environment.data())
          : posix_spawn(&child.pid, what.program.c_str(), &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (file >= 0) close(file);
  if (problem != 0) {
    close(ends[0]);
    return fail(Errc::unavailable, std::strerror(problem));
  }
  child.output = ends[0];
  auto watch = ProcessWatch::start(loop_, child.pid, [this, id](ProcessEnd end) { over(id, end); });
  if (!watch) {  // no descriptor for it: it cannot be waited for, so it must not run
    ::kill(-child.pid, SIGKILL);
    waitpid(child.pid, nullptr, 0);
    close(child.output);
    return std::unexpected(watch.error());
  }
  child.process = *std::move(watch);
  return {};
}

Programs::Id ChildPrograms::run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) {
  const Id id = ++last_;
  Child child;
  if (const auto started = start(id, child, what); !started) {
    loop_.post([words = started.error().story, ended = std::move(ended), alive = std::weak_ptr(alive_)]() mutable {
      if (!alive.expired()) ended(ProgramEnd{could_not_start, 0, false, std::move(words)});
    });
    return id;
  }
  child.ended = std::move(ended);
  child.program = what.program;
  const auto begun = [&] {
    std::string line = "program " + what.program;
    for (const std::string& word : what.arguments) line += " " + word;
    return line + " started as process " + std::to_string(child.pid);
  };
  lines_->debug(begun);
  lines_->about(DebugFlag::script, begun);
  if (what.limit > Duration{0})
    child.limit = loop_.after(what.limit, [this, id] {
      Child& late = children_.at(id);
      late.limit = 0;
      late.timed_out = true;
      ::kill(-late.pid, SIGKILL);
    });
  child.reader = std::make_unique<DescriptorWatch>(loop_, child.output, [this, id] { read_some(id); });
  child.reader->want_readable();
  children_.emplace(id, std::move(child));
  return id;
}

void ChildPrograms::read_some(Id id) {
  Child& child = children_.at(id);
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(child.output, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return child.reader->want_readable();
    if (count <= 0) return;
    child.printed.append(buffer, static_cast<std::size_t>(count));
    if (child.printed.size() > printed_max) child.printed.erase(0, child.printed.size() - printed_max);
  }
}

// What it left in the background goes on, as with any daemon that is started this way; only what it printed is lost.
void ChildPrograms::over(Id id, const ProcessEnd& process) {
  const auto found = children_.find(id);
  read_some(id);
  Child child = std::move(found->second);
  children_.erase(found);
  loop_.cancel(child.limit);
  child.reader.reset();
  close(child.output);
  const auto ended = [&] {
    return describe("program " + child.program + " (process " + std::to_string(child.pid) + ")",
                    ProgramEnd{process.exit_code, process.signal, child.timed_out});
  };
  lines_->debug(ended);
  lines_->about(DebugFlag::script, ended);
  if (child.ended)
    child.ended(ProgramEnd{process.exit_code, process.signal, child.timed_out, std::string{trim(child.printed)}});
}

void ChildPrograms::kill(Id program) {
  const auto found = children_.find(program);
  if (found == children_.end()) return;
  found->second.ended = {};
  ::kill(-found->second.pid, SIGKILL);
}

}  // namespace millrace
