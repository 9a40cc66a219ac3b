// src/core/admission/out_of_memory_test.cpp - what a job comes to when one of its nodes ran out of memory.
#include <gtest/gtest.h>

#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

// srun on two nodes; each node reports an end of its own.
class OutOfMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<NodeDef> nodes(2);
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{8};
      main.nodes.push_back(nodes[i].name);
    }
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main}, Policy{}, now_}});
    for (std::uint32_t i = 0; i < 2; ++i)
      happen(
          decide_register(state_, {NodeIndex{i}, "boot", {Cpus{8}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now_));
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {}, "h", {}});
    ask.spec.work_dir = "/";
    ask.spec.interactive = true;
    ask.spec.min_nodes = ask.spec.tasks = 2;
    ask.time_limit_minutes = 10;
    const auto submitted = decide(state_, ask, {UserId{1}, false}, now_);
    ASSERT_TRUE(submitted);
    happen(submitted->events);
    const NodeShare first{NodeIndex{0}, Cpus{1}, {}, 1}, second{NodeIndex{1}, Cpus{1}, {}, 1};
    happen(decide_place(state_, {key_, Attempt{0}, {first, second}, false}, now_));
    ASSERT_EQ(state_.job(key_).state, JobState::running);
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) millrace::apply(state_, event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }
  void end(std::uint32_t node, AttemptEnd how, std::uint32_t code, std::uint32_t signal) {
    happen(decide_end(state_, {key_, Attempt{0}, NodeIndex{node}, how, code, signal}, now_));
  }

  State state_;
  const JobKey key_{1};
  const Time now_{1'000'000'000};
};

TEST_F(OutOfMemory, Explains_what_failed_elsewhere) {
  end(0, AttemptEnd::exited, 1, 0);
  end(1, AttemptEnd::out_of_memory, 0, 125);
  EXPECT_EQ(state_.job(key_).outcome, Outcome::out_of_memory);
  EXPECT_EQ(state_.job(key_).end_reason, Reason::out_of_memory);
  EXPECT_EQ(state_.job(key_).exit_signal, 125u);
}

TEST_F(OutOfMemory, Stays_when_others_end_well_or_not) {
  end(0, AttemptEnd::out_of_memory, 0, 125);
  end(1, AttemptEnd::exited, 0, 9);
  EXPECT_EQ(state_.job(key_).outcome, Outcome::out_of_memory);
}

TEST_F(OutOfMemory, Is_worse_than_a_good_end) {
  end(0, AttemptEnd::exited, 0, 0);
  end(1, AttemptEnd::out_of_memory, 0, 125);
  EXPECT_EQ(state_.job(key_).outcome, Outcome::out_of_memory);
}

}  // namespace
}  // namespace millrace
