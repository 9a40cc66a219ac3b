// src/core/model/withheld_test.cpp - cores kept for the system: which, and what jobs still get.
#include "core/model/withheld.h"

#include <gtest/gtest.h>

#include "core/model/assign.h"
#include "core/model/fit.h"

namespace millrace {
namespace {

NodeDef two_sockets() {
  NodeDef node;
  node.name = "n";
  node.cpus = Cpus{16};
  node.sockets = 2;
  node.cores_per_socket = 4;
  node.threads_per_core = 2;
  node.memory = Mebibytes{1000};
  return node;
}

TEST(Withheld, Cores_are_the_last_of_each_socket) {
  NodeDef node = two_sockets();
  EXPECT_EQ(format_bits(*last_cores(node, 1)), "14-15");
  EXPECT_EQ(format_bits(*last_cores(node, 2)), "6-7,14-15");
  EXPECT_EQ(format_bits(*last_cores(node, 3)), "6-7,12-15");
  EXPECT_EQ(cores_in(node, *last_cores(node, 3)), 3u);
  EXPECT_FALSE(last_cores(node, 8));
  EXPECT_TRUE(last_cores(node, 0)->empty());
}

TEST(Withheld, A_list_names_whole_cores) {
  const NodeDef node = two_sockets();
  EXPECT_EQ(format_bits(*listed_cpus(node, "0-1,8-9")), "0-1,8-9");
  EXPECT_FALSE(listed_cpus(node, "0"));
  EXPECT_FALSE(listed_cpus(node, "0-15"));
  EXPECT_FALSE(listed_cpus(node, "16"));
  EXPECT_FALSE(listed_cpus(node, "a"));
}

TEST(Withheld, Job_that_spares_cores_sees_the_rest_whatever_the_node_keeps) {
  NodeDef node = two_sockets();
  node.withheld_cpus = *last_cores(node, 2);
  JobSpec spec;
  spec.exclusive = true;
  spec.tasks = 99;
  const NodeShare whole{NodeIndex{0}, node.usable_cpus(), Mebibytes{1}, 1, false, {}};
  const auto seen = [&](std::optional<std::uint32_t> cores, bool threads = false) {
    JobExtras extras;
    extras.core_spec = cores;
    extras.threads_spec = threads;
    spec.extras = SharedValue(extras);
    return format_bits(cpus_seen(node, spec, whole)) + " " + std::to_string(cpu_count_seen(node, spec, whole)) + " " +
           std::to_string(task_capacity(spec, node, all_of(node), {}));
  };
  EXPECT_EQ(seen({}), " 12 12");
  EXPECT_EQ(seen(0), "0-15 16 16");
  EXPECT_EQ(seen(1), "0-13 14 14");
  EXPECT_EQ(seen(4), "0-3,8-11 8 8");
  EXPECT_EQ(seen(3, true), "0-12 13 13");
  EXPECT_EQ(seen(8), " 0 0") << "none would be left";
  EXPECT_EQ(seen(16, true), " 0 0");
  spec.exclusive = false;
  EXPECT_EQ(seen(0), " 12 12") << "on a node that it shares it has its share";
}

TEST(Withheld, Jobs_get_what_is_left) {
  NodeDef node = two_sockets();
  node.withheld_cpus = *last_cores(node, 2);
  node.withheld_memory = Mebibytes{200};
  EXPECT_EQ(node.usable_cpus(), Cpus{12});
  EXPECT_EQ(all_of(node).cpus, 12);
  EXPECT_EQ(all_of(node).memory, 800);
  const FitRules rules{.memory_counts = true, .whole_cores = true};
  JobSpec spec;
  spec.tasks = 20;
  spec.memory_per_cpu = Mebibytes{1};
  EXPECT_EQ(task_capacity(spec, node, all_of(node), rules), 12u);
  spec.exclusive = true;
  spec.memory_per_cpu.reset();
  EXPECT_EQ(task_capacity(spec, node, all_of(node), rules), 12u);
  const Amounts whole = amounts_for(spec, node, all_of(node), 12, rules);
  EXPECT_EQ(whole.cpus, 12);
  EXPECT_EQ(whole.memory, 800);
  const auto detail = assign(spec, node, {}, whole, rules);
  ASSERT_TRUE(detail);
  EXPECT_EQ(format_bits(detail->cpus), "0-5,8-13");
}

TEST(Withheld, No_job_is_put_on_them) {
  NodeDef node = two_sockets();
  node.withheld_cpus = *listed_cpus(node, "0-3");
  const FitRules rules{.whole_cores = true};
  JobSpec spec;
  spec.tasks = 5;
  NodeUse use;
  const auto first = assign(spec, node, use, {6, 0, {}}, rules);
  ASSERT_TRUE(first);
  EXPECT_FALSE(have_common_bits(first->cpus, node.withheld_cpus));
  add_bits(use.cpus, first->cpus);
  const auto second = assign(spec, node, use, {6, 0, {}}, rules);
  ASSERT_TRUE(second);
  EXPECT_FALSE(have_common_bits(second->cpus, node.withheld_cpus));
  add_bits(use.cpus, second->cpus);
  EXPECT_FALSE(assign(spec, node, use, {2, 0, {}}, rules));
}

}  // namespace
}  // namespace millrace
