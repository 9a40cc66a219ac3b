// tests/fuzz/fuzz_devices.cpp - what the process that looks at the accelerators tells the agent, and lists of CPUs.
#include <algorithm>

#include "agent/node_devices.h"
#include "isolation/cpu_places.h"
#include "target.h"

using namespace millrace;

namespace {

NodeDevices devices_of_node() {
  ConfiguredNode node;
  node.name = "n1";
  node.detect = "nvml";
  node.gpu_variables = 7;
  node.kinds.push_back({"gpu", "h200", 2, {}, true, {}, ""});
  node.kinds.push_back({"gpu", "", 1, {}, true, {}, ""});
  return {node, {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 1, 1}, {3, 3, 1, 1}}};
}

}  // namespace

FUZZ_SEEDS(accelerator_report) {
  wire::AcceleratorReport report, problem;
  for (const char* id : {"a", "b", "c"}) {
    wire::AcceleratorFacts& one = *report.add_accelerators();
    one.set_maker(1);
    one.set_model("nvidia_h200");
    one.set_unique_id(id);
    one.set_pci("0000:17:00.0");
    one.add_files(std::string{"/dev/nvidia"} + id);
    one.set_cpus("0-1,3");
    one.set_memory_mib(143771);
    for (const std::uint32_t links : {0u, 18u, 18u}) one.add_links(links);
    one.set_busy_percent(50);
  }
  problem.set_problem("the driver is not loaded");
  return {report.SerializeAsString(), problem.SerializeAsString()};
}

FUZZ_BINARY(accelerator_report) {
  wire::AcceleratorReport report;
  if (!report.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  NodeDevices devices = devices_of_node();
  wire::AcceleratorReport fewer = report;
  fewer.clear_accelerators();
  for (const wire::AcceleratorReport* each : {&report, &fewer, &report}) {
    devices.take(*each);
    wire::Inventory inventory;
    wire::Telemetry telemetry;
    wire::GpuReadings readings;
    wire::Isolation isolation;
    wire::LaunchPlan plan;
    wire::DeviceGrant& grant = *plan.add_devices();
    grant.set_name("gpu");
    for (const std::uint32_t device : {0u, 1u, 2u}) grant.add_devices(device);
    devices.add_to(inventory);
    devices.add_to(telemetry);
    devices.add_to(readings);
    devices.add_to(plan, isolation);
    fuzz::must(readings.gpus_size() <= 3, "a node has no more gpus than slurm.conf counts");
  }
}

FUZZ_TEXT(cpu_list) {
  std::vector<std::uint32_t> cpus = parse_cpu_list(input);
  fuzz::must(cpus.size() <= 1'000'001, "no machine has more CPUs");
  const std::string text = format_cpu_list(cpus);
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  fuzz::must(parse_cpu_list(text) == cpus, "what is written is read back");
}
