// src/core/admission/report_steps_test.cpp - what step managers say of steps, once and for all: what becomes a fact,
// and what the facts add up to.
#include "core/admission/report_steps.h"

#include <gtest/gtest.h>

#include "core/admission/report_node.h"
#include "core/ledger/apply.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

class ReportedSteps : public testing::Test {
 protected:
  ReportedSteps() {
    ClusterConfigured configured;
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    for (const char* name : {"n1", "n2", "n3"}) {
      NodeDef node;
      node.name = name;
      node.cpus = Cpus{4};
      configured.nodes.push_back(node);
      main.nodes.emplace_back(name);
    }
    configured.partitions = {main};
    configured.at = at(0);
    happen({ControllerStarted{Epoch{1}, at(0)}, configured});
    JobSubmitted job;
    job.key = key;
    job.id = JobId{1};
    job.spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1000}, "u", "g", {}, "h", {}});
    job.at = job.begin_at = at(1);
    happen({job});
    place(0, 10);
  }
  static Time at(std::int64_t second) { return Time{1'000'000 * (1000 + second)}; }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state, event);
    EXPECT_EQ(broken_law(state), std::nullopt);
  }
  void place(std::uint32_t attempt, std::int64_t second) {
    happen({JobPlaced{key,
                      Attempt{attempt},
                      {{NodeIndex{0}, Cpus{2}, {}, 1, false, {}}, {NodeIndex{1}, Cpus{2}, {}, 1, false, {}}},
                      false,
                      at(second)}});
  }
  static ReportedStep step(std::uint32_t id, bool ended = false, std::string nodes = "n1") {
    ReportedStep out;
    out.start.id = id;
    out.start.name = "s";
    out.start.tasks = 1;
    out.start.at = at(20);
    out.nodes = std::move(nodes);
    if (ended) out.end = StepEnd{id, Outcome::completed, 0, 0, {}, {}, at(30)};
    return out;
  }
  std::size_t tell(const std::vector<ReportedStep>& steps, std::uint32_t attempt = 0) {
    const auto events = decide_steps(state, key, Attempt{attempt}, steps, at(40));
    happen(events);
    if (events.empty()) return 0;
    const auto& e = std::get<StepsReported>(events.front());
    return e.started.size() + e.ended.size();
  }
  const Step* find(std::uint32_t id, std::uint32_t attempt = 0) {
    return find_step(state, {key, Attempt{attempt}, id});
  }

  State state;
  const JobKey key{1};
};

TEST_F(ReportedSteps, Are_facts_once_however_often_they_are_told) {
  EXPECT_EQ(tell({step(0), step(1)}), 2u);
  EXPECT_EQ(tell({step(0), step(1)}), 0u);
  EXPECT_EQ(tell({step(0, true), step(1), step(2, true)}), 3u);  // an end; a start and an end
  EXPECT_EQ(tell({step(0, true), step(2, true)}), 0u);
  EXPECT_EQ(state.running_steps.size(), 1u);
  EXPECT_TRUE(find(1)->is_running());
  EXPECT_EQ(find(2)->end.at, at(30));
}

TEST_F(ReportedSteps, The_shell_of_salloc_does_not_count_among_the_others) {
  EXPECT_EQ(tell({step(0), step(interactive_step)}), 2u);
  EXPECT_EQ(tell({step(1), step(interactive_step)}), 1u);
  EXPECT_TRUE(find(interactive_step)->is_running());
  EXPECT_EQ(tell({step(interactive_step, true)}), 1u);
  EXPECT_EQ(tell({step(interactive_step, true), step(2)}), 1u);
  EXPECT_FALSE(find(interactive_step)->is_running());
}

