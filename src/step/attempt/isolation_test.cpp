// src/step/attempt/isolation_test.cpp - real cgroups of this machine, whichever version it has: limits, fences, and
// that nobody survives.
#include <sched.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "isolation/cgroup_search.h"
#include "isolation/control_file.h"
#include "isolation/order.h"
#include "step/attempt/supervisor_harness.h"

namespace millrace {
namespace {

constexpr const char* whole_tree = "/sys/fs/cgroup";
constexpr const char* hybrid_tree = "/sys/fs/cgroup/unified";  // v2 without controllers, beside v1

class IsolationTest : public SupervisorTest {
 protected:
  void TearDown() override {
    SupervisorTest::TearDown();
    if (cgroup_) {
      cgroup_->kill_all();
      EXPECT_TRUE(wait_until([&] { return cgroup_->processes().empty(); })) << "some survive";
      cgroup_->remove();
    }
    remove_node_folders(found_.folders);
  }

  // False: this machine cannot do it, and why is in found_.
  bool find(std::vector<std::string> controllers, const char* tree = whole_tree) {
    CgroupSearch search;
    search.mountpoint = tree;
    search.own = read_control("/proc/self/cgroup");
    search.node_folder = node_folder_name("test" + std::to_string(getpid()), root_);
    search.controllers = std::move(controllers);
    found_ = find_cgroups(search);
    for (const std::string& name : found_.missing) found_.problem += "no " + name + " controller ";
    auto* order = order_.mutable_isolation();
    if (found_.folders.driver == CgroupDriver::v1) order->set_driver(wire::Isolation::CGROUP_V1);
    if (found_.folders.driver == CgroupDriver::v2) order->set_driver(wire::Isolation::CGROUP_V2);
    for (const auto& folder : found_.folders.folders) {
      auto* to = order->add_folders();
      to->set_controller(folder.controller);
      to->set_path(folder.path);
    }
    order->set_job("job_86");
    order->set_step("step_batch");
    if (geteuid() == 0 && found_.folders.driver != CgroupDriver::none) cgroup_ = cgroup_in(*order);
    return cgroup_ && found_.missing.empty();
  }

  void expect_no_cgroup_left() {
    for (const auto& folder : found_.folders.folders) EXPECT_FALSE(has_control(folder.path + "/job_86")) << folder.path;
  }

  FoundCgroups found_;
  std::unique_ptr<JobCgroup> cgroup_;
};

#define NEEDS(condition) \
  if (!(condition)) GTEST_SKIP() << "cgroups cannot be used for this here: " << found_.problem

TEST_F(IsolationTest, A_job_that_takes_too_much_memory_is_out_of_memory) {
  NEEDS(find({"memory"}));
  order_.mutable_isolation()->set_memory_bytes(64 << 20);
  order_.mutable_isolation()->set_swap_bytes(0);
  script("echo begun; exec dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::OUT_OF_MEMORY);
  EXPECT_EQ(status.exit_code(), 0u);
  EXPECT_EQ(status.exit_signal(), 125u);
  EXPECT_EQ(output(),
            "begun\nslurmstepd: error: Detected 1 oom_kill event in StepId=86.batch. Some of the step tasks have been "
            "OOM Killed.\n");
  expect_no_cgroup_left();
}

TEST_F(IsolationTest, A_script_that_ends_well_after_its_child_ran_short_is_out_of_memory_too) {
  NEEDS(find({"memory"}));
  order_.mutable_isolation()->set_memory_bytes(64 << 20);
  script("dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null; exit 0");
  start();
  EXPECT_EQ(end().end(), wire::AttemptStatus::OUT_OF_MEMORY);
}

TEST_F(IsolationTest, A_job_within_its_limit_ends_as_it_likes) {
  NEEDS(find({"memory"}));
  order_.mutable_isolation()->set_memory_bytes(64 << 20);
  script("dd if=/dev/zero of=/dev/null bs=4M count=1 2>/dev/null; exit 3");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::EXITED);
  EXPECT_EQ(status.exit_code(), 3u);
  expect_no_cgroup_left();
}

TEST_F(IsolationTest, A_job_has_only_its_processors) {
  NEEDS(find({"cpuset"}));
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) last = cpu;
  order_.mutable_isolation()->set_cpus(std::to_string(last));
  script("grep Cpus_allowed_list /proc/self/status");
  start();
  end();
  EXPECT_EQ(output(), "Cpus_allowed_list:\t" + std::to_string(last) + "\n");
}

TEST_F(SupervisorTest, A_script_is_bound_to_its_processors_without_any_cgroup) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::uint32_t first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  order_.mutable_isolation()->set_bind_tasks(true);
  order_.mutable_isolation()->add_places()->set_cpu(first);
  script("grep Cpus_allowed_list /proc/self/status");
  start();
  end();
  EXPECT_EQ(output(), "Cpus_allowed_list:\t" + std::to_string(first) + "\n");
}

