// src/step/mpi/step_mpi_test.cpp - tasks and PMIx servers that say too much, or do not listen.
#include "step/mpi/step_mpi.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "step/attempt/channel.h"
#include "step/mpi/pmix_told.h"

namespace millrace {
namespace {

wire::LaunchPlan plan_of_one_task() {
  wire::LaunchPlan plan;
  plan.set_job_id(12);
  plan.set_nodes("n1");
  plan.set_node_name("n1");
  plan.add_cpus_per_node(1);
  plan.add_tasks_per_node(1);
  return plan;
}

TEST(PmiTasks, Task_that_does_not_read_its_answers_is_not_read) {
  const wire::LaunchPlan plan = plan_of_one_task();
  const auto tasks = make_pmi(plan, {0});
  TaskSpec spec;
  ASSERT_TRUE(tasks->prepare_task(0, spec));
  std::string heap = "cmd=init pmi_version=1 pmi_subversion=1\n";
  while (heap.size() < 60'000) heap += "cmd=get kvsname=12 key=PMI_process_mapping\n";
  std::size_t taken = 0, turns = 0;
  for (std::vector<pollfd> polls;; ++turns) {
    ASSERT_LT(turns, 100'000u) << "after " << taken << " bytes it is still read";
    const ssize_t count = send(spec.kept_fd, heap.data(), heap.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) taken += static_cast<std::size_t>(count);
    polls.clear();
    tasks->add_polls(polls, true);
    ASSERT_EQ(polls.size(), 1u);
    if ((polls[0].events & POLLIN) == 0) break;
    polls[0].revents = POLLIN;
    tasks->handle(polls[0]);
  }
  EXPECT_GT(turns, 1u);
  close(spec.kept_fd);
}

TEST(PmiTasks, Long_answers_arrive_whole) {
  const auto tasks = make_pmi(plan_of_one_task(), {0});
  TaskSpec spec;
  ASSERT_TRUE(tasks->prepare_task(0, spec));
  constexpr std::size_t questions = 16'000;
  std::string heap = "cmd=init pmi_version=1 pmi_subversion=1\n", heard;
  std::string expected = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
  for (std::size_t i = 0; i < questions; ++i) {
    heap += "cmd=get kvsname=12 key=" + std::to_string(i) + "\n";
    expected += "cmd=get_result rc=-1 msg=key_not_found value=unknown\n";
  }
  char buffer[3000];
  for (std::size_t turns = 0; turns < 10'000 && heard.size() < expected.size(); ++turns) {
    const ssize_t count = send(spec.kept_fd, heap.data(), heap.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) heap.erase(0, static_cast<std::size_t>(count));
    std::vector<pollfd> polls;
    tasks->add_polls(polls, true);
    ASSERT_EQ(polls.size(), 1u);
    polls[0].revents = polls[0].events;
    tasks->handle(polls[0]);
    const ssize_t got = recv(spec.kept_fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) heard.append(buffer, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(heard, expected);
  close(spec.kept_fd);
}

TEST(PmiTasks, A_step_of_one_task_does_not_keep_hundreds_of_mebibytes) {
  const auto tasks = make_pmi(plan_of_one_task(), {0});
  TaskSpec spec;
  ASSERT_TRUE(tasks->prepare_task(0, spec));
  const std::string value(1000, 'v');
  const auto ask = [&](const std::string& line) {
    EXPECT_EQ(send(spec.kept_fd, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
    pollfd ready{0, POLLIN, POLLIN};
    std::vector<pollfd> polls;
    tasks->add_polls(polls, true);
    ready.fd = polls.at(0).fd;
    tasks->handle(ready);
    char answer[4096];
    const ssize_t got = recv(spec.kept_fd, answer, sizeof answer, MSG_DONTWAIT);
    return std::string{answer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  };
  ask("cmd=init pmi_version=1 pmi_subversion=1\n");
  std::size_t keys = 0;
  while (keys < 8000 &&
         ask("cmd=put kvsname=12.batch key=" + std::to_string(keys) + " value=" + value + "\n").find("rc=0") !=
             std::string::npos)
    ++keys;
  EXPECT_GT(keys, 3000u);
  EXPECT_LT(keys, 5000u);
  close(spec.kept_fd);
}

TEST(PmiTasks, Nothing_is_read_that_cannot_be_passed_on) {
  const auto tasks = make_pmi(plan_of_one_task(), {0});
  TaskSpec spec;
  ASSERT_TRUE(tasks->prepare_task(0, spec));
  std::vector<pollfd> polls;
  tasks->add_polls(polls, false);
  EXPECT_TRUE(polls.empty());
  close(spec.kept_fd);
}

TEST(PmixTold, Tasks_of_other_nodes_are_not_heard_of) {
  PmixTold told({4, 5});
  wire::FromPmix message;
  message.mutable_ready();
  EXPECT_TRUE(told.take(message.SerializeAsString()));
  for (std::uint32_t rank = 0; rank < 10; ++rank) {
    message.set_connected(rank);
    told.take(message.SerializeAsString());
  }
  for (const std::uint32_t rank : {4u, 5u}) {
    EXPECT_TRUE(told.is_unfinished(rank));
    message.set_finalized(rank);
    told.take(message.SerializeAsString());
  }
  EXPECT_FALSE(told.unfinished_task());
}

TEST(PmixTold, Before_it_is_ready_a_server_has_nothing_else_to_say) {
  wire::FromPmix message;
  message.mutable_mpi()->mutable_join()->set_data(std::string(1000, 'x'));
  PmixTold told({0});
  EXPECT_FALSE(told.take(message.SerializeAsString()));
  EXPECT_TRUE(told.take_outgoing().empty());
  message.set_connected(0);
  EXPECT_FALSE(told.take(message.SerializeAsString()));
  EXPECT_FALSE(told.unfinished_task());
  message.mutable_ready()->add_tasks()->add_environment(std::string(2u << 20, 'x'));
  EXPECT_FALSE(told.take(message.SerializeAsString()));
  EXPECT_FALSE(told.is_ready());
  message.set_problem("no library");
  EXPECT_TRUE(told.take(message.SerializeAsString()));
  EXPECT_EQ(told.problem(), "no library");
}

TEST(PmixTold, What_was_not_passed_on_yet_is_counted) {
  PmixTold told({0});
  wire::FromPmix message;
  message.mutable_ready();
  EXPECT_TRUE(told.take(message.SerializeAsString()));
  message.mutable_mpi()->mutable_join()->set_data(std::string(100'000, 'x'));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(told.take(message.SerializeAsString()));
  EXPECT_GT(told.outgoing_bytes(), 300'000u);
  EXPECT_EQ(told.take_outgoing().size(), 3u);
  EXPECT_EQ(told.outgoing_bytes(), 0u);
}

TEST(PmixTold, Server_is_ready_once) {
  PmixTold told({0, 1});
  wire::FromPmix message;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    wire::PmixTask& task = *message.mutable_ready()->add_tasks();
    task.set_task(rank);
    task.add_environment("A=1");
  }
  told.take(message.SerializeAsString());
  EXPECT_TRUE(told.is_ready());
  ASSERT_NE(told.environment(1), nullptr);
  EXPECT_EQ(told.environment(2), nullptr);
  message.mutable_ready()->mutable_tasks(1)->add_environment("B=2");
  told.take(message.SerializeAsString());
  EXPECT_EQ(told.environment(1)->size(), 1u);
}

TEST(Channel, Peer_that_sends_without_end_is_read_for_a_turn) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Channel channel(ends[0]);
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    const std::string piece(65536, 0);
    while (!enough) send(ends[1], piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  for (int turn = 0; turn < 20; ++turn) EXPECT_TRUE(channel.fill());
  enough = true;
  writer.join();
  close(ends[1]);
}

TEST(Channel, Long_queue_goes_out_whole) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Channel from(ends[0]), to(ends[1]);
  std::vector<std::string> sent;
  for (char c = 'a'; c < 'i'; ++c) from.send(sent.emplace_back(300'000, c));
  std::vector<std::string> heard;
  while (heard.size() < sent.size()) {
    to.fill();
    while (const auto message = to.next()) heard.emplace_back(*message);
    from.flush();
  }
  EXPECT_EQ(heard, sent);
  EXPECT_EQ(from.unsent(), 0u);
}

}  // namespace
}  // namespace millrace
