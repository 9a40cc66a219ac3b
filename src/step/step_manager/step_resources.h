// src/step/step_manager/step_resources.h - memory and devices of an allocation: what a step needs of them on each node,
// and what of it is free. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/features.h"
#include "core/model/resources.h"

namespace millrace::wire {
class CreateStep;
class DeviceGrant;
class LaunchPlan;
class StepWishes;
}  // namespace millrace::wire

namespace millrace {

// What the job has of one kind on one node.
struct DevicePool {
  std::string name, type, files;
  std::int64_t count = 0;
  std::int64_t parts_of_device = 0;
  std::vector<std::uint32_t> devices{};  // empty: they are only counted

  // Parts of a gpu are counted; whose part is whose nobody knows.
  bool is_one_by_one() const { return name != "shard" && name != "mps" && !devices.empty(); }
};

struct HeldDevices {
  std::uint32_t pool = 0;  // its place in the node's list
  std::int64_t count = 0;
  std::vector<std::uint32_t> devices{};
  bool operator==(const HeldDevices&) const = default;
};

struct CpuSpot {
  std::uint32_t core = 0, socket = 0;
};

// Of the job, on one node.
struct NodeBelongings {
  std::int64_t memory_mib = 0;  // 0: memory is not counted
  std::vector<DevicePool> devices;
  std::vector<CpuSpot> cpus;  // by place in the allocation
  std::vector<std::string> features;
};

struct NodeStock {
  std::int64_t memory_mib = 0;
  std::vector<HeldDevices> devices;  // by pool
};

// What a step takes on a node. `memory_mib` is its limit; what of it others cannot have meanwhile is `held_memory_mib`.
struct NodeTaking {
  std::int64_t memory_mib = 0, held_memory_mib = 0;
  std::vector<HeldDevices> devices{};
  std::uint32_t cpus = 0;
  bool operator==(const NodeTaking&) const = default;
};

// What its job was given as a whole, which a step has that says nothing.
struct StepDefaults {
  bool knows_devices = false;  // of every node; otherwise all steps see what the job has
  bool holds_devices = false;
  std::optional<std::int64_t> memory_per_node, memory_per_cpu;
};

struct StepNeeds {
  std::vector<GresAsk> gres;
  bool all_devices = false;  // nothing was said
  bool holds_devices = true;
  std::optional<std::int64_t> memory_per_node, memory_per_cpu, memory_per_gpu;
  bool memory_is_inherited = false;
  std::uint32_t tasks = 0, tasks_per_node = 0;  // 0: not said
  std::uint32_t cpus_per_task = 1, cpus_per_gpu = 0, tasks_per_gpu = 0, tasks_per_socket = 0, tasks_per_core = 0,
                threads_per_core = 0;
  FeatureExpression features;
  bool exact = false, overlap = false;
  bool may_crowd = false;  // more tasks than CPUs are its wish
};

std::vector<NodeBelongings> belongings_of(const wire::LaunchPlan& allocation,
                                          std::span<const std::uint32_t> cpus_per_node);
StepDefaults defaults_of(const wire::LaunchPlan& allocation);
Result<StepNeeds> needs_of(const wire::CreateStep& ask, const StepDefaults& defaults);

NodeStock whole_stock(const NodeBelongings& node);
void put_aside(NodeStock& stock, const NodeTaking& taken);

// How many there are in the stock of what is asked for.
std::int64_t count_of(const NodeBelongings& node, const NodeStock& stock, const GresAsk& ask);
// So many tasks on these CPUs. `of_step`: how many of each ask for the whole step come from here, by ask. Nothing: it
// is not there.
std::optional<NodeTaking> take_from(const NodeBelongings& node, const NodeStock& stock, const StepNeeds& needs,
                                    std::uint32_t tasks, std::span<const std::uint32_t> cpus,
                                    std::span<const std::int64_t> of_step, bool ignore_memory = false);
// The most tasks, up to `most`, for which there is enough.
std::uint32_t tasks_for(const NodeBelongings& node, const NodeStock& stock, const StepNeeds& needs, std::uint32_t most,
                        std::span<const std::uint32_t> cpus, bool ignore_memory = false);
// Of each core only so many threads.
std::vector<std::uint32_t> some_threads(const NodeBelongings& node, const std::vector<std::uint32_t>& cpus,
                                        std::uint32_t threads_per_core);

std::vector<wire::DeviceGrant> grants_of(const NodeBelongings& node, std::span<const HeldDevices> held);
std::vector<HeldDevices> all_devices(const NodeBelongings& node);
// As people are shown it: what was asked for, and all that the step holds.
wire::StepWishes shown_wishes(const wire::CreateStep& ask, std::span<const wire::DeviceGrant> held);

// As srun is told of what can never be.
struct StepRefusal {
  std::uint32_t code = 0;
  std::string text, note;
};
Error no_memory();
Error no_devices(const StepNeeds& needs, std::span<const NodeBelongings> nodes);
StepRefusal refusal_of(const Error& why);

}  // namespace millrace
