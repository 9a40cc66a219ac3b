// src/core/planner/fair_share_test.cpp - ranks of a fair tree where nothing was used, as sshare of Slurm shows them.
#include "core/planner/fair_share.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"

namespace millrace {
namespace {

class Tree {
 public:
  AssociationId add(AssociationId parent, const char* account, const char* user = "") {
    Association a;
    a.id = state_.next_association;
    a.parent = parent;
    a.account = account;
    a.user = user;
    millrace::apply(state_, Event{AssociationChanged{a, Time{1'000'000}}});
    return a.id;
  }
  FairShare shares() const { return FairShare(state_, Time{2'000'000}); }

 private:
  State state_;
};

constexpr Fixed one = Fixed::from_integer(1);

// compat/golden/sshare.txt
TEST(FairShare, a_tree_without_usage_is_that_of_slurm) {
  Tree tree;
  const AssociationId root = tree.add(AssociationId{}, "root"), root_user = tree.add(root, "root", "root");
  const AssociationId account = tree.add(root, "default"), user = tree.add(account, "default", "root");
  const FairShare shares = tree.shares();
  EXPECT_EQ(shares.of(root).norm_shares, Fixed{});
  EXPECT_EQ(shares.of(root).level_usage, one);
  EXPECT_EQ(shares.of(root_user).norm_shares, Fixed::from_ratio(1, 2));
  EXPECT_EQ(shares.of(account).norm_shares, Fixed::from_ratio(1, 2));
  EXPECT_EQ(shares.of(user).norm_shares, one);
  EXPECT_EQ(shares.of(root_user).factor, one);
  EXPECT_EQ(shares.of(user).factor, one);
}

TEST(FairShare, an_account_hands_its_tie_down) {
  Tree tree;
  const AssociationId root = tree.add(AssociationId{}, "root"), root_user = tree.add(root, "root", "root");
  const AssociationId phys = tree.add(root, "phys"), first = tree.add(phys, "phys", "alice");
  const AssociationId theo = tree.add(phys, "theo"), second = tree.add(theo, "theo", "alice");
  const FairShare shares = tree.shares();
  for (const AssociationId id : {root_user, first, second}) EXPECT_EQ(shares.of(id).factor, one);
}

}  // namespace
}  // namespace millrace
