// src/agent/node_devices.h - the devices of a node: those of slurm.conf and gres.conf, and which accelerators of the
// machine they are.
#pragma once

#include <string>
#include <vector>

#include "agent.pb.h"
#include "config/configuration.h"
#include "isolation/cpu_places.h"

namespace millrace {

// gpus that no File= names are matched, in the order of the node's line, with what was found on the machine: a type
// with a model that has it in its name.
class NodeDevices {
 public:
  NodeDevices(const ConfiguredNode& node, std::vector<CpuPlace> machine);

  bool is_looked_for() const;
  // The first report settles which is which; later ones tell how they are doing. One that is not found any more is in
  // trouble.
  void take(const wire::AcceleratorReport& report);

  const std::vector<NodeGres>& kinds() const { return kinds_; }
  const std::vector<std::string>& spare_files() const {
    return spare_files_;
  }  // of what was found and is no job's, because slurm.conf counts fewer
  void add_to(wire::Inventory& inventory) const;
  void add_to(wire::Telemetry& telemetry) const;
  void add_to(wire::GpuReadings& readings) const;
  // How libraries call the gpus of an attempt.
  void add_to(const wire::LaunchPlan& plan, wire::Isolation& isolation) const;

 private:
  struct Gpu {
    std::size_t slot = 0;      // of kinds_
    std::uint32_t device = 0;  // in its kind
    bool found = false;
    wire::AcceleratorFacts facts;
  };
  void match(const wire::AcceleratorReport& report);
  void add_missing(wire::Telemetry& telemetry) const;
  std::vector<std::uint32_t> links_of(const wire::AcceleratorReport& report, std::size_t slot) const;
  std::uint64_t sockets_of(const std::string& cpus) const;

  std::vector<NodeGres> kinds_;
  std::vector<bool> looked_for_;  // by slot
  std::vector<CpuPlace> machine_;
  std::uint32_t variables_;
  bool settled_ = false;
  std::vector<std::string> spare_files_;
  std::vector<Gpu> gpus_;  // of the kinds that are looked for
};

// The files of each device of a kind; one list for all when they cannot be told apart.
std::vector<std::vector<std::string>> files_by_device(const NodeGres& kind);

}  // namespace millrace