TEST_F(SupervisorTest, A_processor_that_is_not_there_fails_the_launch) {
  order_.mutable_isolation()->set_bind_tasks(true);
  order_.mutable_isolation()->add_places()->set_cpu(3000);
  script("echo never");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(status.problem(), "Unable to satisfy cpu bind request: Invalid argument");
}

TEST_F(IsolationTest, Processes_are_counted) {
  NEEDS(find({"pids"}));
  order_.mutable_isolation()->set_processes_max(6);
  script("for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done 2>/dev/null; wait");
  start();
  EXPECT_NE(end().exit_code(), 0u);
}

// As in a container, which sees its own cgroup as the top, with all its processes in it.
TEST_F(IsolationTest, Processes_in_the_first_cgroup_are_moved_aside_so_that_it_can_hand_controllers_down) {
  NEEDS(find({"memory"}) && found_.folders.driver == CgroupDriver::v2);
  const std::string box = found_.folders.folders.front().path + "/box";
  ASSERT_EQ(mkdir(box.c_str(), 0755), 0);
  const pid_t other = fork();
  if (other == 0) {
    static_cast<void>(write_control(box + "/cgroup.procs", "0"));
    for (;;) pause();
  }
  ASSERT_TRUE(wait_until([&] { return !read_control(box + "/cgroup.procs").empty(); }));
  const pid_t agent = fork();
  if (agent == 0) {
    if (!write_control(box + "/cgroup.procs", "0")) _exit(1);
    CgroupSearch search;
    search.mountpoint = box;
    search.own = "0::/\n";
    search.node_folder = "node";
    search.controllers = {"memory"};
    const auto alone = find_cgroups(search);
    if (alone.folders.driver != CgroupDriver::v2 || alone.missing.empty()) _exit(2);
    search.move_others = true;
    const auto all = find_cgroups(search);
    _exit(all.folders.driver == CgroupDriver::v2 && all.missing.empty() ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(agent, &status, 0), agent);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_control(box + "/millrace_agents/cgroup.procs"), std::to_string(other) + "\n");
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  for (const char* folder : {"/node", "/millrace_agents", ""}) EXPECT_EQ(rmdir((box + folder).c_str()), 0) << folder;
}

class AnyTree : public IsolationTest, public testing::WithParamInterface<const char*> {};

TEST_P(AnyTree, Devices_of_others_cannot_be_opened) {
  NEEDS(find({"devices"}, GetParam()));
  const std::string ours = work_ + "/zero", theirs = work_ + "/full";
  ASSERT_EQ(mknod(ours.c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);
  ASSERT_EQ(mknod(theirs.c_str(), S_IFCHR | 0666, makedev(1, 7)), 0);
  chmod(ours.c_str(), 0666);
  chmod(theirs.c_str(), 0666);
  order_.mutable_isolation()->add_denied_devices(theirs);
  order_.mutable_isolation()->add_denied_devices(work_ + "/missing");
  script(
      "for d in zero full /dev/null; do if head -c 1 $d >/dev/null 2>&1; then echo $d opened; else echo $d refused; "
      "fi; done");
  start();
  EXPECT_EQ(end().end(), wire::AttemptStatus::EXITED);
  EXPECT_EQ(output(), "zero opened\nfull refused\n/dev/null opened\n");
  expect_no_cgroup_left();
}

TEST_P(AnyTree, Who_leaves_session_and_parent_dies_with_the_job) {
  NEEDS(find({}, GetParam()));
  Fifo fifo(work_ + "/pid");
  script("(setsid sh -c 'trap \"\" TERM HUP; echo $$ > " + fifo.path() + "; sleep 1000' &) ; read line < " + work_ +
         "/go");
  Fifo go(work_ + "/go");
  start();
  const int stray = std::stoi(fifo.line());
  const auto members = cgroup_->processes();
  EXPECT_NE(std::ranges::find(members, stray), members.end());
  go.say("on\n");
  EXPECT_EQ(end().end(), wire::AttemptStatus::EXITED);
  EXPECT_NE(kill(stray, 0), 0);
  expect_no_cgroup_left();
}

// Somebody who came into the cgroup from outside: his end makes no child of ours end.
class Visited : public AnyTree {
 protected:
  void start_with_visitor(Fifo& ready, const std::string& rest) {
    script("echo > " + ready.path() + "; " + rest);
    start();
    ready.line();
    visitor_ = fork();
    if (visitor_ == 0) {
      if (!cgroup_->join()) _exit(1);
      const int fd = open(ready.path().c_str(), O_WRONLY);
      if (write(fd, "j\n", 2) != 2) _exit(2);
      for (;;) pause();
    }
    EXPECT_EQ(ready.line(), "j");
  }
  void expect_visitor_killed() {
    int status = 0;
    ASSERT_EQ(waitpid(visitor_, &status, 0), visitor_);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    expect_no_cgroup_left();
  }
  pid_t visitor_ = -1;
};

TEST_P(Visited, Dies_with_the_last_task) {
  NEEDS(find({}, GetParam()));
  Fifo ready(work_ + "/ready"), go(work_ + "/go");
  start_with_visitor(ready, "read line < " + go.path());
  go.say("on\n");
  EXPECT_EQ(end().end(), wire::AttemptStatus::EXITED);
  expect_visitor_killed();
}

TEST_P(Visited, Dies_when_the_job_is_cancelled) {
  NEEDS(find({}, GetParam()));
  Fifo ready(work_ + "/ready");
  start_with_visitor(ready, "exec sleep 1000");
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 30);
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGTERM));
  expect_visitor_killed();
}

