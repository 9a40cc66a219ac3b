// src/step/attempt/traced_test.cpp - which processes are dead, and which a tracer holds.
#include "step/attempt/traced.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/patience_fixture.h"
#include "step/attempt/proc.h"

namespace millrace {
namespace {

char state_of(pid_t pid) {
  const std::string stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
  const std::size_t end = stat.rfind(')');
  return end == std::string::npos ? '?' : stat[end + 2];
}

void* wait_for_ever(void*) {
  for (;;) pause();
}

TEST(Traced, Zombie_with_a_living_thread_is_not_dead) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_for_ever, nullptr);
    syscall(SYS_exit, 0);  // of this thread alone
  }
  ASSERT_TRUE(wait_until([&] { return state_of(child) == 'Z'; }));
  EXPECT_FALSE(is_dead(child));
  EXPECT_FALSE(held_end(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_dead(child));
}

TEST(Traced, End_of_a_child_is_held_only_where_we_cannot_wait_for_it) {
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t tracer = fork();
  if (tracer == 0) {
    const char said = ptrace(PTRACE_SEIZE, child, nullptr, 0) == 0 ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = write(ends[1], &said, 1);
    for (;;) pause();
  }
  char said = 0;
  ASSERT_TRUE(wait_readable(ends[0]));
  ASSERT_EQ(read(ends[0], &said, 1), 1);
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(held_end(child));
  kill(child, SIGTERM);
  EXPECT_TRUE(said == 'n' || wait_until([&] { return state_of(child) == 't'; }));
  kill(child, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return is_dead(child); }));
  const auto status = held_end(child);
  kill(tracer, SIGKILL);
  waitpid(tracer, nullptr, 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  if (said == 'n') GTEST_SKIP() << "siblings cannot be traced here";
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, SIGKILL);
}

}  // namespace
}  // namespace millrace
