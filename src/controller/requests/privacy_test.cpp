// src/controller/requests/privacy_test.cpp - PrivateData hides what is another user's, and nothing from administrators.
#include "controller/requests/privacy.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Policy hiding(std::uint32_t what) {
  Policy policy;
  policy.private_data = what;
  return policy;
}

Job job_of(std::uint32_t uid) {
  Owner owner;
  owner.uid = UserId{uid};
  JobSpec spec;
  spec.owner = SharedValue(owner);
  Job job;
  job.spec = SharedValue(spec);
  return job;
}

UserIdentity ann() { return {UserId{1000}, GroupId{50}, "ann", "staff", {50, 60}}; }

TEST(Privacy, Jobs_of_others_are_hidden_from_users_only) {
  EXPECT_TRUE(Privacy(hiding(private_jobs), UserId{1000}, false).sees(job_of(1000)));
  EXPECT_FALSE(Privacy(hiding(private_jobs), UserId{1000}, false).sees(job_of(1001)));
  EXPECT_TRUE(Privacy(hiding(private_jobs), UserId{0}, true).sees(job_of(1001)));
  EXPECT_TRUE(Privacy(hiding(private_nodes), UserId{1000}, false).sees(job_of(1001)));
}

TEST(Privacy, An_answer_for_one_users_eyes_is_shared_with_no_other) {
  EXPECT_NE(Privacy(hiding(private_jobs), UserId{1000}, false).own_question("all"),
            Privacy(hiding(private_jobs), UserId{1001}, false).own_question("all"));
  EXPECT_NE(Privacy(hiding(private_jobs), UserId{1000}, false).own_question("all"),
            Privacy(hiding(private_jobs), UserId{0}, true).own_question("all"));
  EXPECT_EQ(Privacy(Policy{}, UserId{1000}, false).own_question("all"),
            Privacy(Policy{}, UserId{1001}, false).own_question("all"));
}

TEST(Privacy, Questions_become_those_about_ones_own) {
  const Privacy privacy(hiding(private_jobs), UserId{1000}, false);
  wire::QueryJobs all, own, other;
  own.set_uid(1000);
  other.set_uid(1001);
  for (wire::QueryJobs* ask : {&all, &own, &other}) privacy.narrow(*ask);
  EXPECT_EQ(all.uid(), 1000u);
  EXPECT_EQ(own.uid(), 1000u);
  EXPECT_EQ(other.uid(), 0xffffffffu);  // nobody's, not one's own instead
  wire::QuerySteps steps;
  Privacy(hiding(private_usage), UserId{1000}, false).narrow(steps);
  EXPECT_FALSE(steps.has_uid());
}

TEST(Privacy, Partitions_of_other_groups_are_hidden) {
  const Privacy privacy(hiding(private_partitions), UserId{1000}, false);
  PartitionDef open, ours, theirs, roots;
  ours.allow_groups = theirs.allow_groups = {"x"};
  ours.allow_gids = {60};
  theirs.allow_gids = {70};
  roots.root_only = true;
  EXPECT_TRUE(privacy.sees(open, ann()));
  EXPECT_TRUE(privacy.sees(ours, ann()));
  EXPECT_FALSE(privacy.sees(theirs, ann()));
  EXPECT_FALSE(privacy.sees(roots, ann()));
  EXPECT_TRUE(Privacy(hiding(0), UserId{1000}, false).sees(theirs, ann()));
}

