// src/core/admission/reserve_ports.cpp - see reserve_ports.h.
#include "core/admission/reserve_ports.h"

namespace millrace {
namespace {

IndexSet ports_in(const std::string& text) { return parse_index_set(text, UINT16_MAX).value_or(IndexSet{}); }

}  // namespace

std::optional<std::vector<Event>> decide_ports(const State& state, const Job& job, std::uint32_t count,
                                               const IndexSet& pool, Time now) {
  IndexSet own = ports_in(job.placement->ports);
  if (own.size() >= count) return std::vector<Event>{};
  IndexSet free = pool;
  own.for_each([&](std::uint32_t port) { free.erase(port); });
  for (const NodeShare& share : job.placement->shares)
    for (const JobKey key : state.node(share.node).jobs)
      if (const Job& other = state.job(key); key != job.key && other.placement)
        ports_in(other.placement->ports).for_each([&](std::uint32_t port) { free.erase(port); });
  const std::uint64_t more = count - own.size();
  if (free.size() < more) return std::nullopt;
  take_some(free, more).for_each([&](std::uint32_t port) { own.insert(port); });
  return std::vector<Event>{JobPortsHeld{job.key, job.attempt, format_ranges(own), now}};
}

std::uint32_t ports_of_steps(const State& state, const Job& job) {
  std::uint64_t count = 0;
  for (auto it = state.steps.lower_bound({job.key, job.attempt, 0});
       it != state.steps.end() && (*it).first.job == job.key; ++it)
    if ((*it).first.attempt == job.attempt && (*it).second->is_running())
      count += ports_in((*it).second->start.ports).size();
  return static_cast<std::uint32_t>(count);
}

}  // namespace millrace
