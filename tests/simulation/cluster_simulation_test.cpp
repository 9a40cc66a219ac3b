// tests/simulation/cluster_simulation_test.cpp - whole clusters under faults, by seed; a failing seed prints how to
// repeat it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/cluster.h"

namespace millrace {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

// ./mill test sets MR_SIM_FIRST from the tree's hash: a rerun repeats, each change gets new seeds.
struct Seen {
  std::uint64_t seeds = 0, preemptions = 0, reservations = 0, boots = 0, reboots = 0;  // histories that had some
  std::uint64_t crontab_returns = 0;                                                   // in all of them
};

void run_seeds(const char* test, ClusterShape shape, std::uint64_t share_of_100, Seen* seen = nullptr) {
  const std::uint64_t one = number_from("MR_SEED", 0);
  const std::uint64_t first = one ? one : number_from("MR_SIM_FIRST", 1);
  const std::uint64_t count =
      one ? 1 : std::max<std::uint64_t>(1, number_from("MR_SIM_SEEDS", 200) * share_of_100 / 100);
  std::uint64_t steps = 0, job_steps = 0, wide_steps = 0, outlived = 0, given_up = 0;
  std::set<SuspendWhy> suspended_for;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SimCluster cluster(seed, shape);
    const auto wrong = cluster.run();
    steps += cluster.steps();
    job_steps += cluster.steps_heard();
    wide_steps += cluster.steps_on_several_nodes();
    outlived += cluster.nodes_outlived();
    given_up += cluster.nodes_given_up();
    suspended_for.insert(cluster.seen_suspended().begin(), cluster.seen_suspended().end());
    if (seen)
      *seen = {seen->seeds + 1,
               seen->preemptions + cluster.saw_preemption(),
               seen->reservations + cluster.saw_reservation(),
               seen->boots + cluster.saw_boot(),
               seen->reboots + cluster.saw_reboot(),
               seen->crontab_returns + cluster.crontab_returns()};
    ASSERT_FALSE(wrong) << *wrong << "\n  repeat with: MR_SEED=" << seed << " simulation_tests --gtest_filter=" << test;
  }
  if (count >= 20) {
    EXPECT_GT(job_steps, count) << "hardly a step of a job came into the log";
    EXPECT_GT(wide_steps, count / 4) << "hardly a step ran on several nodes";
  }
  static std::uint64_t seeds_with_faults = 0, outlived_in_all = 0,
                       given_up_in_all = 0;  // rare: counted over all tests together
  if (shape.faults) {
    seeds_with_faults += count;
    outlived_in_all += outlived;
    given_up_in_all += given_up;
  }
  if (seeds_with_faults >= 2000) {
    EXPECT_GT(outlived_in_all, 0u) << "no job went on without a node that failed";
    EXPECT_GT(given_up_in_all, 0u) << "no running job gave up a node";
  }
  if (shape.suspends && count >= 20) {
    EXPECT_EQ(suspended_for.size(), 3u) << "jobs were not suspended for every reason there is";
  }
  std::printf("%s: %llu seeds from %llu, %llu steps\n", test, static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(steps));
}

TEST(Cluster, loses_and_doubles_nothing_under_faults) {
  run_seeds("Cluster.loses_and_doubles_nothing_under_faults", {}, 55);
}

TEST(Cluster, obeys_only_the_newest_leader) {
  ClusterShape shape;
  shape.old_leaders = true;
  run_seeds("Cluster.obeys_only_the_newest_leader", shape, 15);
}

TEST(Cluster, survives_a_full_disk) {
  ClusterShape shape;
  shape.full_disk = true;
  run_seeds("Cluster.survives_a_full_disk", shape, 15);
}