TEST(HiddenPartitions, Are_hidden_ones_and_those_of_other_groups_with_jobs_that_are_in_no_other) {
  Partition open, hidden, theirs;
  hidden.def.hidden = true;
  theirs.def.allow_groups = {"x"};
  theirs.def.allow_gids = {70};
  State state;
  state.partitions = SharedValue(std::vector<Partition>{open});
  EXPECT_FALSE(HiddenPartitions::there_may_be(state));
  EXPECT_FALSE(HiddenPartitions(state, ann()).any());
  state.partitions = SharedValue(std::vector<Partition>{open, hidden, theirs});
  EXPECT_TRUE(HiddenPartitions::there_may_be(state));
  const HiddenPartitions mine(state, ann());
  EXPECT_TRUE(mine.any());
  EXPECT_FALSE(mine.hides(PartitionIndex{0}));
  EXPECT_TRUE(mine.hides(PartitionIndex{1}));
  EXPECT_TRUE(mine.hides(PartitionIndex{2}));
  EXPECT_FALSE(HiddenPartitions{}.hides(PartitionIndex{1}));

  const auto job_in = [](std::uint32_t partition, std::vector<std::uint32_t> more, JobState state_of_it) {
    JobSpec spec;
    spec.partition = PartitionIndex{partition};
    if (!more.empty()) {
      ResourceRequest ask;
      ask.more_partitions = std::move(more);
      spec.resources = SharedValue(ask);
    }
    Job job;
    job.spec = SharedValue(spec);
    job.state = state_of_it;
    return job;
  };
  EXPECT_FALSE(mine.hides(job_in(0, {}, JobState::pending)));
  EXPECT_TRUE(mine.hides(job_in(1, {}, JobState::running)));
  EXPECT_TRUE(mine.hides(job_in(1, {2}, JobState::pending)));
  EXPECT_FALSE(mine.hides(job_in(1, {0}, JobState::pending)));
  EXPECT_TRUE(mine.hides(job_in(1, {0}, JobState::running)));  // where it might have run says nothing any more
}

TEST(Privacy, Reservations_one_may_not_use_are_hidden) {
  const Privacy privacy(hiding(private_reservations), UserId{1000}, false);
  Reservation mine, other, accounts;
  mine.users = {"ann"};
  other.users = {"bob"};
  accounts.accounts = {"physics"};
  State state;
  EXPECT_TRUE(privacy.sees(mine, ann(), state));
  EXPECT_FALSE(privacy.sees(other, ann(), state));
  EXPECT_FALSE(privacy.sees(accounts, ann(), state));
  Association association;
  association.id = AssociationId{1};
  association.account = "physics";
  association.user = "ann";
  state.associations.set(association.id, SharedValue(association));
  EXPECT_TRUE(privacy.sees(accounts, ann(), state));
}

wire::Accounts tree() {
  wire::Accounts out;
  const auto add = [&](std::uint32_t id, std::uint32_t parent, const char* account, const char* user) {
    wire::AssociationView& view = *out.add_associations();
    view.mutable_association()->set_id(id);
    view.mutable_association()->set_parent(parent);
    view.mutable_association()->set_account(account);
    view.mutable_association()->set_user(user);
    view.set_raw_usage(100 + id);
    view.set_running(id);
  };
  add(1, 0, "root", "");
  add(2, 1, "physics", "");
  add(3, 2, "physics", "ann");
  add(4, 2, "physics", "bob");
  add(5, 1, "biology", "");
  add(6, 5, "biology", "carl");
  return out;
}

std::string names_of(const wire::Accounts& accounts) {
  std::string out;
  for (const auto& each : accounts.associations())
    out += each.association().account() + "/" + each.association().user() + (each.raw_usage() == 0 ? "- " : " ");
  return out;
}

TEST(Privacy, Accounts_users_and_usage_are_narrowed_each_for_itself) {
  const auto seen = [](std::uint32_t hidden) {
    wire::Accounts accounts = tree();
    Privacy(hiding(hidden), UserId{1000}, false).narrow(accounts, "ann");
    return names_of(accounts);
  };
  EXPECT_EQ(seen(0), "root/ physics/ physics/ann physics/bob biology/ biology/carl ");
  EXPECT_EQ(seen(private_users), "root/ physics/ physics/ann biology/ ");
  EXPECT_EQ(seen(private_accounts), "root/ physics/ physics/ann physics/bob ");
  EXPECT_EQ(seen(private_usage), "root/ physics/ physics/ann physics/bob- biology/- biology/carl- ");
  EXPECT_EQ(seen(private_users | private_accounts), "root/ physics/ physics/ann ");
}

}  // namespace
}  // namespace millrace
