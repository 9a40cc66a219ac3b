// src/core/planner/timeline_cpus.cpp - the part of a timeline that knows CPUs one by one: where jobs share them or want
// them back.
#include <algorithm>
#include <utility>

#include "core/ledger/sharing.h"
#include "core/model/assign.h"
#include "core/planner/timeline.h"

namespace millrace {
namespace {

constexpr Time since_ever{INT64_MIN};

Amounts only_cpus(std::int64_t cpus) { return {cpus, 0, {}}; }

bool has_bit(const CpuBits& bits, std::size_t i) { return i / 64 < bits.size() && (bits[i / 64] >> (i % 64) & 1) != 0; }

}  // namespace

// Each holder for itself, as where nobody overlaps: undoes count_overlaps_once.
void Timeline::count_each_apart(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.counted_once.empty()) return;
  for (const auto& [until, cpus] : std::exchange(slot.counted_once, {}))
    slot.base.give(since_ever, until, only_cpus(cpus));
  for (const PlannedHolder& each : holders_there(index))
    if (!each.holder.bits.empty()) slot.base.take(since_ever, each.until, only_cpus(each.holder.cpus));
}

// A CPU with several holders is taken once, until the last of them is gone.
void Timeline::count_overlaps_once(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.overlapping == 0 || !slot.counted_once.empty()) return;
  const std::vector<PlannedHolder> holders = holders_there(index);
  for (const PlannedHolder& each : holders)
    if (!each.holder.bits.empty()) slot.base.give(since_ever, each.until, only_cpus(each.holder.cpus));
  std::map<Time, std::int64_t> until;
  for (const Time time : taken_until(index, holders, nullptr))
    if (time > since_ever) ++until[time];
  for (const auto& [time, cpus] : until) {
    slot.base.take(since_ever, time, only_cpus(cpus));
    slot.counted_once.emplace_back(time, cpus);
  }
}

std::vector<Timeline::PlannedHolder> Timeline::holders_there(std::uint32_t index) const {
  std::vector<PlannedHolder> out;
  const NodeDef& def = *slots_[index].def;
  for (const JobKey key : slots_[index].holders) {
    const auto it = active_.find(key);
    if (it == active_.end()) continue;
    const Job& job = *it->second.job;
    if (!job.holds_cpus() && !job.wants_cpus_back()) continue;
    for (const NodeShare& share : job.placement->shares)
      if (share.node.value == index && !share.released)
        out.push_back({{&job, cpus_of(def, share), share.cpus.value, job.spec->partition, job.placement->shared,
                        !job.holds_cpus()},
                       it->second.release});
  }
  return out;
}

std::vector<Timeline::PlannedHolder> Timeline::holders_on(std::uint32_t index) const {
  std::vector<PlannedHolder> out = holders_there(index);
  if (const auto placed = placed_.find(index); placed != placed_.end())
    out.insert(out.end(), placed->second.begin(), placed->second.end());
  return out;
}

std::vector<Time> Timeline::taken_until(std::uint32_t index, const std::vector<PlannedHolder>& holders,
                                        const CpuAsker* asker) const {
  const auto cpus = static_cast<std::size_t>(slots_[index].def->cpus.value);
  std::vector<Time> out(cpus, since_ever);
  std::vector<std::vector<Time>> beside(asker && asker->row > 1 ? cpus : 0);
  for (const PlannedHolder& each : holders) {
    const Standing stands = asker ? standing(*state_, each.holder, *asker) : Standing::in_the_way;
    for (std::size_t i = 0; i < cpus && stands != Standing::gives_way; ++i) {
      if (!has_bit(each.holder.bits, i)) continue;
      if (stands == Standing::in_the_way)
        out[i] = std::max(out[i], each.until);
      else
        beside[i].push_back(each.until);
    }
  }
  // The row-th last of those it shares with must go first.
  for (std::size_t i = 0; i < beside.size(); ++i) {
    if (beside[i].size() < asker->row) continue;
    std::ranges::sort(beside[i], std::greater<>{});
    out[i] = std::max(out[i], beside[i][asker->row - 1]);
  }
  return out;
}

void Timeline::change_cpus(std::uint32_t index, const std::vector<Time>& before, const std::vector<Time>& after,
                           std::vector<Opened>* record) {
  std::map<std::pair<Time, Time>, std::int64_t> changes;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i]) ++changes[{before[i], after[i]}];
  if (changes.empty()) return;
  Profile& laid = touch(index).laid;
  for (const auto& [times, cpus] : changes) {
    const auto [was, is] = times;
    if (is < was)
      laid.give(is, was, only_cpus(cpus));
    else
      laid.take(was, is, only_cpus(cpus));
    if (record) record->push_back({index, std::min(was, is), std::max(was, is), is < was ? cpus : -cpus});
  }
  refresh(index);
}

bool Timeline::is_special(std::uint32_t index) const {
  if (slots_[index].overlapping > 0) return true;
  const auto placed = placed_.find(index);
  return placed != placed_.end() &&
         std::ranges::any_of(placed->second, [](const PlannedHolder& each) { return each.holder.shared; });
}

