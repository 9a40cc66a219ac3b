// src/agent/accelerator_watch.cpp - see accelerator_watch.h.
#include "agent/accelerator_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

extern char** environ;

namespace millrace {
namespace {

constexpr std::size_t report_max = 1u << 20;
constexpr Duration pause_after_end = seconds(60);

std::int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace

AcceleratorWatch::AcceleratorWatch(Loop& loop, Readiness& readiness, Settings settings)
    : loop_(loop), readiness_(readiness), settings_(std::move(settings)), reader_(report_max) {}

AcceleratorWatch::~AcceleratorWatch() {
  watch_.reset();
  if (socket_ >= 0) close(socket_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);  // it holds nothing
  waitpid(pid_, nullptr, 0);
}

bool AcceleratorWatch::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = settings_.arguments;
  std::string name = settings_.program;
  std::vector<char*> arguments{name.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int problem = posix_spawn(&pid_, settings_.program.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (problem != 0) {
    close(ends[0]);
    pid_ = 0;
    settings_.log(std::string{"accelerators are not watched: "} + std::strerror(problem));
    return false;
  }
  socket_ = ends[0];
  reader_ = FrameReader(report_max);
  asked_ = true;  // it reports once by itself
  return true;
}

void AcceleratorWatch::end(std::string_view why) {
  watch_.reset();
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  not_before_ = loop_.steady() + pause_after_end;
  settings_.log("accelerators are not watched for a while: " + std::string{why});
}

bool AcceleratorWatch::take() {
  char buffer[16384];
  for (;;) {
    const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (count <= 0) return false;
    reader_.feed({buffer, static_cast<std::size_t>(count)});
    for (;;) {
      const auto bytes = reader_.next();
      if (!bytes) return false;
      if (!*bytes) break;
      wire::AcceleratorReport report;
      if (!report.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size()))) return false;
      asked_ = false;
      if (report.problem() != last_problem_ && !report.problem().empty()) settings_.log(report.problem());
      last_problem_ = report.problem();
      settings_.seen(report);
    }
  }
}

bool AcceleratorWatch::first_look(int patience_ms) {
  if (!start()) return false;
  const std::int64_t until = monotonic_ms() + patience_ms;
  while (asked_) {
    pollfd entry{socket_, POLLIN, 0};
    const std::int64_t left = until - monotonic_ms();
    if (left <= 0) return end("the first look has not ended"), false;
    if (poll(&entry, 1, static_cast<int>(left)) < 0 && errno != EINTR) return end("poll failed"), false;
    if (entry.revents != 0 && !take()) return end("the process that looks at them ended"), false;
  }
  return true;
}

void AcceleratorWatch::look_again() {
  if (socket_ < 0) {
    if (loop_.steady() < not_before_ || !start()) return;
  }
  if (!watch_) {
    watch_ = readiness_.watch(
        socket_,
        [this] {
          if (take())
            watch_->want_readable();
          else
            end("the process that looks at them ended");
        },
        [] {});
    watch_->want_readable();
  }
  if (asked_) return;  // it has not answered yet: a driver that hangs
  const char byte = '?';
  asked_ = send(socket_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

}  // namespace millrace
