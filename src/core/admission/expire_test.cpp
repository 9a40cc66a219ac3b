// src/core/admission/expire_test.cpp - what is due comes once, also when what it follows from has changed meanwhile.
#include "core/admission/expire.h"

#include <gtest/gtest.h>

#include "core/admission/cancel_job.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

void configure(State& state, std::uint32_t min_job_age, Time now) {
  NodeDef node;
  node.name = "n";
  node.cpus = Cpus{4};
  PartitionDef main;
  main.name = "main";
  main.is_default = true;
  main.nodes = {"n"};
  Policy policy;
  policy.min_job_age_seconds = min_job_age;
  apply(state, ClusterConfigured{{node}, {main}, policy, now});
}

TEST(Expire, With_another_MinJobAge_what_has_ended_is_forgotten_once_and_at_its_new_time) {
  for (const std::uint32_t age : {10u, 300u, 100'000u}) {
    const Time now{1'000'000};
    State state;
    apply(state, ControllerStarted{Epoch{1}, now});
    configure(state, 300, now);
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "h", {}});
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    for (const Event& event : decide(state, ask, {UserId{1}, false}, now)->events) apply(state, event);
    apply(state, JobCancelled{JobKey{1}, UserId{1}, now});
    configure(state, age, now + seconds(1));
    EXPECT_TRUE(decide_expired(state, now + seconds(age) + Duration{-1}).empty()) << age;
    int forgotten = 0;
    for (auto due = decide_expired(state, now + seconds(200'000)); !due.empty() && forgotten < 5;
         due = decide_expired(state, now + seconds(200'000)), ++forgotten)
      for (const Event& event : due) apply(state, event);
    EXPECT_EQ(forgotten, 1) << age;
    EXPECT_TRUE(decide_expired(state, now + seconds(10'000'000)).empty());
  }
}

}  // namespace
}  // namespace millrace