void Timeline::open_cpus(std::uint32_t row, std::span<const JobKey> suspends) {
  MR_ASSERT(opened_.empty());
  asker_.row = row;
  suspends_.assign(suspends.begin(), suspends.end());
  asker_.suspends = suspends_;
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t index : partition_nodes_[asker_.where.value])
    if (is_special(index)) nodes.push_back(index);
  for (const JobKey key : suspends_)
    for (const NodeShare& share : active_.at(key).job->placement->shares) nodes.push_back(share.node.value);
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const std::uint32_t index : nodes) {
    const std::vector<PlannedHolder> holders = holders_on(index);
    change_cpus(index, taken_until(index, holders, nullptr), taken_until(index, holders, &asker_), &opened_);
  }
}

void Timeline::close_cpus() {
  for (const Opened& each : std::exchange(opened_, {})) {
    touch(each.node).laid.take(each.from, each.until, only_cpus(each.cpus));
    refresh(each.node);
  }
  asker_.row = 1;
  asker_.suspends = {};
}

NodeUse Timeline::use_of(std::uint32_t index) const {
  const auto used = uses_.find(index);
  NodeUse use = used == uses_.end() ? state_->node(NodeIndex{index}).use : used->second;
  if (!is_special(index) && asker_.suspends.empty()) return use;
  std::vector<CpuHolder> holders;
  for (PlannedHolder& each : holders_on(index)) holders.push_back(std::move(each.holder));
  use.cpus = closed_cpus(*state_, *slots_[index].def, holders, asker_).bits;
  return use;
}

void Timeline::unplace(const NodeShare& share, PartitionIndex partition, Time until) {
  const std::uint32_t index = share.node.value;
  const std::vector<Time> with = taken_until(index, holders_on(index), nullptr);
  const bool has_bits = !placed_[index].back().holder.bits.empty();
  placed_[index].pop_back();
  if (!has_bits || !is_special(index)) return give({share}, partition, since_ever, until);
  change_cpus(index, with, taken_until(index, holders_on(index), nullptr), nullptr);
  NodeShare rest = share;
  rest.cpus = Cpus{0};
  give({rest}, partition, since_ever, until);
  lay_cap(partition, share, since_ever, until, true);
}

void Timeline::place(const Shape& shape, const std::vector<NodeShare>& shares, Time until) {
  const JobSpec& spec = *shape.spec;
  const bool shared = rows_of(*state_, *asker_.job, shape.partition) > 1;
  for (const NodeShare& share : shares) {
    const std::uint32_t index = share.node.value;
    Slot& slot = touch(index);
    const std::uint32_t user = asker_.job->spec->owner->uid.value + 1;
    slot.placed_for = slot.placed_for == 0 || slot.placed_for == user ? user : unlimited;
    slot.placed_exclusive = slot.placed_exclusive || shape.exclusive_user;
    std::optional<ShareDetail> detail;
    // As admission does it: where the fewest are.
    for (const std::uint32_t rows = std::exchange(asker_.row, 1); asker_.row <= rows; ++asker_.row) {
      if (!detail && (is_assigned(*slot.def) || shared))
        detail = assign(spec, *slot.def, use_of(index), share.amounts(), rules_);
      if (asker_.row == rows) break;
    }
    NodeShare exact = share;
    if (detail) exact.detail = SharedValue(*std::move(detail));  // otherwise admission will say so
    const bool overlaps = shared || !opened_.empty() || is_special(index);
    PlannedHolder holder{{nullptr, cpus_of(*slot.def, exact), share.cpus.value, shape.partition, shared, false}, until};
    if (!overlaps || holder.holder.bits.empty()) {
      take({share}, shape.partition, since_ever, until);
    } else {
      const std::vector<Time> before = taken_until(index, holders_on(index), nullptr);
      NodeShare rest = share;
      rest.cpus = Cpus{0};
      take({rest}, shape.partition, since_ever, until);
      lay_cap(shape.partition, share, since_ever, until, false);
      placed_[index].push_back(holder);
      change_cpus(index, before, taken_until(index, holders_on(index), nullptr), nullptr);
      placed_[index].pop_back();
      slot.lowest = {};  // what is open now hides what is free: looked at again in any case
    }
    placed_[index].push_back(std::move(holder));
    if (!exact.detail) continue;
    NodeUse& use = uses_.try_emplace(index, state_->node(share.node).use).first->second;
    add_cpus(use, exact);
    add_devices(use, *slot.def, exact);
  }
}

std::int64_t Timeline::free_cpus_at(PartitionIndex partition, Time at) {
  std::int64_t free = 0;
  for (const std::uint32_t index : partition_nodes_[partition.value]) {
    ++steps_;
    if (slots_[index].usable) free += std::max<std::int64_t>(profile(index).least(at, at + microseconds(1)).cpus, 0);
  }
  return free;
}

}  // namespace millrace
