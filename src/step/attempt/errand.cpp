// src/step/attempt/errand.cpp - see errand.h.
#include "step/attempt/errand.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

namespace millrace {
namespace {

constexpr int kept_number = 3;
constexpr unsigned note_limit_seconds = 5;
constexpr std::size_t waiting_notes_max = 16;

std::int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace

pid_t begin_errand(const UserIds& user, int kept, unsigned limit_seconds, const std::function<void()>& work) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(SIGALRM, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  if (!become_user(user)) _exit(1);
  alarm(limit_seconds);  // ends it wherever it hangs
  if (kept >= 0 && kept != kept_number && dup2(kept, kept_number) < 0) _exit(1);
  syscall(SYS_close_range, static_cast<unsigned>(kept >= 0 ? kept_number + 1 : kept_number), ~0U, 0U);
  work();
  _exit(0);
}

bool wait_for_errand(pid_t pid, int within_ms) {
  const std::int64_t until = monotonic_ms() + within_ms;
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  for (;;) {
    const pid_t found = waitpid(pid, nullptr, WNOHANG);
    if (found == pid || (found < 0 && errno != EINTR)) break;
    const std::int64_t left = until - monotonic_ms();
    if (ended < 0 || left <= 0) {
      if (ended >= 0) close(ended);
      return false;
    }
    pollfd one{ended, POLLIN, 0};
    poll(&one, 1, static_cast<int>(left));
  }
  if (ended >= 0) close(ended);
  return true;
}

JobNotes::~JobNotes() {
  if (file_ >= 0) close(file_);
}

void JobNotes::set_file(int fd) {
  if (file_ >= 0) close(file_);
  file_ = fd;
}

void JobNotes::write(const UserIds& user, const std::string& line) {
  if (file_ < 0 || lines_.size() >= waiting_notes_max) return;
  user_ = user;
  lines_.push_back(line + "\n");
  if (writer_ < 0) begin_next();
}

void JobNotes::begin_next() {
  if (lines_.empty() || file_ < 0) return;
  const std::string line = std::move(lines_.front());
  lines_.pop_front();
  writer_ = begin_errand(user_, file_, note_limit_seconds, [&] {
    if (::write(kept_number, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
  });
}

bool JobNotes::ended(pid_t pid, int wait_status) {
  if (writer_ < 0 || pid != writer_) return false;
  writer_ = -1;
  if (WIFSIGNALED(wait_status)) lines_.clear(), set_file(-1);  // nobody takes what we write
  begin_next();
  return true;
}

void JobNotes::finish(int within_ms) {
  const std::int64_t until = monotonic_ms() + within_ms;
  while (writer_ > 0) {
    const std::int64_t left = until - monotonic_ms();
    if (left <= 0 || !wait_for_errand(writer_, static_cast<int>(left))) {
      kill(writer_, SIGKILL);
      lines_.clear();
      writer_ = -1;
      return;
    }
    writer_ = -1;
    begin_next();
  }
}

}  // namespace millrace
