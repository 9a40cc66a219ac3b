// tests/system/step/supervised_cost.cpp - what a supervised trivial script costs against a bare spawn of the same
// script. Not a test but a measure; supervised_cost.sh beside it builds and runs it.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "wire/frame.h"

using namespace millrace;

extern char** environ;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Wall time says little on a machine that others use too.
double cpu_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) / 1e6;
  }
  return sum;
}

void bare(const std::string& root, int jobs, int workers) {
  const std::string script = root + "/script";
  FILE* file = std::fopen(script.c_str(), "w");
  std::fputs("#!/bin/sh\nexit 0\n", file);
  std::fclose(file);
  chmod(script.c_str(), 0700);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  int running = 0;
  for (int started = 0, ended = 0; ended < jobs;) {
    for (; running < workers && started < jobs; ++started, ++running) {
      posix_spawn_file_actions_t actions;
      posix_spawn_file_actions_init(&actions);
      const std::string out = root + "/o." + std::to_string(started);
      posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      char* arguments[] = {const_cast<char*>(script.c_str()), nullptr};
      pid_t pid = 0;
      if (posix_spawn(&pid, script.c_str(), &actions, nullptr, arguments, environ) != 0) std::abort();
      posix_spawn_file_actions_destroy(&actions);
    }
    if (wait(nullptr) > 0) ++ended, --running;
  }
  std::printf("bare spawn, %d at once: %.0f jobs/s, %.2f ms of processor each\n", workers, jobs / seconds_since(begin),
              (cpu_seconds() - cpu) * 1000 / jobs);
}

struct Slot {
  pid_t pid = -1;
  int fd = -1;
};

Slot launch(const std::string& program, const std::string& root, std::uint32_t number) {
  const std::string spool = root + "/" + std::to_string(number) + ".0";
  mkdir(spool.c_str(), 0711);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
  char* arguments[] = {const_cast<char*>("millrace-step"), nullptr};
  Slot slot;
  if (posix_spawn(&slot.pid, program.c_str(), &actions, nullptr, arguments, environ) != 0) std::abort();
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  slot.fd = ends[0];
  wire::ToStep order;
  auto* plan = order.mutable_run();
  plan->set_job_key(number);
  plan->set_job_id(number);
  plan->set_nodes("c1");
  plan->add_cpus_per_node(1);
  plan->add_tasks_per_node(1);
  plan->set_node_name("c1");
  plan->set_script("#!/bin/sh\nexit 0\n");
  std::string environment;
  for (int i = 0; i < 40; ++i) environment += "SOME_VARIABLE_" + std::to_string(i) + "=" + std::string(50, 'v') + '\0';
  plan->set_environment(environment);
  plan->mutable_job()->set_work_dir(root);
  plan->mutable_job()->set_umask(022);
  order.mutable_identity()->set_uid(getuid());
  order.mutable_identity()->set_gid(getgid());
  order.set_spool(spool);
  const std::string bytes = frame(order.SerializeAsString());
  if (send(slot.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) std::abort();
  return slot;
}

void supervised(const std::string& program, const std::string& root, int jobs, int workers) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  std::vector<Slot> slots(static_cast<std::size_t>(workers));
  int started = 0, ended = 0;
  std::vector<pollfd> polls(slots.size());
  while (ended < jobs) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].fd < 0 && started < jobs) slots[i] = launch(program, root, static_cast<std::uint32_t>(++started));
      polls[i] = {slots[i].fd, POLLIN, 0};
    }
    poll(polls.data(), polls.size(), -1);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].fd < 0 || polls[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = recv(slots[i].fd, buffer, sizeof buffer, 0);
      if (count <= 0) std::abort();
      close(slots[i].fd);
      waitpid(slots[i].pid, nullptr, 0);
      slots[i] = {};
      ++ended;
    }
  }
  std::printf("supervised, %d at once: %.0f jobs/s, %.2f ms of processor each\n", workers, jobs / seconds_since(begin),
              (cpu_seconds() - cpu) * 1000 / jobs);
}

}  // namespace

int main(int, char** arguments) {
  std::string root = std::string{arguments[3]} + "/mr-cost-XXXXXX";
  if (mkdtemp(root.data()) == nullptr) return 1;
  const int jobs = std::atoi(arguments[2]);
  for (int round = 0; round < 2; ++round)
    for (const int workers : {2, 8}) {
      bare(root, jobs, workers);
      supervised(arguments[1], root, jobs, workers);
      if (std::system(("rm -rf " + root + "/*").c_str()) != 0) return 1;
    }
  return std::system(("rm -rf " + root).c_str());
}
