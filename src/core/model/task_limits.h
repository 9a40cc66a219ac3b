// src/core/model/task_limits.h - how many tasks one job or step may have, and one node CPUs: what is made for each of
// them stays bounded.
#pragma once

#include <cstdint>

namespace millrace {

constexpr std::uint32_t tasks_max = 1'000'000;
constexpr std::uint32_t cpus_of_node_max = 1'000'000;

}  // namespace millrace
