// src/core/ledger/cpu_holders.h - who is on which CPUs of a node or wants them back, and which of them a waiting job
// may be given.
#pragma once

#include <span>

#include "core/ledger/state.h"
#include "core/model/node_use.h"

namespace millrace {

struct CpuHolder {
  const Job* job = nullptr;
  CpuBits bits;  // empty: it does not say which
  std::int64_t cpus = 0;
  PartitionIndex partition;
  bool shared = false;     // others of its partition may be on its CPUs
  bool suspended = false;  // not on them now, but it wants them back
};

// In key order; of a suspended job only when it wants its CPUs back.
std::vector<CpuHolder> cpu_holders(const State& state, NodeIndex index);

// How many jobs may be on a CPU of this one, itself included: 1 when it shares with nobody.
std::uint32_t rows_of(const State& state, const Job& job, PartitionIndex where);

// Who asks: a waiting job in one of its partitions. It may be the `row`-th on a CPU, counted among jobs that share.
struct CpuAsker {
  const Job* job = nullptr;
  PartitionIndex where;
  std::uint32_t row = 1;
  std::span<const JobKey> suspends{};  // running jobs that would be suspended for it
};

// What a holder is to the one who asks: in its way, one more on the CPUs it may share, or nothing.
enum class Standing : std::uint8_t { in_the_way, beside, gives_way };
Standing standing(const State& state, const CpuHolder& holder, const CpuAsker& asker);

struct ClosedCpus {
  CpuBits bits;
  std::int64_t count = 0;  // of those, and of holders that do not say which they have
};
ClosedCpus closed_cpus(const State& state, const NodeDef& def, std::span<const CpuHolder> holders,
                       const CpuAsker& asker);

// All CPUs of a suspended job are free for it.
bool cpus_are_free(const State& state, const Job& job);

}  // namespace millrace
