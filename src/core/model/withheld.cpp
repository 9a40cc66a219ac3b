// src/core/model/withheld.cpp - see withheld.h.
#include "core/model/withheld.h"

#include <string>

#include "base/index_set.h"
#include "base/text.h"

namespace millrace {
namespace {

bool has(const CpuBits& bits, std::uint32_t cpu) {
  return cpu / 64 < bits.size() && (bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

void put(CpuBits& bits, std::uint32_t cpu) {
  if (bits.size() <= cpu / 64) bits.resize(cpu / 64 + 1);
  bits[cpu / 64] |= 1ULL << (cpu % 64);
}

}  // namespace

Result<CpuBits> last_cores(const NodeDef& node, std::uint32_t count) {
  const CpuShape shape = cpu_shape(node);
  const std::uint32_t all = shape.sockets * shape.cores;
  if (count >= all)
    return fail(Errc::invalid, std::to_string(count) + " cores cannot be kept for the system: the node has " +
                                   std::to_string(all) + " and jobs need one");
  CpuBits out;
  std::uint32_t left = count;
  for (std::uint32_t core = shape.cores; core-- > 0 && left > 0;)
    for (std::uint32_t socket = shape.sockets; socket-- > 0 && left > 0; --left)
      for (std::uint32_t thread = 0; thread < shape.threads; ++thread)
        put(out, (socket * shape.cores + core) * shape.threads + thread);
  return out;
}

Result<CpuBits> listed_cpus(const NodeDef& node, std::string_view list) {
  const auto asked = parse_index_set(list, static_cast<std::uint32_t>(node.cpus.value) - 1);
  if (!asked || asked->empty())
    return fail(Errc::invalid, "'" + std::string{list} +
                                   "' is wrong, CPUs of the node like 0-1,8 would be right: it has 0-" +
                                   std::to_string(node.cpus.value - 1));
  CpuBits out;
  asked->for_each([&](std::uint32_t cpu) { put(out, cpu); });
  const CpuShape shape = cpu_shape(node);
  for (std::uint32_t core = 0; core < shape.sockets * shape.cores; ++core)
    for (std::uint32_t thread = 1; thread < shape.threads; ++thread)
      if (has(out, core * shape.threads) != has(out, core * shape.threads + thread))
        return fail(Errc::invalid, "'" + std::string{list} + "' names some threads of a core only; core " +
                                       std::to_string(core) + " is CPUs " + std::to_string(core * shape.threads) + "-" +
                                       std::to_string((core + 1) * shape.threads - 1));
  if (count_bits(out) >= node.cpus.value)
    return fail(Errc::invalid, "'" + std::string{list} + "' is all CPUs of the node; jobs need some");
  return out;
}

CpuBits cpus_but_spared(const NodeDef& node, const JobExtras& ask) {
  const std::uint32_t count = ask.core_spec.value_or(0);
  const auto all = static_cast<std::uint32_t>(node.cpus.value);
  CpuBits spared, out;
  if (ask.threads_spec) {
    if (count >= all) return out;
    for (std::uint32_t cpu = all - count; cpu < all; ++cpu) put(spared, cpu);
  } else {
    auto cores = last_cores(node, count);
    if (!cores) return out;
    spared = *std::move(cores);
  }
  for (std::uint32_t cpu = 0; cpu < all; ++cpu)
    if (!has(spared, cpu)) put(out, cpu);
  return out;
}

// Only of whole nodes: one that was changed to share them sees its share, like any other.
static bool spares(const JobSpec& spec) { return spec.exclusive && spec.extra_request().core_spec; }

CpuBits cpus_seen(const NodeDef& node, const JobSpec& spec, const NodeShare& share) {
  if (spares(spec)) return cpus_but_spared(node, spec.extra_request());
  return share.detail ? share.detail->cpus : CpuBits{};
}

std::uint32_t cpu_count_seen(const NodeDef& node, const JobSpec& spec, const NodeShare& share) {
  if (spec.extra_request().no_allocate) return static_cast<std::uint32_t>(node.cpus.value);
  return static_cast<std::uint32_t>(spares(spec) ? count_bits(cpus_but_spared(node, spec.extra_request()))
                                                 : share.cpus.value);
}

std::uint32_t cores_in(const NodeDef& node, const CpuBits& cpus) {
  return static_cast<std::uint32_t>(count_bits(cpus)) / cpu_shape(node).threads;
}

}  // namespace millrace
