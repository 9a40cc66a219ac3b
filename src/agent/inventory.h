// src/agent/inventory.h - what this machine has and how it is doing: processors, memory, disk, network, boot.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent.pb.h"

namespace millrace {

// Where an agent's numbers come from; a simulated node invents them.
class Measurements {
 public:
  virtual ~Measurements() = default;
  virtual wire::Inventory inventory() = 0;
  virtual wire::Telemetry telemetry() = 0;
};

// `root` is where /proc and /sys are looked for; "" for the real ones.
wire::Inventory read_inventory(const std::string& root, const std::string& tmp_directory);
wire::Telemetry read_telemetry(const std::string& root, const std::string& tmp_directory);
std::string read_boot_id(const std::string& root);
// The two lines of `slurmd -C`.
std::string hardware_line(const wire::Inventory& inventory, std::int64_t uptime_seconds);
std::int64_t uptime_seconds(const std::string& root);

class HostMeasurements final : public Measurements {
 public:
  // `configured`: resources of the node's line in slurm.conf, used instead of the real ones on a virtual node.
  HostMeasurements(std::string tmp_directory, std::int64_t started_at_us, std::optional<wire::Inventory> configured);
  wire::Inventory inventory() override;
  wire::Telemetry telemetry() override;

  // Adds what others know of this machine; each may be empty.
  struct Also {
    std::function<void(wire::Inventory&)> to_inventory;
    std::function<void(wire::Telemetry&)> to_telemetry;
  };
  Also also;

 private:
  const std::string tmp_directory_;
  const std::int64_t started_at_us_;
  const std::optional<wire::Inventory> configured_;
};

}  // namespace millrace
