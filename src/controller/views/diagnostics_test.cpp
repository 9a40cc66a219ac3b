// src/controller/views/diagnostics_test.cpp - what is counted, once each, and from when on.
#include "controller/views/diagnostics.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"

namespace millrace {
namespace {

class Counted : public testing::Test {
 protected:
  void SetUp() override {
    NodeDef node;
    node.name = "n0";
    node.cpus = Cpus{8};
    node.memory = Mebibytes{1000};
    PartitionDef main;
    main.name = "main";
    main.nodes = {"n0"};
    happen(ControllerStarted{Epoch{1}, now_});
    happen(ClusterConfigured{{node}, {main}, {}, now_});
    happen(NodeRegistered{NodeIndex{0}, "boot", {Cpus{8}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}, "", now_});
  }

  void happen(const Event& event) {
    diagnostics_.about_to_happen(state_, event);
    apply(state_, event);
    diagnostics_.happened(state_, event);
  }
  JobKey start(bool by_backfill = false) {
    JobSubmitted e;
    e.key = state_.next_key;
    e.id = next_job_id(state_, state_.last_id);
    e.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {}, "h", {}});
    e.spec.requeue = false;
    e.at = now_;
    happen(e);
    happen(JobPlaced{e.key, Attempt{0}, {{NodeIndex{0}, Cpus{1}, Mebibytes{10}, 1, false, {}}}, by_backfill, now_});
    return e.key;
  }
  void end(JobKey key, AttemptEnd how, std::uint32_t code) {
    happen(AttemptEnded{key, Attempt{0}, NodeIndex{0}, how, code, 0, now_});
  }
  wire::Diagnostics shown() const {
    wire::Diagnostics out;
    diagnostics_.show(out);
    return out;
  }

  State state_;
  Diagnostics diagnostics_;
  Time now_{1'000'000'000};
};

TEST_F(Counted, Users_are_asked_for_by_name_once_and_shown_with_it) {
  wire::Request request;
  request.mutable_query_jobs();
  diagnostics_.answered(request, UserId{7}, microseconds(5));
  EXPECT_TRUE(diagnostics_.wants_name(UserId{7}));
  EXPECT_FALSE(diagnostics_.wants_name(UserId{7}));
  EXPECT_EQ(shown().by_user(0).name(), "") << "nobody has answered yet";
  diagnostics_.is_called(UserId{7}, "grace");
  EXPECT_EQ(shown().by_user(0).name(), "grace");
  diagnostics_.reset(now_);
  diagnostics_.answered(request, UserId{7}, microseconds(5));
  EXPECT_EQ(shown().by_user(0).name(), "grace");
  EXPECT_FALSE(diagnostics_.wants_name(UserId{7}));
}

TEST_F(Counted, Jobs_by_how_they_ended) {
  end(start(), AttemptEnd::exited, 0);
  end(start(true), AttemptEnd::exited, 3);  // its own doing
  end(start(), AttemptEnd::launch_failed, 0);
  const JobKey cancelled = start();
  happen(JobCancelled{cancelled, UserId{0}, now_});
  EXPECT_EQ(shown().cancelled(), 0u) << "it is not over yet";
  end(cancelled, AttemptEnd::exited, 15);
  const wire::Diagnostics d = shown();
  EXPECT_EQ(d.submitted(), 4u);
  EXPECT_EQ(d.started(), 4u);
  EXPECT_EQ(d.completed(), 2u);
  EXPECT_EQ(d.failed(), 1u);
  EXPECT_EQ(d.cancelled(), 1u);
  EXPECT_EQ(d.backfilled(), 1u);
}

TEST_F(Counted, Passes_and_requests_until_it_is_reset) {
  Plan plan;
  plan.findings.resize(3);
  plan.findings[0].planned_start = now_;
  diagnostics_.pass_finished(plan, 7, true, microseconds(40), now_);
  diagnostics_.pass_finished(plan, 5, true, microseconds(20), now_);
  diagnostics_.pass_given_up(true);
  wire::Request request;
  request.mutable_ping();
  diagnostics_.answered(request, UserId{7}, microseconds(10));
  diagnostics_.answered(request, UserId{8}, microseconds(30));
  const wire::Diagnostics d = shown();
  EXPECT_EQ(d.main().count(), 2u);
  EXPECT_EQ(d.main().max_us(), 40);
  EXPECT_EQ(d.main().last_queue(), 5u);
  EXPECT_EQ(d.backfill().total_table(), 2u);
  EXPECT_EQ(d.backfill().cut_short(), 1u);
  ASSERT_EQ(d.by_type_size(), 1);
  EXPECT_EQ(d.by_type(0).name(), "REQUEST_PING");
  EXPECT_EQ(d.by_type(0).total_us(), 40);
  EXPECT_EQ(d.by_user_size(), 2);
  start(true);
  diagnostics_.reset(now_ + seconds(5));
  const wire::Diagnostics anew = shown();
  EXPECT_EQ(anew.main().count(), 0u);
  EXPECT_EQ(anew.backfilled(), 0u);
  EXPECT_EQ(anew.backfilled_since_start(), 1u);
  EXPECT_EQ(anew.since_us(), (now_ + seconds(5)).value);
  EXPECT_EQ(anew.by_type_size(), 0);
}

}  // namespace
}  // namespace millrace
