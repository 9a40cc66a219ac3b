// src/core/admission/resource_wishes.h - what was said about devices, features, licences, layout and the like, and the
// request it makes.
#pragma once

#include <optional>
#include <string>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// As typed; what is not set was not said. At submission and for scontrol update the same.
struct ResourceWishes {
  std::optional<std::string> gres{}, gpus{}, gpus_per_node{}, gpus_per_task{}, gpus_per_socket{}, tres_per_task{};
  std::optional<std::string> features{}, prefer{}, licences{}, distribution{}, hint{}, reservation{}, gres_flags{};
  std::optional<std::string> node_counts{};  // 1,3-7:2; empty: no longer a list
  std::optional<std::string>
      task_nodes{};  // of an arbitrary distribution: a node for each task, as a hostlist with repeats
  std::optional<std::uint32_t> cpus_per_gpu{}, tasks_per_socket{}, tasks_per_core{}, tasks_per_gpu{};
  std::optional<std::uint32_t> sockets_per_node{}, cores_per_socket{}, threads_per_core{};
  std::optional<std::uint32_t> switches{}, switches_wait_seconds{}, time_min_minutes{}, segment{};
  std::optional<std::int64_t> memory_per_gpu{}, tmp_disk{};
  std::optional<Time> deadline{};
  std::optional<bool> contiguous{}, spread_job{}, use_min_nodes{}, exclusive_user{}, spread_segments{},
      consolidate_segments{};
  bool operator==(const ResourceWishes&) const = default;
};

// Puts what was said into the job's request; refuses what nobody could give, with the names of what there is.
std::expected<void, Refusal> apply_wishes(const State& state, const ResourceWishes& wishes, JobSpec& spec);

// Each number is one that sums and products of the job fit, and its launch. At submission and whenever it is changed.
std::expected<void, Refusal> check_numbers(const JobSpec& spec);

// Numbers of tasks, nodes and gpus that follow from each other (--ntasks-per-gpu, --gpus with --gpus-per-task ...). At
// submission, before the job's size is completed.
std::expected<void, Refusal> relate_gpus(JobSpec& spec);

}  // namespace millrace
