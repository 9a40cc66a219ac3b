// src/core/model/assign_test.cpp - which cores and devices a job gets: near each other, few fragments, never twice.
#include "core/model/assign.h"

#include <gtest/gtest.h>

#include "core/model/gres_text.h"

namespace millrace {
namespace {

NodeDef machine(std::uint32_t sockets, std::uint32_t cores, std::uint32_t threads, std::string_view gres = "") {
  NodeDef node;
  node.name = "n0";
  node.sockets = sockets;
  node.cores_per_socket = cores;
  node.threads_per_core = threads;
  node.cpus = Cpus{static_cast<std::int64_t>(sockets) * cores * threads};
  node.memory = Mebibytes{1000};
  node.kinds = *parse_node_gres(gres);
  EXPECT_TRUE(settle_kinds(node.kinds));
  return node;
}

// A node and its jobs.
struct Bench {
  NodeDef node;
  FitRules rules{};
  NodeUse use{};
  std::vector<NodeShare> shares{};

  std::string put(const JobSpec& spec, Amounts wanted) {
    auto detail = assign(spec, node, use, wanted, rules);
    if (!detail) return "nothing";
    NodeShare share{{}, Cpus{wanted.cpus}, {}, 1, false, SharedValue(*detail)};
    EXPECT_TRUE(add_use(use, node, share)) << "given out twice";
    shares.push_back(share);
    std::string out = format_bits(detail->cpus);
    const std::string devices = format_share(node, detail->devices, detail->gres);
    return devices.empty() ? out : out + " " + devices;
  }
  std::string put(std::int64_t cpus, std::int64_t gpus = 0) { return put(JobSpec{}, {cpus, 0, {gpus}}); }
  void end(std::size_t which) {
    remove_cpus(use, shares[which].detail->cpus);
    remove_devices(use, node, shares[which]);
  }
};

TEST(Assign, Fills_the_socket_with_the_least_room_that_still_holds_all) {
  Bench bench{machine(2, 4, 1)};
  EXPECT_EQ(bench.put(2), "0-1");
  EXPECT_EQ(bench.put(2), "2-3") << "beside the first, not on the empty socket";
  EXPECT_EQ(bench.put(3), "4-6");
  bench.end(0);
  EXPECT_EQ(bench.put(1), "7");
  EXPECT_EQ(bench.put(2), "0-1");
  EXPECT_EQ(bench.put(1), "nothing");
}

TEST(Assign, Spans_as_few_sockets_as_possible) {
  Bench bench{machine(3, 4, 1)};
  EXPECT_EQ(bench.put(2), "0-1");
  EXPECT_EQ(bench.put(6), "2-7") << "the full socket and the rest of the first";
  EXPECT_EQ(bench.put(4), "8-11");
}

TEST(Assign, Gives_threads_of_one_core_to_two_jobs_only_where_cpus_are_threads) {
  Bench threads{machine(1, 4, 2)};
  EXPECT_EQ(threads.put(1), "0");
  EXPECT_EQ(threads.put(3), "1-3") << "a whole core and the thread that is left of another";
  Bench cores{machine(1, 4, 2), {false, true, false}};
  EXPECT_EQ(cores.put(2), "0-1");
  EXPECT_EQ(cores.put(4), "2-5");
  Bench sockets{machine(2, 2, 2), {false, true, true}};
  EXPECT_EQ(sockets.put(4), "0-3");
  EXPECT_EQ(sockets.put(4), "4-7");
}

TEST(Assign, Takes_devices_of_one_socket_and_cores_beside_them) {
  NodeDef node = machine(2, 4, 1, "gpu:a100:4");
  node.kinds[0].near = {1, 1, 2, 2};
  Bench bench{node};
  EXPECT_EQ(bench.put(2), "0-1");
  EXPECT_EQ(bench.put(1, 1), "2 gpu:a100:1(IDX:0)");
  EXPECT_EQ(bench.put(2, 2), "4-5 gpu:a100:2(IDX:2-3)") << "both on one socket";
  EXPECT_EQ(bench.put(1, 1), "3 gpu:a100:1(IDX:1)");
  EXPECT_EQ(bench.put(1, 1), "nothing");
}

TEST(Assign, Takes_devices_with_the_most_links_among_each_other) {
  NodeDef node = machine(1, 8, 1, "gpu:a100:4");
  node.kinds[0].links = {0, 1, 4, 1,  //
                         1, 0, 1, 4,  //
                         4, 1, 0, 1,  //
                         1, 4, 1, 0};
  Bench bench{node};
  EXPECT_EQ(bench.put(1, 2), "0 gpu:a100:2(IDX:0,2)");
  EXPECT_EQ(bench.put(1, 2), "1 gpu:a100:2(IDX:1,3)");
  Bench taken{node};
  EXPECT_EQ(taken.put(1, 1), "0 gpu:a100:1(IDX:0)");
  EXPECT_EQ(taken.put(1, 2), "1 gpu:a100:2(IDX:1,3)") << "not the next free ones";
  NodeDef alike = machine(1, 8, 1, "gpu:a100:4");
  alike.kinds[0].links.assign(16, 2);
  Bench any{alike};
  EXPECT_EQ(any.put(1, 3), "0 gpu:a100:3(IDX:0-2)");
}

TEST(Assign, Keeps_to_near_cores_when_told_to) {
  NodeDef node = machine(2, 2, 1, "gpu:2");
  node.kinds[0].near = {1, 2};
  Bench bench{node};
  EXPECT_EQ(bench.put(2), "0-1");
  JobSpec strict;
  ResourceRequest ask;
  ask.enforce_binding = true;
  strict.resources = SharedValue(ask);
  EXPECT_EQ(bench.put(strict, {1, 0, {1}}), "nothing") << "gpu 0 is taken first and has no free core beside it";
  EXPECT_EQ(bench.put(1, 1), "2 gpu:1(IDX:0)");
}

TEST(Assign, A_gpu_gives_parts_or_the_whole_never_both) {
  Bench bench{machine(1, 16, 1, "gpu:2,shard:8")};
  const JobSpec any;
  EXPECT_EQ(bench.put(any, {1, 0, {0, 3}}), "0 shard:3(IDX:0)");
  EXPECT_EQ(bench.put(any, {1, 0, {0, 2}}), "1 shard:2(IDX:1)") << "parts of one job lie on one gpu";
  EXPECT_EQ(bench.put(any, {1, 0, {0, 1}}), "2 shard:1(IDX:0)") << "where the least stays free";
  EXPECT_EQ(bench.put(any, {1, 0, {1, 0}}), "nothing") << "both gpus are broken into parts";
  EXPECT_EQ(bench.put(any, {1, 0, {0, 3}}), "nothing") << "four are free, but on no gpu more than two";
  bench.end(1);
  EXPECT_EQ(bench.put(any, {1, 0, {1, 0}}), "1 gpu:1(IDX:1)");
  EXPECT_EQ(bench.put(any, {1, 0, {0, 1}}), "nothing");
}

TEST(Assign, Counts_say_no_more_is_free_than_can_be_had) {
  Node node;
  node.def = SharedValue(machine(1, 16, 1, "gpu:2,shard:8"));
  const auto take = [&](Amounts wanted) {
    NodeShare share{
        {}, Cpus{wanted.cpus}, {}, 1, false, SharedValue(*assign(JobSpec{}, *node.def, node.use, wanted, {}))};
    EXPECT_TRUE(add_use(node.use, *node.def, share));
    for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) node.used_gres[slot] += wanted.gres[slot];
  };
  take({1, 0, {0, 1}});
  EXPECT_EQ(free_of(node).gres[0], 1);
  EXPECT_EQ(free_of(node).gres[1], 7);
  take({1, 0, {1, 0}});
  EXPECT_EQ(free_of(node).gres[0], 0);
  EXPECT_EQ(free_of(node).gres[1], 3) << "the parts of a whole one are gone with it";
  EXPECT_EQ(format_used(node), "gpu:1(IDX:1),shard:1(1/4,0/4)");
}

TEST(Assign, Few_tasks_per_socket_spread_over_sockets) {
  Bench bench{machine(2, 4, 1)};
  JobSpec spec;
  ResourceRequest ask;
  ask.tasks_per_socket = 1;
  spec.cpus_per_task = 2;
  spec.resources = SharedValue(ask);
  EXPECT_EQ(bench.put(spec, {4, 0, {}}), "0-1,4-5");
}

TEST(Assign, Works_across_words_and_odd_thread_counts) {
  Bench bench{machine(2, 50, 3), {false, true, false}};
  EXPECT_EQ(bench.put(63), "0-62");
  EXPECT_EQ(bench.put(6), "63-68") << "a core lies across two words";
  EXPECT_EQ(bench.put(300), "nothing");
  EXPECT_EQ(bench.put(150), "150-299");
}

TEST(Assign, What_a_share_holds_follows_the_kinds_of_its_node) {
  const NodeDef before = machine(1, 4, 1, "gpu:a:2,nic:4"), after = machine(1, 4, 1, "fpga:1,nic:4");
  ShareDetail detail{{3}, {1, 0}, {1, 2}};
  const ShareDetail now = moved(detail, before, after);
  EXPECT_EQ(now.gres[0], 0);
  EXPECT_EQ(now.gres[1], 2);
  EXPECT_EQ(now.cpus, detail.cpus);
}

}  // namespace
}  // namespace millrace