TEST_P(AnyTree, What_a_killed_supervisor_left_can_be_found_by_its_record) {
  NEEDS(find({}, GetParam()));
  Fifo fifo(work_ + "/pid");
  script("env -i setsid sh -c 'echo $$ > " + fifo.path() + "; exec sleep 1000'");
  start();
  const int stray = std::stoi(fifo.line());
  kill(pid_, SIGKILL);
  wire::Isolation recorded;
  const auto words = state_words("isolation");
  ASSERT_EQ(words.size(), 2u);
  ASSERT_TRUE(recorded.ParseFromString(from_hex(words[1]).value_or("?")));
  const auto cgroup = cgroup_in(recorded);
  const auto members = cgroup->processes();
  EXPECT_NE(std::ranges::find(members, stray), members.end());
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, stray, 0));
  cgroup->kill_all();
  EXPECT_TRUE(wait_readable(pidfd));
  close(pidfd);
}

TEST_P(AnyTree, Frozen_processes_stand_still_until_they_are_thawed_or_killed) {
  NEEDS(find({}, GetParam()));
  ASSERT_TRUE(cgroup_->create({}));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (!cgroup_->join()) _exit(1);
    for (char c = 'x';; poll(nullptr, 0, 1))
      if (write(ends[1], &c, 1) != 1) _exit(2);
  }
  ASSERT_TRUE(wait_readable(ends[0]));
  const auto frozen = cgroup_->freeze();
  ASSERT_TRUE(frozen) << frozen.error().story;
  const std::string folder = found_.folders.folders.front().path + "/job_86/step_batch";
  const auto stands = [&] {
    return read_control(folder + "/freezer.state") == "FROZEN\n" ||
           control_number(read_control(folder + "/cgroup.events"), "frozen") == 1u;
  };
  ASSERT_TRUE(wait_until(stands));
  char buffer[65536];
  ASSERT_GT(read(ends[0], buffer, sizeof buffer), 0);
  pollfd more{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&more, 1, 50), 0);
  ASSERT_TRUE(cgroup_->thaw());
  EXPECT_TRUE(wait_readable(ends[0]));
  ASSERT_TRUE(cgroup_->freeze());
  cgroup_->kill_all();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(cgroup_->remove());
  close(ends[0]);
  close(ends[1]);
}

const auto tree_name = [](const auto& tree) { return std::string{tree.param} == whole_tree ? "whole" : "hybrid"; };
INSTANTIATE_TEST_SUITE_P(Trees, AnyTree, testing::Values(whole_tree, hybrid_tree), tree_name);
INSTANTIATE_TEST_SUITE_P(Trees, Visited, testing::Values(whole_tree, hybrid_tree), tree_name);

TEST_F(SupervisorTest, Private_folders_are_the_jobs_alone_and_gone_after_it) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount";
  const std::string shared = root_ + "/shared", base = root_ + "/own_86";
  mkdir(shared.c_str(), 0777);
  chmod(shared.c_str(), 0777);
  std::ofstream{shared + "/everybodys"} << "x";
  auto* order = order_.mutable_isolation();
  order->set_private_base(base);
  auto* folder = order->add_private_folders();
  folder->set_target(shared);
  folder->set_source(base + "/shared");
  order->set_private_shm(true);
  std::ofstream{root_ + "/init.sh"} << "#!/bin/sh\necho $SLURM_JOB_ID $SLURM_JOB_MOUNTPOINT_SRC > " << shared
                                    << "/made_by_script\n";
  chmod((root_ + "/init.sh").c_str(), 0755);
  order->set_private_init_script(root_ + "/init.sh");
  script("cat " + shared + "/made_by_script; ls " + shared + " | wc -l; echo mine > " + shared + "/mine; cat " +
         shared + "/mine; ls /dev/shm | wc -l; echo s > /dev/shm/mr-test-" + std::to_string(getpid()));
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::EXITED) << status.problem();
  EXPECT_EQ(output(), "86 " + base + "\n1\nmine\n0\n");
  EXPECT_FALSE(std::filesystem::exists(shared + "/mine"));
  EXPECT_TRUE(std::filesystem::exists(shared + "/everybodys"));
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/mr-test-" + std::to_string(getpid())));
  EXPECT_FALSE(std::filesystem::exists(base));
}

}  // namespace
}  // namespace millrace
