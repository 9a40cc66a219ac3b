// src/apps/millrace_step.cpp - millrace-step, the supervisor of one attempt on one node; started by the agent with a
// socket as descriptor 3.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "step/attempt/supervisor.h"
#include "step/container/oci_bundle.h"
#include "step/launch/prefork_server.h"
#include "step/mpi/pmix_server.h"
#include "wire/limits.h"

namespace {

constexpr int agent_socket = 3;

using namespace millrace;

// The first message is the order. An agent that dies before it is complete has started nothing.
std::optional<wire::ToStep> receive_order(Channel& agent) {
  while (agent.is_open()) {
    if (const auto bytes = agent.next()) {
      wire::ToStep order;
      if (!order.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())) || !order.has_run())
        return std::nullopt;
      return order;
    }
    pollfd ready{agent.fd(), POLLIN, 0};
    if (poll(&ready, 1, -1) < 0) continue;
    agent.fill();
  }
  return std::nullopt;
}

// Every signal but KILL waits: a supervisor ends when its work has ended, not because somebody stops a service.
int block_signals_and_watch_children() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);  // an agent ignores it, and ignored children cannot be waited for
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

// The machine is to blame: nothing of what the job asked for has been looked at.
void refuse(Channel& agent, const wire::ToStep& order, const std::string& problem) {
  wire::FromStep message;
  message.mutable_status()->set_job_key(order.run().job_key());
  message.mutable_status()->set_attempt(order.run().attempt());
  if (order.run().has_step()) message.mutable_status()->set_step(order.run().step());
  message.mutable_status()->set_state(wire::AttemptStatus::ENDED);
  message.mutable_status()->set_end(wire::AttemptStatus::LAUNCH_FAILED);
  message.mutable_status()->set_exit_signal(53);
  message.mutable_status()->set_problem(problem);
  message.mutable_status()->set_cause(wire::AttemptStatus::OF_NODE);
  agent.send(message.SerializeAsString());
}

}  // namespace

// --oci RUNTIME BUNDLE DIRECTORY SCRIPT DEVICES -- PROGRAM...: a task's own process, already its user's.
int run_in_bundle(int count, char** arguments) {
  BundleTask task;
  const std::string runtime = arguments[2];
  task.bundle = arguments[3];
  task.directory = arguments[4];
  task.script = arguments[5];
  for (const std::string_view device : split(arguments[6], ','))
    if (!device.empty()) task.devices.emplace_back(device);
  for (int i = 8; i < count; ++i) task.arguments.emplace_back(arguments[i]);
  for (char** entry = environ; *entry != nullptr; ++entry) task.environment.emplace_back(*entry);
  task.uid = getuid();
  task.gid = getgid();
  const auto done = become_container(task, runtime);
  std::fprintf(stderr, "slurmstepd: error: %s\n", done.error().story.c_str());
  return 1;
}

int main(int count, char** arguments) {
  if (count >= 8 && std::strcmp(arguments[1], "--oci") == 0) return run_in_bundle(count, arguments);
  if (count > 1 && std::strcmp(arguments[1], "-V") == 0) {
    std::puts("millrace-step 0.1.0");
    return 0;
  }
  if (count == 2 && std::strcmp(arguments[1], "--pmix") == 0) return serve_pmix(STDIN_FILENO);
  if (count == 2 && std::strcmp(arguments[1], "--prefork") == 0) {
    const int socket = serve_prefork(agent_socket);
    if (socket < 0) return 0;
    if (socket != agent_socket && dup2(socket, agent_socket) < 0) return 1;
    if (socket != agent_socket) close(socket);
    count = 1;  // from here on a supervisor like one that was started alone
  }
  if (count > 1 || fcntl(agent_socket, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("millrace-step is started by millrace-agent, not by hand\n", stderr);
    return 1;
  }
  setsid();
  Channel agent{agent_socket, supervisor_frame_max};
  const auto order = receive_order(agent);
  if (!order) return 1;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int child_signals = block_signals_and_watch_children();
  auto spool = AttemptSpool::enter(order->spool());
  if (!spool) return refuse(agent, *order, spool.error().story), 1;
  const auto listener = listen_for_agents();
  if (!listener) return refuse(agent, *order, listener.error().story), 1;
  const auto claimed = spool->claim(order->identity().boot_id(), listener->name, order->identity().uid());
  if (!claimed && claimed.error().code == Errc::refused) return 1;  // given up by an agent that came before us
  if (!claimed) return refuse(agent, *order, claimed.error().story), 1;
  return Supervisor{*order, *std::move(spool), std::move(agent), listener->fd, child_signals}.run();
}