TEST_F(ReportedSteps, Have_a_limit_that_can_be_changed_while_they_run) {
  ReportedStep limited = step(0);
  limited.start.time_limit_minutes = 5;
  limited.start.wishes = SharedValue(StepWishes{std::string(1000, 'g'), "", "", "", "", "", ""});
  EXPECT_EQ(tell({limited, step(1)}), 2u);
  EXPECT_EQ(find(0)->start.time_limit_minutes, 5u);
  EXPECT_EQ(find(0)->start.wishes->gres.size(), 256u);
  limited.start.time_limit_minutes = 9;
  const auto events = decide_steps(state, key, Attempt{0}, {limited, limited, step(1)}, at(40));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<StepsReported>(events[0]).changed, (std::vector<StepChange>{{0, 9}}));
  happen(events);
  EXPECT_EQ(find(0)->start.time_limit_minutes, 9u);
  EXPECT_TRUE(decide_steps(state, key, Attempt{0}, {limited, step(1)}, at(40)).empty());
  ReportedStep ended = step(0, true);
  ended.start.time_limit_minutes = 3;
  EXPECT_EQ(tell({ended}), 1u);
  EXPECT_EQ(find(0)->start.time_limit_minutes, 3u);
  ended.start.time_limit_minutes = 4;
  EXPECT_EQ(tell({ended}), 0u);
}

TEST_F(ReportedSteps, Of_another_attempt_or_on_nodes_of_others_are_not_believed) {
  EXPECT_EQ(tell({step(0)}, 1), 0u);
  EXPECT_EQ(tell({step(0, false, "n3")}), 0u);
  EXPECT_EQ(tell({step(0, false, "n[")}), 0u);
  EXPECT_EQ(tell({step(0, false, "n[1-2]")}), 1u);
  EXPECT_EQ(*find(0)->start.nodes, (std::vector<std::uint32_t>{0, 1}));
  ReportedStep late = step(1);
  late.start.at = at(90);  // its clock is ahead
  EXPECT_EQ(tell({late}), 1u);
  EXPECT_EQ(find(1)->start.at, at(40));
  EXPECT_EQ(tell({step(steps_of_attempt_max)}), 0u);
}

// A node may make up what it likes: a list is read no further than the job has nodes.
TEST_F(ReportedSteps, With_endless_lists_of_nodes_cost_what_the_job_has) {
  std::vector<ReportedStep> made_up;
  for (std::uint32_t id = 0; id < 20'000; ++id) made_up.push_back(step(id, false, "n[1-60000]"));
  EXPECT_TRUE(decide_steps(state, key, Attempt{0}, made_up, at(21)).empty());
  made_up.push_back(step(20'000, false, "n[1-2]"));
  EXPECT_EQ(decide_steps(state, key, Attempt{0}, made_up, at(21)).size(), 1u);
}

TEST_F(ReportedSteps, End_with_their_attempt_and_the_next_one_counts_anew) {
  tell({step(0, true), step(1)});
  happen({JobRequeued{key, false, UserId{0}, at(50)},
          AttemptEnded{key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(51)}});
  EXPECT_TRUE(state.running_steps.empty());
  EXPECT_EQ(find(0)->end.outcome, Outcome::completed);
  EXPECT_EQ(find(1)->end.outcome, Outcome::cancelled);
  EXPECT_EQ(tell({step(2)}), 0u);
  place(1, 60);
  EXPECT_EQ(tell({step(2)}, 0), 0u);
  EXPECT_EQ(tell({step(0)}, 1), 1u);
  EXPECT_TRUE(find(0, 1)->is_running());
  EXPECT_FALSE(find(0, 0)->is_running());
}

TEST_F(ReportedSteps, Of_a_lost_node_failed_with_it) {
  tell({step(0)});
  happen(decide_lost(state, NodeIndex{0}, at(50)));
  EXPECT_EQ(find(0)->end.outcome, Outcome::node_fail);
}

TEST_F(ReportedSteps, Are_kept_up_to_a_number_and_the_oldest_ended_go_first) {
  tell({step(0)});  // runs all the time
  std::vector<ReportedStep> many;
  for (std::uint32_t id = 1; id <= ended_steps_max + 5; ++id) many.push_back(step(id, true));
  tell(many);
  EXPECT_EQ(state.steps.size(), ended_steps_max + 1u);
  EXPECT_TRUE(find(0));
  EXPECT_FALSE(find(5));
  EXPECT_TRUE(find(6));
  EXPECT_EQ(tell(many), 0u) << "what was dropped is not news";
  EXPECT_EQ(find(6)->start.nodes.get(), find(7)->start.nodes.get()) << "equal lists of nodes are one";
}

}  // namespace
}  // namespace millrace
