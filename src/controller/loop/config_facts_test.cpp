// src/controller/loop/config_facts_test.cpp - a partition that scontrol changes keeps everything it does not speak of.
#include "controller/loop/config_facts.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"

namespace millrace {
namespace {

// Every field away from its default; one that is added to PartitionDef and not to this list does not compile.
PartitionDef unusual() {
  PartitionDef def{"odd",
                   {"n0", "n1"},
                   {"staff"},
                   {"physics"},
                   {"biology"},
                   {50},
                   true,
                   true,
                   true,
                   false,
                   true,
                   Availability::drain,
                   60,
                   30,
                   2,
                   1,
                   5,
                   6,
                   Mebibytes{10},
                   {},
                   Mebibytes{20},
                   {},
                   "gold",
                   {"gold"},
                   {"iron"},
                   {{"cpu", 2'000'000'000, 1}},
                   PreemptMode::requeue,
                   9,
                   CpuSharing::forced,
                   3,
                   false,
                   {},
                   100,
                   101,
                   102,
                   true,
                   true,
                   true,
                   true,
                   {"login1"},
                   8000,
                   4,
                   7,
                   2,
                   true};
  [[maybe_unused]] auto& [name, nodes, groups, accounts, deny, gids, d, r, h, e, j, state, max, time, most, least, tier,
                          factor, dc, dn, mc, mn, qos, aq, dq, weights, mode, grace, sharing, share, all, features, s1,
                          s2, s3, idle, never_suspend, user, reservation, hosts, memory, cpus, over_time, cpus_per_node,
                          least_loaded] = def;
  return def;
}

class PartitionFromWords : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"n0", "n1", "n2"}) {
      NodeDef node;
      node.name = name;
      node.cpus = Cpus{4};
      if (name[1] == '2') node.features = "fast,ib";
      nodes_.push_back(node);
    }
    apply(state_, ControllerStarted{Epoch{1}, now_});
    apply(state_, ClusterConfigured{nodes_, {unusual()}, {}, now_});
    site_.group = [](const std::string& name) { return name == "staff" ? std::optional{50u} : std::nullopt; };
    site_.node_sets = {{"quick", "fast", ""}};
  }
  std::vector<std::string> nodes(const std::string& word) {
    const auto def = partition_from_words(state_, "odd", {word}, site_);
    return def ? def->nodes : std::vector<std::string>{def.error().story};
  }

  State state_;
  std::vector<NodeDef> nodes_;
  SitePartitions site_;
  Time now_ = Time{1'000'000};
};

TEST_F(PartitionFromWords, What_is_not_spoken_of_stays) {
  const auto same = partition_from_words(state_, "odd", {}, site_);
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, unusual());
  const auto other = partition_from_words(
      state_, "odd", {"MaxTime=2:00:00", "DenyAccounts=", "AllowGroups=ALL", "OverSubscribe=EXCLUSIVE", "State=UP"},
      site_);
  ASSERT_TRUE(other);
  PartitionDef expected = unusual();
  expected.max_time_minutes = 120;
  expected.deny_accounts = expected.allow_groups = {};
  expected.allow_gids = {};
  expected.sharing = CpuSharing::no;
  expected.share_max = 1;
  expected.exclusive = true;
  expected.availability = Availability::up;
  EXPECT_EQ(*other, expected);
}

TEST_F(PartitionFromWords, Nodes_by_name_set_and_all_added_and_taken) {
  EXPECT_EQ(nodes("Nodes=n2"), std::vector<std::string>{"n2"});
  EXPECT_EQ(nodes("Nodes+=n2"), (std::vector<std::string>{"n0", "n1", "n2"}));
  EXPECT_EQ(nodes("Nodes-=n0"), std::vector<std::string>{"n1"});
  EXPECT_EQ(nodes("Nodes-=n2"), std::vector<std::string>{"node n2 is not in partition odd"});
  EXPECT_EQ(nodes("Nodes=quick"), std::vector<std::string>{"n2"});
  EXPECT_EQ(nodes("Nodes=ALL").size(), 3u);
  EXPECT_TRUE(partition_from_words(state_, "odd", {"Nodes=ALL"}, site_)->all_nodes);
  EXPECT_TRUE(nodes("Nodes=").empty());
}

TEST_F(PartitionFromWords, A_new_one_has_the_defaults_of_slurm_conf) {
  const auto made = partition_from_words(state_, "new", {"Nodes=n0"}, site_);
  ASSERT_TRUE(made);
  PartitionDef expected;
  expected.name = "new";
  expected.nodes = {"n0"};
  EXPECT_EQ(*made, expected);
}

}  // namespace
}  // namespace millrace
