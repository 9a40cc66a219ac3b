// src/agent/supervisor_starter.cpp - see supervisor_starter.h.
#include "agent/supervisor_starter.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace millrace {
namespace {

constexpr int step_socket = 3;  // where millrace-step expects us
constexpr int patience_ms = 1000;

}  // namespace

SupervisorStarter::~SupervisorStarter() {
  close_prefork_server();
  reap();
}

void SupervisorStarter::close_prefork_server() {
  if (orders_ >= 0) close(orders_);
  orders_ = -1;
}

void SupervisorStarter::reap() {
  std::erase_if(children_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

// posix_spawn, because an agent may be large and fork copies it.
Result<void> SupervisorStarter::spawn(int socket, const char* mode) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  // It outlives us and must not hold on to a terminal, or to a pipe that somebody reads to its end.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, step_socket);  // the same number: glibc clears close-on-exec
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "millrace-step", argument = mode ? mode : "";
  char* const arguments[] = {name.data(), mode ? argument.data() : nullptr, nullptr};
  char* const environment[] = {nullptr};  // nothing of ours is the job's business
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, program_.c_str(), &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) return fail(Errc::unavailable, "start " + program_ + ": " + std::strerror(problem));
  children_.push_back(pid);
  return {};
}

// Gives the prefork server a socket; false when it is not there or does not take it in time.
bool SupervisorStarter::hand_over(int socket) {
  if (orders_ < 0) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    const bool started = spawn(ends[1], "--prefork").has_value();
    close(ends[1]);
    if (!started) return close(ends[0]), false;
    orders_ = ends[0];
  }
  char byte = 's';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &socket, sizeof socket);
  for (;;) {
    if (sendmsg(orders_, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) continue;
    pollfd ready{orders_, POLLOUT, 0};
    if ((errno == EAGAIN || errno == EWOULDBLOCK) && poll(&ready, 1, patience_ms) == 1 &&
        (ready.revents & POLLOUT) != 0)
      continue;
    close_prefork_server();  // dead or stuck: the next launch starts another
    return false;
  }
}

Result<int> SupervisorStarter::start_supervisor() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Errc::unavailable, std::string{"make a socket pair: "} + std::strerror(errno));
  Result<void> started;
  if (!hand_over(ends[1]) && !hand_over(ends[1])) started = spawn(ends[1], nullptr);
  close(ends[1]);
  if (started) return ends[0];
  close(ends[0]);
  return std::unexpected(started.error());
}

}  // namespace millrace
