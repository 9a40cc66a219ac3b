// src/agent/inventory.cpp - see inventory.h.
#include "agent/inventory.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <set>
#include <utility>

#include "base/text.h"

namespace millrace {

namespace {

std::string read_text(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[8192];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

std::int64_t number_after(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::string rest{trim(line.substr(key.size()))};
    return std::strtoll(rest.c_str(), nullptr, 10);
  }
  return 0;
}

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

// From /proc/cpuinfo; a virtual machine or another architecture that names no cores has one core per processor.
void read_processors(const std::string& root, wire::Inventory& inventory) {
  std::uint32_t cpus = 0;
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  std::string socket = "0";
  const std::string text = read_text(root + "/proc/cpuinfo");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon));
    const std::string value{trim(line.substr(colon + 1))};
    if (key == "processor") ++cpus;
    if (key == "physical id") sockets.insert(socket = value);
    if (key == "core id") cores.emplace(socket, value);
  }
  cpus = std::max(cpus, 1u);
  const auto socket_count = static_cast<std::uint32_t>(std::max<std::size_t>(sockets.size(), 1));
  const auto core_count = cores.empty() ? cpus : static_cast<std::uint32_t>(cores.size());
  inventory.set_cpus(cpus);
  inventory.set_boards(1);
  inventory.set_sockets(socket_count);
  inventory.set_cores_per_socket(std::max(core_count / socket_count, 1u));
  inventory.set_threads_per_core(std::max(cpus / core_count, 1u));
}

}  // namespace

std::string read_boot_id(const std::string& root) {
  return std::string{trim(read_text(root + "/proc/sys/kernel/random/boot_id"))};
}

std::int64_t uptime_seconds(const std::string& root) {
  return std::strtoll(read_text(root + "/proc/uptime").c_str(), nullptr, 10);
}

wire::Inventory read_inventory(const std::string& root, const std::string& tmp_directory) {
  wire::Inventory inventory;
  read_processors(root, inventory);
  const std::string memory = read_text(root + "/proc/meminfo");
  inventory.set_memory_mib(static_cast<std::uint64_t>(number_after(memory, "MemTotal:") / 1024));
  struct statvfs disk{};
  if (statvfs(tmp_directory.c_str(), &disk) == 0) inventory.set_tmp_disk_mib((disk.f_blocks * disk.f_frsize) >> 20);
  utsname host{};
  if (uname(&host) == 0) {
    inventory.set_arch(host.machine);
    inventory.set_os(std::string{host.sysname} + " " + host.release + " " + host.version);
    inventory.set_host_name(host.nodename);
  }
  inventory.set_boot_at_us(number_after(read_text(root + "/proc/stat"), "btime ") * 1'000'000);
  return inventory;
}

wire::Telemetry read_telemetry(const std::string& root, const std::string& tmp_directory) {
  wire::Telemetry telemetry;
  // By hand: strtod would ask the locale.
  const std::string load = read_text(root + "/proc/loadavg");
  const std::size_t point = load.find('.');
  if (point != std::string::npos && point + 2 < load.size())
    telemetry.set_load_hundredths(static_cast<std::uint32_t>(
        std::strtoul(load.c_str(), nullptr, 10) * 100 + std::strtoul(load.substr(point + 1, 2).c_str(), nullptr, 10)));
  const std::string memory = read_text(root + "/proc/meminfo");
  telemetry.set_free_memory_mib(static_cast<std::uint64_t>(number_after(memory, "MemFree:") / 1024));
  struct statvfs disk{};
  if (statvfs(tmp_directory.c_str(), &disk) == 0)
    telemetry.set_free_tmp_disk_mib((disk.f_bavail * disk.f_frsize) >> 20);
  const std::string network = read_text(root + "/proc/net/dev");
  for (const std::string_view line : split(network, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) == "lo") continue;
    const std::string numbers{line.substr(colon + 1)};
    char* at = const_cast<char*>(numbers.c_str());
    for (int column = 0; column < 9; ++column) {
      const std::uint64_t value = std::strtoull(at, &at, 10);
      if (column == 0) telemetry.set_network_received_bytes(telemetry.network_received_bytes() + value);
      if (column == 8) telemetry.set_network_sent_bytes(telemetry.network_sent_bytes() + value);
    }
  }
  telemetry.set_measured_at_us(now_us());
  return telemetry;
}

std::string hardware_line(const wire::Inventory& inventory, std::int64_t uptime) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  const auto two = [](std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  const std::string host = inventory.host_name().substr(0, inventory.host_name().find('.'));
  return "NodeName=" + host + " CPUs=" + number(inventory.cpus()) + " Boards=" + number(inventory.boards()) +
         " SocketsPerBoard=" + number(inventory.sockets()) + " CoresPerSocket=" + number(inventory.cores_per_socket()) +
         " ThreadsPerCore=" + number(inventory.threads_per_core()) + " RealMemory=" + number(inventory.memory_mib()) +
         "\nUpTime=" + std::to_string(uptime / 86400) + "-" + two(uptime / 3600 % 24) + ":" + two(uptime / 60 % 60) +
         ":" + two(uptime % 60) + "\n";
}

HostMeasurements::HostMeasurements(std::string tmp_directory, std::int64_t started_at_us,
                                   std::optional<wire::Inventory> configured)
    : tmp_directory_(std::move(tmp_directory)), started_at_us_(started_at_us), configured_(std::move(configured)) {}

wire::Inventory HostMeasurements::inventory() {
  wire::Inventory inventory = read_inventory("", tmp_directory_);
  if (configured_) inventory.MergeFrom(*configured_);  // only what is set there replaces
  inventory.set_agent_started_at_us(started_at_us_);
  if (also.to_inventory) also.to_inventory(inventory);
  return inventory;
}

wire::Telemetry HostMeasurements::telemetry() {
  wire::Telemetry telemetry = read_telemetry("", tmp_directory_);
  if (also.to_telemetry) also.to_telemetry(telemetry);
  return telemetry;
}

}  // namespace millrace
