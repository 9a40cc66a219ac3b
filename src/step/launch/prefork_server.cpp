// src/step/launch/prefork_server.cpp - see prefork_server.h.
#include "step/launch/prefork_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace millrace {
namespace {

// The descriptor that came with the message, or -1.
int descriptor_in(const msghdr& message) {
  const cmsghdr* part = CMSG_FIRSTHDR(&message);
  if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
  return fd;
}

}  // namespace

int serve_prefork(int orders) {
  struct sigaction action{};
  action.sa_handler = SIG_IGN;  // nobody waits for the children: the kernel clears them away
  sigaction(SIGCHLD, &action, nullptr);
  for (;;) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t count = recvmsg(orders, &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    const int agent = descriptor_in(message);
    if (agent < 0) continue;
    // When there is no room for another process the agent sees its socket end, and the job is started again.
    if (fork() == 0) {
      close(orders);
      return agent;
    }
    close(agent);
  }
}

}  // namespace millrace
