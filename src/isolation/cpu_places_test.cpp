// src/isolation/cpu_places_test.cpp - positions and kernel numbers on made-up machines.
#include "isolation/cpu_places.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

namespace fs = std::filesystem;

class FakeSys : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-sys-XXXXXX";
    root_ = mkdtemp(name);
    fs::create_directories(root_ + "/devices/system/cpu");
  }
  void TearDown() override { fs::remove_all(root_); }
  void online(const std::string& text) { std::ofstream{root_ + "/devices/system/cpu/online"} << text << "\n"; }
  void cpu(int number, int package, const std::string& siblings, int node) {
    const std::string folder = root_ + "/devices/system/cpu/cpu" + std::to_string(number);
    fs::create_directories(folder + "/topology");
    fs::create_directories(folder + "/node" + std::to_string(node));
    std::ofstream{folder + "/topology/physical_package_id"} << package << "\n";
    std::ofstream{folder + "/topology/core_cpus_list"} << siblings << "\n";
  }
  std::vector<std::uint32_t> numbers(const std::vector<CpuPlace>& places) const {
    std::vector<std::uint32_t> out;
    for (const CpuPlace& place : places) out.push_back(place.cpu);
    return out;
  }
  std::string root_;
};

// Two sockets of two cores of two threads, numbered as most firmware does: first threads of all cores first, sockets
// alternating.
class TwoSockets : public FakeSys {
 protected:
  void SetUp() override {
    FakeSys::SetUp();
    online("0-7");
    for (int i = 0; i < 8; ++i) cpu(i, i % 2, std::to_string(i % 4) + "," + std::to_string(i % 4 + 4), i % 2);
  }
};

TEST_F(TwoSockets, Positions_go_socket_by_socket_with_the_threads_of_a_core_together) {
  const auto places = read_cpu_places(root_);
  EXPECT_EQ(numbers(places), (std::vector<std::uint32_t>{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(places[3], (CpuPlace{6, 1, 0, 0}));
  EXPECT_EQ(places[4], (CpuPlace{1, 2, 1, 1}));
}

TEST_F(TwoSockets, A_job_gets_the_kernels_numbers_of_its_positions) {
  const auto machine = read_cpu_places(root_);
  EXPECT_EQ(numbers(*places_of(machine, false, "2-4")), (std::vector<std::uint32_t>{2, 6, 1}));
  EXPECT_FALSE(places_of(machine, false, "8"));
}

TEST_F(TwoSockets, A_node_that_counts_cores_gets_all_their_threads) {
  const auto machine = read_cpu_places(root_);
  EXPECT_TRUE(counts_cores(machine, 1, 4));
  EXPECT_FALSE(counts_cores(machine, 1, 8));  // CPUs=8 and nothing else: each thread
  EXPECT_FALSE(counts_cores(machine, 2, 8));
  EXPECT_EQ(numbers(*places_of(machine, true, "1,3")), (std::vector<std::uint32_t>{2, 6, 3, 7}));
  EXPECT_FALSE(places_of(machine, true, "4"));
}

TEST_F(FakeSys, Cpus_that_are_offline_have_no_position) {
  online("0,2");
  for (int i = 0; i < 3; ++i) cpu(i, 0, std::to_string(i), 0);
  EXPECT_EQ(numbers(read_cpu_places(root_)), (std::vector<std::uint32_t>{0, 2}));
}

TEST_F(FakeSys, Nothing_known_of_the_topology_counts_as_cores_of_one_socket) {
  online("0-1");
  const auto places = read_cpu_places(root_);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[1], (CpuPlace{1, 1, 0, 0}));
}

TEST(CpuList, Is_written_as_the_kernel_reads_it) {
  EXPECT_EQ(format_cpu_list({8, 0, 1, 2, 2, 3}), "0-3,8");
  EXPECT_EQ(format_cpu_list({0, 2, 4}), "0,2,4");
  EXPECT_EQ(parse_cpu_list("0-2,5\n"), (std::vector<std::uint32_t>{0, 1, 2, 5}));
}

}  // namespace
}  // namespace millrace