TEST(Cluster, keeps_reservations_and_preemptions_through_faults) {
  ClusterShape shape;
  shape.administrator = true;
  Seen seen;
  run_seeds("Cluster.keeps_reservations_and_preemptions_through_faults", shape, 20, &seen);
  if (seen.seeds < 10) return;  // a seed being looked at
  EXPECT_GT(seen.preemptions, seen.seeds / 4);
  EXPECT_GT(seen.reservations, seen.seeds / 2);
}

TEST(Cluster, does_not_trust_a_second_manager_that_hangs_lies_and_forgets) {
  ClusterShape shape;
  shape.flaky_nodes = 2;
  run_seeds("Cluster.does_not_trust_a_second_manager_that_hangs_lies_and_forgets", shape, 15);
}

TEST(Cluster, suspends_and_resumes_as_the_ledger_says) {
  ClusterShape shape;
  shape.suspends = true;
  run_seeds("Cluster.suspends_and_resumes_as_the_ledger_says", shape, 25);
}

TEST(Cluster, runs_prologs_before_and_epilogs_after_each_job) {
  ClusterShape shape;
  shape.programs = true;
  run_seeds("Cluster.runs_prologs_before_and_epilogs_after_each_job", shape, 20);
}

TEST(Cluster, launches_nothing_on_a_node_that_the_job_lost_meanwhile) {
  ClusterShape shape;
  shape.programs = true;
  SimCluster cluster(9000841, shape);
  EXPECT_EQ(cluster.run(), std::nullopt);
}

TEST(Cluster, suspends_jobs_that_have_prologs_and_epilogs) {
  ClusterShape shape;
  shape.programs = shape.suspends = true;
  run_seeds("Cluster.suspends_jobs_that_have_prologs_and_epilogs", shape, 10);
}

TEST(Cluster, keeps_its_word_whatever_clocks_say_and_when_spools_are_lost) {
  ClusterShape shape;
  shape.clocks = true;
  run_seeds("Cluster.keeps_its_word_whatever_clocks_say_and_when_spools_are_lost", shape, 15);
}

TEST(Cluster, loses_no_node_and_ends_no_job_because_clocks_are_set) {
  ClusterShape shape;
  shape.clocks = true;
  shape.faults = false;
  run_seeds("Cluster.loses_no_node_and_ends_no_job_because_clocks_are_set", shape, 10);
}

TEST(Cluster, powers_nodes_down_and_up_through_faults) {
  ClusterShape shape;
  shape.power = true;
  Seen seen;
  run_seeds("Cluster.powers_nodes_down_and_up_through_faults", shape, 20, &seen);
  if (seen.seeds >= 10) {
    EXPECT_GT(seen.boots, seen.seeds / 2);
    EXPECT_GT(seen.reboots, seen.seeds / 4);
  }
}

TEST(Cluster, powers_nodes_for_jobs_with_prologs_that_are_suspended) {
  ClusterShape shape;
  shape.power = shape.programs = shape.suspends = true;
  run_seeds("Cluster.powers_nodes_for_jobs_with_prologs_that_are_suspended", shape, 10);
}

TEST(Cluster, neither_loses_nor_doubles_jobs_of_a_crontab) {
  ClusterShape shape;
  shape.crontab = true;
  shape.jobs = 8;
  Seen seen;
  run_seeds("Cluster.neither_loses_nor_doubles_jobs_of_a_crontab", shape, 15, &seen);
  if (seen.seeds >= 10) {
    EXPECT_GT(seen.crontab_returns, seen.seeds) << "hardly a job of a crontab came again";
  }
}

TEST(Cluster, is_not_delayed_by_a_second_manager_that_hangs) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterShape alone;
    alone.faults = false;
    alone.jobs = 6;
    alone.nodes = 12;
    ClusterShape both = alone;
    both.flaky_nodes = 2;
    SimCluster cluster(seed, both);
    const auto wrong = cluster.run();
    ASSERT_FALSE(wrong) << *wrong << " seed " << seed;
    EXPECT_LT(cluster.slowest_start().value, seconds(1).value) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace
