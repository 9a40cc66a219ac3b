// src/core/model/node_use.cpp - see node_use.h.
#include "core/model/node_use.h"

#include <algorithm>
#include <bit>

namespace millrace {
namespace {

std::vector<PartUse>::iterator place_of(NodeUse& use, std::uint8_t slot, std::uint8_t device) {
  return std::ranges::lower_bound(use.parts, std::pair{slot, device}, {},
                                  [](const PartUse& p) { return std::pair{p.slot, p.device}; });
}

void change_parts(NodeUse& use, std::size_t slot, std::uint64_t device_bits, std::int64_t by) {
  const auto device = static_cast<std::uint8_t>(std::countr_zero(device_bits));
  auto it = place_of(use, static_cast<std::uint8_t>(slot), device);
  if (it == use.parts.end() || it->slot != slot || it->device != device)
    it = use.parts.insert(it, {static_cast<std::uint8_t>(slot), device, 0});
  it->count += by;
  if (it->count == 0) use.parts.erase(it);
}

bool is_part_at(const NodeDef& node, std::size_t slot) { return slot < node.kinds.size() && is_part(node.kinds[slot]); }

}  // namespace

std::int64_t count_bits(const CpuBits& bits) {
  std::int64_t count = 0;
  for (const std::uint64_t word : bits) count += std::popcount(word);
  return count;
}

void add_bits(CpuBits& to, const CpuBits& bits) {
  if (to.size() < bits.size()) to.resize(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) to[i] |= bits[i];
}

bool have_common_bits(const CpuBits& a, const CpuBits& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

CpuBits cpus_of(const NodeDef& node, const NodeShare& share) {
  if (share.detail && !share.detail->cpus.empty()) return share.detail->cpus;
  if (share.cpus < node.usable_cpus()) return {};
  CpuBits all(static_cast<std::size_t>((node.cpus.value + 63) / 64), ~0ULL);
  if (node.cpus.value % 64 != 0) all.back() = (1ULL << (node.cpus.value % 64)) - 1;
  for (std::size_t i = 0; i < node.withheld_cpus.size() && i < all.size(); ++i) all[i] &= ~node.withheld_cpus[i];
  return all;
}

bool add_cpus(NodeUse& use, const NodeShare& share) {
  if (!share.detail) return true;
  const bool fresh = !have_common_bits(use.cpus, share.detail->cpus);
  add_bits(use.cpus, share.detail->cpus);
  return fresh;
}

bool add_devices(NodeUse& use, const NodeDef& node, const NodeShare& share) {
  if (!share.detail) return true;
  const ShareDetail& detail = *share.detail;
  bool fresh = true;
  for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) {
    if (detail.devices[slot] == 0) continue;
    if (is_part_at(node, slot)) {
      change_parts(use, slot, detail.devices[slot], detail.gres[slot]);
      continue;
    }
    fresh = fresh && (use.devices[slot] & detail.devices[slot]) == 0;
    use.devices[slot] |= detail.devices[slot];
  }
  return fresh && (use.parts.empty() || (gpus_in_parts(use) & gpus_whole(use, node)) == 0);
}

bool add_use(NodeUse& use, const NodeDef& node, const NodeShare& share) {
  const bool cpus = add_cpus(use, share), devices = add_devices(use, node, share);
  return cpus && devices;
}

void remove_cpus(NodeUse& use, const CpuBits& bits) {
  for (std::size_t i = 0; i < bits.size() && i < use.cpus.size(); ++i) use.cpus[i] &= ~bits[i];
  while (!use.cpus.empty() && use.cpus.back() == 0) use.cpus.pop_back();  // equal uses look equal
}

void remove_devices(NodeUse& use, const NodeDef& node, const NodeShare& share) {
  if (!share.detail) return;
  const ShareDetail& detail = *share.detail;
  for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) {
    if (detail.devices[slot] == 0) continue;
    if (is_part_at(node, slot))
      change_parts(use, slot, detail.devices[slot], -detail.gres[slot]);
    else
      use.devices[slot] &= ~detail.devices[slot];
  }
}

std::uint32_t first_gpu_of(const NodeDef& node, std::size_t slot) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < slot && i < node.kinds.size(); ++i)
    if (node.kinds[i].name == "gpu") first += node.kinds[i].count;
  return static_cast<std::uint32_t>(first);
}

std::uint64_t gpus_in_parts(const NodeUse& use) {
  std::uint64_t bits = 0;
  for (const PartUse& part : use.parts) bits |= 1ULL << part.device;
  return bits;
}

std::uint64_t gpus_whole(const NodeUse& use, const NodeDef& node) {
  std::uint64_t bits = 0;
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot)
    if (node.kinds[slot].name == "gpu" && use.devices[slot] != 0) {
      const std::uint32_t first = first_gpu_of(node, slot);
      if (first < 64) bits |= use.devices[slot] << first;
    }
  return bits;
}

std::uint64_t gpus_out_of_order(const NodeDef& node) {
  std::uint64_t bits = 0;
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot)
    if (const std::uint32_t first = first_gpu_of(node, slot); node.kinds[slot].name == "gpu" && first < 64)
      bits |= node.kinds[slot].out_of_order << first;
  return bits;
}

Amounts free_of(const Node& node) {
  const NodeDef& def = *node.def;
  Amounts free = working_of(def);
  free -= {node.used_cpus.value, node.used_memory.value, node.used_gres};
  if (std::ranges::none_of(def.kinds, is_part)) return free;
  const std::uint64_t in_parts = gpus_in_parts(node.use), whole = gpus_whole(node.use, def);
  for (std::size_t slot = 0; slot < def.kinds.size() && slot < gres_kinds_max; ++slot) {
    const NodeGres& kind = def.kinds[slot];
    if (kind.name == "gpu") {
      const std::uint32_t first = first_gpu_of(def, slot);
      const std::uint64_t mine =
          first >= 64 ? 0 : (in_parts >> first) & (kind.count >= 64 ? ~0ULL : (1ULL << kind.count) - 1);
      free.gres[slot] -= std::popcount(mine);
    }
    for (std::size_t device = 0; device < kind.parts.size(); ++device)
      if ((whole >> device & 1) != 0) free.gres[slot] -= kind.parts[device];
  }
  return free;
}

ShareDetail moved(const ShareDetail& detail, const NodeDef& before, const NodeDef& after) {
  ShareDetail out{detail.cpus, {}, {}};
  for (std::size_t to = 0; to < after.kinds.size() && to < gres_kinds_max; ++to)
    for (std::size_t from = 0; from < before.kinds.size() && from < gres_kinds_max; ++from) {
      const NodeGres &old = before.kinds[from], &now = after.kinds[to];
      if (old.name != now.name || old.type != now.type || is_part(old) != is_part(now)) continue;
      out.devices[to] = detail.devices[from];
      out.gres[to] = detail.gres[from];
    }
  return out;
}

}  // namespace millrace
