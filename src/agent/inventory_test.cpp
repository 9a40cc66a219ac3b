// src/agent/inventory_test.cpp - hardware and load from recorded /proc files, and something sensible from the real
// ones.
#include "agent/inventory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

class InventoryTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-proc-XXXXXX";
    root_ = mkdtemp(name);
    std::filesystem::create_directories(root_ + "/proc/net");
    std::filesystem::create_directories(root_ + "/proc/sys/kernel/random");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void file(const std::string& name, const std::string& text) { std::ofstream(root_ + "/proc/" + name) << text; }
  std::string root_;
};

TEST_F(InventoryTest, Sockets_cores_and_threads_are_counted) {
  std::string text;
  for (int cpu = 0; cpu < 8; ++cpu)  // 2 sockets, 2 cores, 2 threads
    text += "processor\t: " + std::to_string(cpu) + "\nphysical id\t: " + std::to_string(cpu / 4) +
            "\ncore id\t\t: " + std::to_string(cpu / 2 % 2) + "\n\n";
  file("cpuinfo", text);
  file("meminfo", "MemTotal:       16384000 kB\nMemFree:         1024000 kB\n");
  file("stat", "cpu 1 2\nbtime 1700000000\n");
  wire::Inventory inventory = read_inventory(root_, root_);
  EXPECT_EQ(inventory.cpus(), 8u);
  EXPECT_EQ(inventory.sockets(), 2u);
  EXPECT_EQ(inventory.cores_per_socket(), 2u);
  EXPECT_EQ(inventory.threads_per_core(), 2u);
  EXPECT_EQ(inventory.memory_mib(), 16000u);
  EXPECT_EQ(inventory.boot_at_us(), 1700000000'000000);
  EXPECT_GT(inventory.tmp_disk_mib(), 0u);
  inventory.set_host_name("c1.example");
  EXPECT_EQ(hardware_line(inventory, 90061),
            "NodeName=c1 CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=16000\n"
            "UpTime=1-01:01:01\n");
}

TEST_F(InventoryTest, Machine_without_core_numbers_has_a_core_per_processor) {
  file("cpuinfo", "processor\t: 0\nBogoMIPS : 1\nprocessor\t: 1\n");
  const wire::Inventory inventory = read_inventory(root_, root_);
  EXPECT_EQ(inventory.cpus(), 2u);
  EXPECT_EQ(inventory.cores_per_socket(), 2u);
  EXPECT_EQ(inventory.threads_per_core(), 1u);
}

TEST_F(InventoryTest, Load_memory_and_network_are_read) {
  file("loadavg", "12.07 1.00 0.50 1/234 5678\n");
  file("meminfo", "MemTotal: 2048 kB\nMemFree: 10240 kB\n");
  file("net/dev",
       "Inter-|   Receive   |  Transmit\n face |bytes\n    lo: 999 0 0 0 0 0 0 0 999 0\n  eth0: 100 1 0 0 0 0 0 0 200 "
       "2 0\n"
       "  eth1:5 1 0 0 0 0 0 0 7 2 0\n");
  const wire::Telemetry telemetry = read_telemetry(root_, root_);
  EXPECT_EQ(telemetry.load_hundredths(), 1207u);
  EXPECT_EQ(telemetry.free_memory_mib(), 10u);
  EXPECT_EQ(telemetry.network_received_bytes(), 105u);
  EXPECT_EQ(telemetry.network_sent_bytes(), 207u);
  EXPECT_GT(telemetry.measured_at_us(), 0);
}

TEST_F(InventoryTest, Configured_resources_stand_in_for_real_ones) {
  wire::Inventory configured;
  configured.set_cpus(64);
  configured.set_memory_mib(4000);
  HostMeasurements measurements("/tmp", 5, configured);
  EXPECT_EQ(measurements.inventory().cpus(), 64u);
  EXPECT_EQ(measurements.inventory().memory_mib(), 4000u);
  EXPECT_FALSE(measurements.inventory().arch().empty());
  EXPECT_EQ(read_boot_id("").size(), 36u);
}

}  // namespace
}  // namespace millrace
