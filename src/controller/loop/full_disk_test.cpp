// src/controller/loop/full_disk_test.cpp - what waits while the disk of the event log is full, and what does not.
#include <gtest/gtest.h>

#include "controller/controller_fixture.h"
#include "controller/readers/crontabs.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"

namespace millrace {
namespace {

constexpr NodeIndex node{0};
constexpr UserId user{1000};

class FullDisk : public ControllerTest {
 protected:
  FullDisk() {
    manager = &silent;
    inventory.cpus = Cpus{8};
    inventory.memory = Mebibytes{1000};
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state, event);
  }
  // Of all CPUs of the node.
  JobKey add_large_job() {
    const JobKey key = state.next_key;
    wire::SubmitJob ask = a_job(3);
    ask.mutable_job()->set_cpus_per_task(8);
    add_job(ask, user);
    happen(decide_register(state, {node, "boot", inventory}, start_of_test));
    return key;
  }
  void place(JobKey key) {
    happen(
        {JobPlaced{key, state.job(key).attempt, {NodeShare{node, Cpus{8}, {}, 1, false, {}}}, false, start_of_test}});
  }
  JobKey add_entry_of_crontab(const char* times) {
    CrontabLine line{1, times, {}};
    line.job.spec.owner = SharedValue(Owner{user, GroupId{1000}, "alice", "users", {1000}, "host", {}});
    line.job.spec.name = "cron";
    line.job.spec.work_dir = "/";
    line.job.script_bytes = 1;
    const auto set = decide_crontab(state, user, "text", {line}, Actor{user, false}, start_of_test);
    EXPECT_TRUE(set);
    happen({*set});
    const JobKey key = set->crontab.jobs.front().key;
    happen({JobBecameEligible{key, start_of_test}});
    return key;
  }
  void end(JobKey key) {
    AttemptReport report;
    report.key = key;
    report.attempt = controller->durable().job(key).attempt;
    report.ended = true;
    report.end = AttemptEnd::exited;
    controller->node_registered(silent,
                                {.node = "n1", .boot_id = "boot", .inventory = inventory, .attempts = {report}});
    run();
  }
  void pass_minutes(int count) {
    for (int i = 0; i < count * 20; ++i) run();
  }
  JobState state_of(JobKey key) const { return controller->durable().job(key).state; }

  SilentNodes silent;
  Inventory inventory;
};

TEST_F(FullDisk, Jobs_end_and_others_start_when_there_is_room_again) {
  const JobKey first = add_large_job(), second = add_large_job();
  place(first);
  start();
  log.size = 0;
  end(first);
  EXPECT_EQ(state_of(first), JobState::ended);
  const std::uint64_t written = log.written;
  pass_minutes(1);
  EXPECT_EQ(state_of(second), JobState::pending);
  EXPECT_EQ(log.written, written) << "and nothing is written meanwhile";
  log.size = UINT64_MAX / 2;
  pass_minutes(1);
  EXPECT_EQ(state_of(second), JobState::running);
}

TEST_F(FullDisk, Crontab_gets_its_next_time_when_there_is_room_again) {
  add_large_job();
  const JobKey key = add_entry_of_crontab("* * * * *");
  place(key);
  start();
  log.size = 0;
  end(key);
  EXPECT_EQ(state_of(key), JobState::ended);
  const std::uint64_t written = log.written;
  pass_minutes(2);
  EXPECT_EQ(log.written, written);
  log.size = UINT64_MAX / 2;
  run();
  EXPECT_EQ(state_of(key), JobState::pending);
}

TEST_F(FullDisk, Crontab_is_not_forgotten_with_the_record_of_its_job) {
  add_large_job();
  const JobKey key = add_entry_of_crontab("0 0 * * *");
  place(key);
  start();
  log.size = 0;
  end(key);
  EXPECT_EQ(state_of(key), JobState::ended);
  pass_minutes(6);  // MinJobAge is five
  ASSERT_NE(controller->durable().find_job(key), nullptr);
  EXPECT_EQ(state_of(key), JobState::pending);
}

TEST_F(FullDisk, Configuration_is_not_read_again) {
  int reads = 0;
  hooks.reconfigure = [&]() -> Result<Reconfiguration> {
    ++reads;
    return Reconfiguration{nodes_named("n[1-2]"), {}};
  };
  start();
  log.size = 0;
  wire::Request request;
  request.mutable_reconfigure();
  EXPECT_EQ(ask(UserId{0}, request).failure().code(), 2019u);
  EXPECT_EQ(reads, 0);
  log.size = UINT64_MAX / 2;
  EXPECT_TRUE(ask(UserId{0}, request).has_done());
  EXPECT_EQ(controller->durable().nodes.size(), 2u);
}

}  // namespace
}  // namespace millrace
