// src/core/admission/put_records_aside_test.cpp - whatever law is broken, a start finds the record that is to blame.
#include "core/admission/put_records_aside.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

constexpr Time now{1'000'000'000};

class RepairTest : public testing::Test {
 protected:
  RepairTest() {
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    facts.nodes.emplace_back().name = "n0";
    facts.nodes.back().cpus = Cpus{4};
    facts.partitions.back().nodes.push_back("n0");
    facts.at = now;
    apply(state_, ControllerStarted{Epoch{1}, now});
    apply(state_, facts);
    for (std::uint32_t id = 1; id <= 3; ++id) apply(state_, AssociationChanged{account(id), now});
    for (std::uint32_t id = 1; id <= 2; ++id) {
      Qos qos;
      qos.id = QosId{id};
      qos.name = "q" + std::to_string(id);
      apply(state_, QosChanged{qos, now});
      Reservation reservation;
      reservation.id = ReservationId{id};
      reservation.name = "r" + std::to_string(id);
      reservation.start = now;
      reservation.end = now + seconds(60);
      reservation.nodes = {0};
      apply(state_, ReservationSet{reservation, now});
    }
    JobSubmitted job;
    job.key = JobKey{1};
    job.id = JobId{1};
    job.spec.owner = SharedValue(Owner{UserId{7}, GroupId{7}, "u", "g", {}, "h", {}});
    job.spec.account = "a2";
    job.qos = QosId{2};
    job.at = now;
    apply(state_, job);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }
  static Association account(std::uint32_t id) {
    Association out;
    out.id = AssociationId{id};
    out.parent = AssociationId{id > 1 ? 1u : 0u};
    out.account = "a" + std::to_string(id);
    return out;
  }
  RecordsPutAside repaired() {
    const auto repair = decide_repair(state_, now);
    if (!repair) return ADD_FAILURE() << "nothing to repair", RecordsPutAside{};
    EXPECT_EQ(repair->still_broken, std::nullopt);
    apply(state_, repair->event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
    return repair->event;
  }

  State state_;
};

TEST_F(RepairTest, Of_two_associations_of_one_name_the_younger_goes) {
  state_.associations.edit(AssociationId{3})->edit().account = "a2";
  EXPECT_EQ(repaired().associations, std::vector{AssociationId{3}});
  EXPECT_EQ(state_.associations.size(), 2u);
}

TEST_F(RepairTest, Associations_that_lead_in_a_ring_go) {
  state_.associations.edit(AssociationId{2})->edit().parent = AssociationId{3};
  state_.associations.edit(AssociationId{3})->edit().parent = AssociationId{2};
  EXPECT_FALSE(repaired().associations.empty());
  EXPECT_TRUE(state_.associations.contains(AssociationId{1}));
}

TEST_F(RepairTest, A_qos_goes_and_nobody_has_it_any_more) {
  state_.qos.edit(QosId{2})->edit().preempts = {9};
  EXPECT_EQ(repaired().qos, std::vector{QosId{2}});
  EXPECT_EQ(state_.job(JobKey{1}).qos, QosId{});
}

TEST_F(RepairTest, A_reservation_goes) {
  state_.reservations.edit(ReservationId{2})->edit().nodes = {9};
  EXPECT_EQ(repaired().reservations, std::vector{ReservationId{2}});
}

TEST_F(RepairTest, Counts_are_made_anew_and_no_record_goes) {
  state_.uses = {};
  const RecordsPutAside event = repaired();
  EXPECT_TRUE(event.jobs.empty() && event.associations.empty() && event.qos.empty() && event.reservations.empty());
}

TEST_F(RepairTest, An_event_that_was_passed_over_is_put_on_record_where_every_law_holds) {
  const auto repair = decide_repair(state_, now, {{12, "event 12 (JobPlaced) cannot have happened"}});
  ASSERT_TRUE(repair);
  EXPECT_EQ(repair->event.skipped, std::vector<std::uint64_t>{12});
  EXPECT_EQ(repair->skipped.size(), 1u);
  EXPECT_TRUE(repair->event.laws.empty() && repair->event.jobs.empty());
  EXPECT_EQ(repair->still_broken, std::nullopt);
}

}  // namespace
}  // namespace millrace
