// src/core/model/withheld.h - which CPUs of a node are kept for the system: CoreSpecCount and CPUSpecList.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "core/model/job.h"
#include "core/model/node_use.h"

namespace millrace {

// So many cores: the last of each socket, from the last socket on, so that all sockets lose about as many.
Result<CpuBits> last_cores(const NodeDef& node, std::uint32_t count);
// "0-1,8": CPUs by position. Whole cores, and not all of them.
Result<CpuBits> listed_cpus(const NodeDef& node, std::string_view list);
// Those of them that a job has which asked for whole nodes with --core-spec or --thread-spec; none: it can have none of
// this node.
CpuBits cpus_but_spared(const NodeDef& node, const JobExtras& ask);
// What the tasks of a job see of its share: with --core-spec and srun -Z not what it is charged for. Empty: nobody
// chose which.
CpuBits cpus_seen(const NodeDef& node, const JobSpec& spec, const NodeShare& share);
std::uint32_t cpu_count_seen(const NodeDef& node, const JobSpec& spec, const NodeShare& share);
// How many cores they are.
std::uint32_t cores_in(const NodeDef& node, const CpuBits& cpus);

}  // namespace millrace
