// src/step/attempt/reaper_test.cpp - more ended children than one turn takes.
#include "step/attempt/reaper.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

namespace millrace {
namespace {

class ReaperTest : public testing::Test {
 protected:
  void SetUp() override {
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, &before_);
    signals_ = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
    ASSERT_GE(signals_, 0);
  }
  void TearDown() override {
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    take_signal();
    close(signals_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  // Returns when all of them have ended.
  std::set<pid_t> end_children(std::size_t count) {
    std::set<pid_t> pids;
    for (std::size_t i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid == 0) _exit(static_cast<int>(i % 7));
      pids.insert(pid);
    }
    siginfo_t ended{};
    for (const pid_t pid : pids) EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0) << pid;
    return pids;
  }
  bool take_signal() {
    signalfd_siginfo signal[2];
    return read(signals_, signal, sizeof signal) > 0;
  }

  sigset_t before_{};
  int signals_ = -1;
};

TEST_F(ReaperTest, Takes_a_turns_share_of_many_and_asks_for_another_turn) {
  std::set<pid_t> left = end_children(reaped_per_turn + 20);
  take_signal();
  const auto first = reap_some([](pid_t) { return false; });
  EXPECT_EQ(first.size(), reaped_per_turn);
  EXPECT_TRUE(take_signal()) << "nobody would look again";
  const auto rest = reap_some([](pid_t) { return false; });
  EXPECT_EQ(rest.size(), 20u);
  EXPECT_FALSE(take_signal());
  for (const auto* turn : {&first, &rest})
    for (const EndedChild& child : *turn) EXPECT_EQ(left.erase(child.pid), 1u);
  EXPECT_TRUE(left.empty());
}

TEST_F(ReaperTest, Tells_how_each_child_ended) {
  const pid_t killed = fork();
  if (killed == 0) {
    pause();
    _exit(0);
  }
  kill(killed, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(killed), &ended, WEXITED | WNOWAIT), 0);
  const auto children = reap_some([](pid_t) { return true; });
  ASSERT_EQ(children.size(), 1u);
  EXPECT_EQ(children[0].pid, killed);
  EXPECT_EQ(WTERMSIG(children[0].wait_status), SIGKILL);
}

}  // namespace
}  // namespace millrace
