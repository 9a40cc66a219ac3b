// src/agent/node_devices.cpp - see node_devices.h.
#include "agent/node_devices.h"

#include <unistd.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/text.h"

namespace millrace {
namespace {

bool is_model(std::string_view type, const std::string& model) {
  return type.empty() || lower(model).find(lower(type)) != std::string::npos;
}

// The number at the end of a device's first file: /dev/nvidia3 is what NVIDIA's libraries call 3.
std::uint32_t number_of(const std::vector<std::string>& files, std::uint32_t otherwise) {
  if (files.empty()) return otherwise;
  const std::string& file = files.front();
  const std::size_t from = file.find_last_not_of("0123456789") + 1;
  const auto number = parse_integer(std::string_view{file}.substr(std::min(from, file.size())));
  return number && *number < 1'000'000 ? static_cast<std::uint32_t>(*number) : otherwise;
}

}  // namespace

std::vector<std::vector<std::string>> files_by_device(const NodeGres& kind) {
  const auto files = expand_hostlist(kind.files);
  if (!files || files->empty() || kind.count <= 0) return {};
  const auto count = static_cast<std::size_t>(kind.count);
  if (files->size() % count != 0) return {*files};
  const std::size_t each = files->size() / count;
  std::vector<std::vector<std::string>> out;
  for (std::size_t i = 0; i < count; ++i)
    out.emplace_back(files->begin() + static_cast<std::ptrdiff_t>(i * each),
                     files->begin() + static_cast<std::ptrdiff_t>((i + 1) * each));
  return out;
}

NodeDevices::NodeDevices(const ConfiguredNode& node, std::vector<CpuPlace> machine)
    : kinds_(node.kinds), machine_(std::move(machine)), variables_(node.gpu_variables) {
  for (const NodeGres& kind : kinds_)
    looked_for_.push_back(!node.detect.empty() && kind.name == "gpu" && kind.files.empty());
}

bool NodeDevices::is_looked_for() const { return std::ranges::find(looked_for_, true) != looked_for_.end(); }

std::uint64_t NodeDevices::sockets_of(const std::string& cpus) const {
  const auto near = parse_index_set(cpus, 1'000'000);
  if (!near) return 0;
  std::uint64_t bits = 0, all = 0;
  for (const CpuPlace& place : machine_) {
    if (place.socket >= 64) continue;
    all |= 1ULL << place.socket;
    if (near->contains(place.cpu)) bits |= 1ULL << place.socket;
  }
  return bits == all ? 0 : bits;  // near to all is near to none in particular
}

// A found one says its links to all that were found, in the order of the report.
std::vector<std::uint32_t> NodeDevices::links_of(const wire::AcceleratorReport& report, std::size_t slot) const {
  std::vector<std::uint32_t> out;
  bool any = false;
  for (const Gpu& from : gpus_)
    for (const Gpu& to : gpus_) {
      if (from.slot != slot || to.slot != slot) continue;
      const auto place =
          std::ranges::find(report.accelerators(), to.facts.unique_id(), &wire::AcceleratorFacts::unique_id) -
          report.accelerators().begin();
      const std::uint32_t links = place < from.facts.links_size() ? from.facts.links(static_cast<int>(place)) : 0;
      any = any || links > 0;
      out.push_back(links);
    }
  return any ? out : std::vector<std::uint32_t>{};
}

void NodeDevices::match(const wire::AcceleratorReport& report) {
  std::vector<bool> taken(static_cast<std::size_t>(report.accelerators_size()));
  // Kinds with a type first: one without would take theirs.
  for (const bool typed : {true, false})
    for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
      NodeGres& kind = kinds_[slot];
      if (!looked_for_[slot] || kind.type.empty() == typed) continue;
      for (int i = 0; i < report.accelerators_size(); ++i) {
        const wire::AcceleratorFacts& facts = report.accelerators(i);
        const auto had = static_cast<std::int64_t>(std::ranges::count(gpus_, slot, &Gpu::slot));
        if (had == kind.count) break;
        if (taken[static_cast<std::size_t>(i)] || !is_model(kind.type, facts.model())) continue;
        taken[static_cast<std::size_t>(i)] = true;
        gpus_.push_back({slot, static_cast<std::uint32_t>(had), true, facts});
      }
    }
  for (int i = 0; i < report.accelerators_size(); ++i)
    if (const auto& files = report.accelerators(i).files(); !taken[static_cast<std::size_t>(i)])
      spare_files_.insert(spare_files_.end(), files.begin(), files.end());
  std::ranges::sort(gpus_, {}, [](const Gpu& gpu) { return std::pair{gpu.slot, gpu.device}; });
  for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
    if (!looked_for_[slot]) continue;
    NodeGres& kind = kinds_[slot];
    kind.near.clear();
    bool any_near = false;
    for (const Gpu& gpu : gpus_) {
      if (gpu.slot != slot) continue;
      for (const std::string& file : gpu.facts.files()) kind.files += (kind.files.empty() ? "" : ",") + file;
      kind.near.push_back(sockets_of(gpu.facts.cpus()));
      any_near = any_near || kind.near.back() != 0;
    }
    if (!any_near) kind.near.clear();
    kind.links = links_of(report, slot);
    kind.countable_only = false;
  }
  settled_ = true;
}

