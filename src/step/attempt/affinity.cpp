// src/step/attempt/affinity.cpp - see affinity.h.
#include "step/attempt/affinity.h"

#include <algorithm>
#include <map>

#include "step/environment/environment.h"

namespace millrace {
namespace {

using Cpus = std::vector<std::uint32_t>;

enum class Unit : std::uint8_t { thread, core, socket, ldom };

// The allocation as threads, cores, sockets or memory domains, in the order in which tasks get them.
std::vector<Cpus> units_of(const BindRequest& request, Unit unit) {
  struct Part {
    std::uint32_t socket;
    Cpus cpus;
  };
  std::vector<Part> parts;
  std::map<std::uint32_t, std::size_t> at;
  for (const CpuPlace& place : request.places) {
    const std::uint32_t key = unit == Unit::thread   ? place.cpu
                              : unit == Unit::core   ? place.core
                              : unit == Unit::socket ? place.socket
                                                     : place.memory_node;
    const auto [found, fresh] = at.try_emplace(key, parts.size());
    if (fresh) parts.push_back({place.socket, {}});
    parts[found->second].cpus.push_back(place.cpu);
  }
  std::vector<Cpus> out;
  if (!request.cyclic) {
    for (Part& part : parts) out.push_back(std::move(part.cpus));
    return out;
  }
  std::map<std::uint32_t, std::vector<Cpus>> by_socket;
  for (Part& part : parts) by_socket[part.socket].push_back(std::move(part.cpus));
  for (std::size_t round = 0; out.size() < parts.size(); ++round)
    for (auto& [socket, list] : by_socket)
      if (round < list.size()) out.push_back(std::move(list[round]));
  return out;
}

// As many units for each task as hold its CPUs, in turn; more tasks than units begin again.
std::vector<Cpus> deal(const std::vector<Cpus>& units, const BindRequest& request) {
  std::vector<Cpus> out(request.tasks);
  if (units.empty()) return out;
  const std::size_t in_unit = std::max<std::size_t>(units.front().size(), 1);
  const std::size_t need =
      std::min((std::max<std::size_t>(request.cpus_per_task, 1) + in_unit - 1) / in_unit, units.size());
  for (std::size_t task = 0; task < out.size(); ++task) {
    for (std::size_t i = 0; i < need; ++i) {
      const Cpus& unit = units[(task * need + i) % units.size()];
      out[task].insert(out[task].end(), unit.begin(), unit.end());
    }
    std::ranges::sort(out[task]);
  }
  return out;
}

// Slurm's choice where nothing was asked: the unit that the tasks fill exactly, if there is one.
Result<std::vector<Cpus>> bind_automatically(const BindRequest& request) {
  const std::size_t wanted = std::size_t{request.tasks} * std::max(request.cpus_per_task, 1u);
  for (const Unit unit : {Unit::socket, Unit::core, Unit::thread}) {
    const auto units = units_of(request, unit);
    if (units.size() != wanted) continue;
    BindRequest each = request;
    if (unit != Unit::thread)
      each.cpus_per_task =
          static_cast<std::uint32_t>(std::max<std::size_t>(request.cpus_per_task, 1) * units.front().size());
    return deal(units, each);
  }
  return std::vector<Cpus>(request.tasks);
}

std::unexpected<Error> cannot_bind() { return fail(Errc::refused, "Unable to satisfy cpu bind request"); }

// What is asked for by number, as far as it is ours.
Result<std::vector<Cpus>> bind_by_list(const CpuBind& bind, const BindRequest& request) {
  const bool by_domain = bind.kind == BindKind::map_ldom || bind.kind == BindKind::mask_ldom;
  const std::size_t entries = bind.list.empty() ? bind.masks.size() : bind.list.size();
  const auto is_asked = [&](std::size_t entry, std::uint32_t number) {
    if (!bind.list.empty()) return bind.list[entry] == number;
    const auto& words = bind.masks[entry];
    return number / 64 < words.size() && (words[number / 64] >> (number % 64) & 1) != 0;
  };
  std::vector<Cpus> out(request.tasks);
  for (std::size_t task = 0; task < out.size(); ++task) {
    for (const CpuPlace& place : request.places)
      if (is_asked(task % entries, by_domain ? place.memory_node : place.cpu)) out[task].push_back(place.cpu);
    if (out[task].empty()) return cannot_bind();
    std::ranges::sort(out[task]);
  }
  return out;
}

}  // namespace

Result<std::vector<Cpus>> bind_tasks(const CpuBind& bind, const BindRequest& request) {
  if (request.places.empty()) return std::vector<Cpus>(request.tasks);
  switch (bind.kind) {
    case BindKind::unset:
      return bind_automatically(request);
    case BindKind::none:
      return std::vector<Cpus>(request.tasks);
    case BindKind::threads:
    case BindKind::rank:
      return deal(units_of(request, Unit::thread), request);
    case BindKind::cores:
      return deal(units_of(request, Unit::core), request);
    case BindKind::sockets:
      return deal(units_of(request, Unit::socket), request);
    case BindKind::ldoms:
    case BindKind::rank_ldom:
      return deal(units_of(request, Unit::ldom), request);
    case BindKind::map_cpu:
    case BindKind::mask_cpu:
    case BindKind::map_ldom:
    case BindKind::mask_ldom:
      return bind_by_list(bind, request);
  }
  return std::vector<Cpus>(request.tasks);
}

std::string format_mask(const Cpus& cpus) {
  if (cpus.empty()) return "0x0";
  std::string digits(*std::ranges::max_element(cpus) / 4 + 1, '0');
  for (const std::uint32_t cpu : cpus) {
    char& digit = digits[digits.size() - 1 - cpu / 4];
    const int value = (digit >= 'a' ? digit - 'a' + 10 : digit - '0') | 1 << (cpu % 4);
    digit = static_cast<char>(value < 10 ? '0' + value : 'a' + value - 10);
  }
  return "0x" + digits;
}

void add_binding(Environment& environment, const CpuBind& bind, const std::vector<Cpus>& tasks) {
  const std::string loudness = bind.verbose ? "verbose" : "quiet";
  std::string list;
  for (const Cpus& cpus : tasks)
    if (!cpus.empty()) list += (list.empty() ? "" : ",") + format_mask(cpus);
  const std::string type = list.empty() ? "none" : "mask_cpu:";
  environment.set("SLURM_CPU_BIND", loudness + "," + type + list);
  environment.set("SLURM_CPU_BIND_VERBOSE", loudness);
  environment.set("SLURM_CPU_BIND_TYPE", type);
  environment.set("SLURM_CPU_BIND_LIST", list);
}

std::uint64_t memory_nodes_of(const MemoryBind& bind, std::uint32_t local_rank, const Cpus& cpus,
                              const std::vector<CpuPlace>& places) {
  std::uint64_t near = 0;
  for (const CpuPlace& place : places) {
    if (place.memory_node >= 64) continue;
    if (cpus.empty() || std::ranges::find(cpus, place.cpu) != cpus.end()) near |= 1ULL << place.memory_node;
  }
  switch (bind.kind) {
    case MemoryBindKind::unset:
    case MemoryBindKind::none:
      return 0;
    case MemoryBindKind::local:
      return near;
    case MemoryBindKind::rank:
      return 1ULL << (local_rank % 64);
    case MemoryBindKind::map:
      return 1ULL << (bind.list[local_rank % bind.list.size()] % 64);
    case MemoryBindKind::mask:
      return bind.masks[local_rank % bind.masks.size()];
  }
  return 0;
}

}  // namespace millrace
