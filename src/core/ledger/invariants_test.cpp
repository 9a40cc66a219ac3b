// src/core/ledger/invariants_test.cpp - the laws that are asked before a decision becomes a fact: of each kind of
// record that it touches, however many there are, and of no others.
#include "core/ledger/invariants.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/touched_records.h"

namespace millrace {
namespace {

constexpr Time now{1'000'000'000};

class Laws : public testing::Test {
 protected:
  Laws() { configure(2); }
  void configure(std::uint32_t nodes) {
    state_ = {};
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    for (std::uint32_t i = 0; i < nodes; ++i) {
      facts.nodes.emplace_back().name = "n" + std::to_string(i);
      facts.nodes.back().cpus = Cpus{4};
      facts.partitions.back().nodes.push_back(facts.nodes.back().name);
    }
    facts.at = now;
    happen(ControllerStarted{Epoch{1}, now});
    happen(facts);
    for (std::uint32_t i = 0; i < nodes; ++i)
      happen(NodeRegistered{NodeIndex{i}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}, "", now});
  }
  void happen(const Event& event) { apply(state_, event); }
  JobSubmitted a_job() const {
    JobSubmitted out;
    out.key = state_.next_key;
    out.id = JobId{static_cast<std::uint32_t>(state_.next_key.value)};
    out.spec.owner = SharedValue(Owner{UserId{7}, GroupId{7}, "u", "g", {}, "h", {}});
    out.at = now;
    return out;
  }
  JobKey run_on(std::uint32_t nodes) {
    const JobSubmitted job = a_job();
    happen(job);
    JobPlaced placed{job.key, Attempt{0}, {}, false, now};
    for (std::uint32_t i = 0; i < nodes; ++i) placed.shares.push_back({NodeIndex{i}, Cpus{1}, {}, 1, false});
    happen(placed);
    return job.key;
  }
  // What the laws say of the records that a fact touches, when somebody spoils the state behind its back.
  template <class Spoil>
  std::string after(const Event& event, Spoil spoil) {
    EXPECT_EQ(broken_law(state_), std::nullopt);
    RecordToucher toucher;
    toucher.about_to_happen(state_, event);
    apply(state_, event);
    toucher.happened(state_, event);
    EXPECT_EQ(broken_law_near(state_, toucher.records()), std::nullopt);
    spoil(state_);
    EXPECT_NE(broken_law(state_), std::nullopt) << "whoever asks everything finds it too";
    return broken_law_near(state_, toucher.records()).value_or("nothing");
  }
  static Association account(std::uint32_t id, std::uint32_t parent, const std::string& name) {
    Association out;
    out.id = AssociationId{id};
    out.parent = AssociationId{parent};
    out.account = name;
    return out;
  }

  State state_;
};

TEST_F(Laws, Of_a_job_on_many_nodes_every_node_is_asked) {
  configure(400);
  const JobSubmitted job = a_job();
  happen(job);
  JobPlaced placed{job.key, Attempt{0}, {}, false, now};
  for (std::uint32_t i = 0; i < 400; ++i) placed.shares.push_back({NodeIndex{i}, Cpus{1}, {}, 1, false});
  EXPECT_EQ(after(placed, [](State& state) { state.edit_node(NodeIndex{399}).used_cpus = Cpus{2}; }),
            "node n399: what is used is not what its jobs hold");
}

TEST_F(Laws, An_end_on_one_of_many_nodes_asks_that_node_alone) {
  configure(300);
  JobSubmitted job = a_job();
  job.spec.interactive = true;
  happen(job);
  JobPlaced placed{job.key, Attempt{0}, {}, false, now};
  for (std::uint32_t i = 0; i < 300; ++i) placed.shares.push_back({NodeIndex{i}, Cpus{1}, {}, 1, false});
  happen(placed);
  const Event end = AttemptEnded{job.key, Attempt{0}, NodeIndex{5}, AttemptEnd::exited, 0, 0, now};
  RecordToucher toucher;
  toucher.about_to_happen(state_, end);
  apply(state_, end);
  toucher.happened(state_, end);
  EXPECT_EQ(toucher.records().nodes, std::set{NodeIndex{5}});
}

TEST_F(Laws, Steps) {
  const JobKey key = run_on(1);
  StepsReported e;
  e.key = key;
  StepStart step;
  step.id = 0;
  step.at = now;
  step.nodes = SharedValue(std::vector<std::uint32_t>{0});
  e.started.push_back(step);
  e.at = now;
  EXPECT_EQ(after(e, [&](State& state) { state.running_steps = {}; }),
            "step 0 of job key 1: running, and not in that list (or the reverse)");
}

TEST_F(Laws, Arrays) {
  JobSubmitted job = a_job();
  job.array = ArraySpec{*parse_index_set("1-3", 10), 0};
  happen(job);
  EXPECT_EQ(
      after(JobHoldChanged{job.key, Hold::user, 0, now}, [&](State& state) { state.edit_array(job.key).ended = 4; }),
      "array 1: its counts are of other tasks than it has");
}

TEST_F(Laws, Kept_runs) {
  ClusterConfigured keeps;
  keeps.partitions.emplace_back().name = "main";
  keeps.policy.keep_ended_seconds = 1000;
  keeps.policy.keep_ended_rows = 10;
  keeps.at = now;
  happen(keeps);
  const JobSubmitted job = a_job();
  happen(job);
  happen(JobCancelled{job.key, UserId{7}, now});
  EXPECT_EQ(after(JobForgotten{job.key, now}, [](State& state) { state.kept_names = {}; }),
            "kept run of job 1: nobody finds it");
}

TEST_F(Laws, Triggers_and_reservations) {
  Trigger trigger;
  trigger.id = TriggerId{1};
  EXPECT_EQ(after(TriggerSet{trigger, now}, [](State& state) { state.next_trigger = TriggerId{1}; }),
            "trigger 1 has another number");
  state_.next_trigger = TriggerId{2};
  Reservation reservation;
  reservation.id = ReservationId{1};
  reservation.name = "r";
  reservation.start = now;
  reservation.end = now + seconds(60);
  EXPECT_EQ(after(ReservationSet{reservation, now}, [](State& state) { state.deadlines = {}; }),
            "reservation r: something is to be decided about it, and nothing says when");
}

TEST_F(Laws, Accounts_and_their_counts) {
  happen(AssociationChanged{account(1, 0, "root"), now});
  EXPECT_EQ(after(AssociationChanged{account(2, 1, "lab"), now},
                  [](State& state) { state.association_names.set({"lab", "", ""}, AssociationId{1}); }),
            "two associations of one name");
  state_.association_names.set({"lab", "", ""}, AssociationId{2});
  Qos qos;
  qos.id = QosId{1};
  qos.name = "normal";
  EXPECT_EQ(after(QosChanged{qos, now}, [](State& state) { state.qos.edit(QosId{1})->edit().preempts = {9}; }),
            "QOS normal: it may take nodes from one that is not there");
  state_.qos.edit(QosId{1})->edit().preempts = {};
  JobSubmitted job = a_job();
  job.qos = QosId{1};
  EXPECT_EQ(after(job, [](State& state) { state.uses.edit({UseOf::qos, 1, 0})->edit().running = 2; }),
            "an association or QOS counts more that runs than there is");
}

// Each of them is asked once, not each for each of the others.
TEST_F(Laws, Components) {
  HetJobSubmitted both;
  for (int i = 0; i < 2; ++i) {
    both.components.push_back(a_job());
    both.components.back().key.value += static_cast<std::uint64_t>(i);
    both.components.back().id.value += static_cast<std::uint32_t>(i);
  }
  EXPECT_EQ(after(both, [](State& state) { state.edit_job(JobKey{2}).attempt = Attempt{3}; }),
            "job 2: its components do not wait for the same");
}

}  // namespace
}  // namespace millrace
