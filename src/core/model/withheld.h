// src/core/model/withheld.h - which CPUs of a node are kept for the system: CoreSpecCount and CPUSpecList.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "core/model/node_use.h"

namespace millrace {

// So many cores: the last of each socket, from the last socket on, so that all sockets lose about as many.
Result<CpuBits> last_cores(const NodeDef& node, std::uint32_t count);
// "0-1,8": CPUs by position. Whole cores, and not all of them.
Result<CpuBits> listed_cpus(const NodeDef& node, std::string_view list);
// How many cores they are.
std::uint32_t cores_in(const NodeDef& node, const CpuBits& cpus);

}  // namespace millrace