void NodeDevices::take(const wire::AcceleratorReport& report) {
  if (!settled_) return match(report);
  for (Gpu& gpu : gpus_) {
    const auto same =
        std::ranges::find(report.accelerators(), gpu.facts.unique_id(), &wire::AcceleratorFacts::unique_id);
    gpu.found = same != report.accelerators().end();
    if (gpu.found) gpu.facts = *same;
  }
}

void NodeDevices::add_to(wire::Inventory& inventory) const {
  for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
    if (!looked_for_[slot]) continue;
    const NodeGres& kind = kinds_[slot];
    auto* to = inventory.add_devices();
    to->set_name(kind.name);
    to->set_type(kind.type);
    to->set_count(std::ranges::count(gpus_, slot, &Gpu::slot));
    to->set_files(kind.files);
    for (const std::uint64_t sockets : kind.near) to->add_near(sockets);
    to->mutable_links()->Add(kind.links.begin(), kind.links.end());
  }
}

void NodeDevices::add_to(wire::Telemetry& telemetry) const {
  for (const Gpu& gpu : gpus_) {
    auto* to = telemetry.add_devices();
    to->set_name(kinds_[gpu.slot].name);
    to->set_type(kinds_[gpu.slot].type);
    to->set_device(gpu.device);
    to->set_busy_percent(gpu.facts.busy_percent());
    to->set_used_mib(gpu.facts.used_mib());
    to->set_memory_mib(gpu.facts.memory_mib());
    to->set_celsius(gpu.facts.celsius());
    to->set_watts(gpu.facts.watts());
    to->set_trouble(gpu.found ? gpu.facts.trouble() : "not found any more");
  }
  add_missing(telemetry);
}

// Those that gres.conf names by their files, where a file is missing. Nobody is told of the others: their makers are
// not asked.
void NodeDevices::add_missing(wire::Telemetry& telemetry) const {
  for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
    if (looked_for_[slot] || is_part(kinds_[slot])) continue;
    const auto files = files_by_device(kinds_[slot]);
    for (std::size_t device = 0; device < files.size(); ++device)
      for (const std::string& file : files[device]) {
        if (access(file.c_str(), F_OK) == 0) continue;
        auto* to = telemetry.add_devices();
        to->set_name(kinds_[slot].name);
        to->set_type(kinds_[slot].type);
        to->set_device(static_cast<std::uint32_t>(device));
        to->set_trouble(file + " is missing");
        break;
      }
  }
}

void NodeDevices::add_to(wire::GpuReadings& readings) const {
  std::uint32_t first = 0;
  for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
    if (kinds_[slot].name != "gpu") continue;
    for (const Gpu& gpu : gpus_) {
      if (gpu.slot != slot || !gpu.found) continue;
      auto* to = readings.add_gpus();
      to->set_device(first + gpu.device);
      to->set_busy_percent(gpu.facts.busy_percent());
      to->set_used_mib(gpu.facts.used_mib());
    }
    first += static_cast<std::uint32_t>(kinds_[slot].count);
  }
}

void NodeDevices::add_to(const wire::LaunchPlan& plan, wire::Isolation& isolation) const {
  isolation.set_gpu_variables(variables_ == 0 ? 16 : variables_);
  for (const wire::DeviceGrant& grant : plan.devices()) {
    if (grant.name() != "gpu" && grant.name() != "shard" && grant.name() != "mps") continue;
    for (const std::uint32_t device : grant.devices()) {
      std::uint32_t first = 0;  // over all types, as the plan counts
      for (std::size_t slot = 0; slot < kinds_.size(); ++slot) {
        const NodeGres& kind = kinds_[slot];
        if (kind.name != "gpu") continue;
        if (device >= first && device < first + static_cast<std::uint32_t>(kind.count)) {
          const auto files = files_by_device(kind);
          auto* to = isolation.add_gpus();
          to->set_device(device);
          to->set_number(device - first < files.size() && files.size() == static_cast<std::size_t>(kind.count)
                             ? number_of(files[device - first], device)
                             : device);
          for (const Gpu& gpu : gpus_)
            if (gpu.slot == slot && gpu.device == device - first) {
              if (gpu.facts.instance()) to->set_unique_id(gpu.facts.unique_id());
              to->set_near_cpus(gpu.facts.cpus());
            }
        }
        first += static_cast<std::uint32_t>(kind.count);
      }
    }
  }
}

}  // namespace millrace
