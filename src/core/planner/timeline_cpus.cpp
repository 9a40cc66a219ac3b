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

void add_step(std::vector<Profile::Step>& taken, Time at, const Amounts& amounts, bool give) {
  if (at == never) return;
  Amounts change;
  give ? change -= amounts : change += amounts;
  taken.push_back({at, change});
}

void add_span(std::vector<Profile::Step>& taken, Time until, const Amounts& amounts, bool give) {
  add_step(taken, since_ever, amounts, give);
  add_step(taken, until, amounts, !give);
}

}  // namespace

// Each holder for itself, as where nobody overlaps: undoes count_overlaps_once.
void Timeline::count_each_apart(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.counted_once.empty()) return;
  std::vector<Profile::Step> taken;
  for (const auto& [until, cpus] : std::exchange(slot.counted_once, {})) add_span(taken, until, only_cpus(cpus), true);
  for (const CpuView::Holder& each : holders_there(index))
    if (!each.holder.bits.empty()) add_span(taken, each.until, only_cpus(each.holder.cpus), false);
  slot.base.take_all(std::move(taken));
}

// A CPU with several holders is taken once, until the last of them is gone. Done for each node when all its jobs are
// known to the next pass: for each of them it would take the square of their number.
void Timeline::count_overlaps_once() {
  std::ranges::sort(counted_apart_);
  counted_apart_.erase(std::unique(counted_apart_.begin(), counted_apart_.end()), counted_apart_.end());
  for (const std::uint32_t index : std::exchange(counted_apart_, {})) {
    Slot& slot = slots_[index];
    if (slot.overlapping == 0 || !slot.counted_once.empty()) continue;
    std::vector<Profile::Step> taken;
    std::vector<CpuView::Holder> holders = holders_there(index);
    for (const CpuView::Holder& each : holders)
      if (!each.holder.bits.empty()) add_span(taken, each.until, only_cpus(each.holder.cpus), true);
    std::map<Time, std::int64_t> until;
    const CpuView here(static_cast<std::size_t>(slot.def->cpus.value), std::move(holders));
    for (const Time time : here.taken())
      if (time > since_ever) ++until[time];
    for (const auto& [time, cpus] : until) {
      add_span(taken, time, only_cpus(cpus), false);
      slot.counted_once.emplace_back(time, cpus);
    }
    slot.base.take_all(std::move(taken));
    refresh(index);
  }
}

std::vector<CpuView::Holder> Timeline::holders_there(std::uint32_t index) const {
  std::vector<CpuView::Holder> out;
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

CpuView& Timeline::view(std::uint32_t index) {
  if (const auto known = views_.find(index); known != views_.end()) return known->second;
  CpuView made(static_cast<std::size_t>(slots_[index].def->cpus.value), holders_there(index));
  if (const auto placed = placed_.find(index); placed != placed_.end())
    for (const CpuView::Holder& each : placed->second) made.add(each);
  steps_ += made.take_steps();
  return views_.emplace(index, std::move(made)).first->second;
}

CpuView& Timeline::open_view(std::uint32_t index) {
  CpuView& here = view(index);
  if (here.is_open()) return here;
  here.open(*state_, asker_);
  open_views_.push_back(index);
  return here;
}

void Timeline::change_laid(std::uint32_t index, std::vector<Profile::Step> taken) {
  if (taken.empty()) return;
  Profile& laid = touch(index).laid;
  steps_ += static_cast<std::int64_t>(taken.size() + laid.steps().size() / steps_at_once);
  laid.take_all(std::move(taken));
  refresh(index);
}

void Timeline::change_cpus(std::uint32_t index, const CpuView::Changes& changes) {
  std::vector<Profile::Step> taken;
  for (const auto& [at, cpus] : changes)
    if (cpus != 0) taken.push_back({at, only_cpus(-cpus)});
  change_laid(index, std::move(taken));
}

bool Timeline::is_special(std::uint32_t index) const {
  if (slots_[index].overlapping > 0) return true;
  const auto placed = placed_.find(index);
  return placed != placed_.end() &&
         std::ranges::any_of(placed->second, [](const CpuView::Holder& each) { return each.holder.shared; });
}

void Timeline::open_cpus(std::uint32_t row, std::span<const JobKey> suspends) {
  MR_ASSERT(open_views_.empty());
  asker_.row = row;
  for (const std::uint32_t index : partition_nodes_[asker_.where.value]) {
    ++steps_;
    if (is_special(index)) open_view(index);
  }
  suspend(suspends, true);
  for (const std::uint32_t index : open_views_) change_cpus(index, views_.at(index).take_changes());
}

void Timeline::suspend(std::span<const JobKey> keys, bool suspended) {
  std::vector<std::uint32_t> nodes;
  for (const JobKey key : keys)
    for (const NodeShare& share : active_.at(key).job->placement->shares) {
      open_view(share.node.value).suspend(key, suspended);
      nodes.push_back(share.node.value);
    }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const std::uint32_t index : nodes) {
    CpuView& here = views_.at(index);
    steps_ += here.take_steps();
    change_cpus(index, here.take_changes());
  }
}

void Timeline::close_cpus() {
  for (const std::uint32_t index : std::exchange(open_views_, {})) {
    CpuView& here = views_.at(index);
    steps_ += here.take_steps();
    change_cpus(index, here.close());
  }
  asker_.row = 1;
}

void Timeline::imagine_gone(std::span<const Job* const> jobs, bool gone) {
  std::map<std::uint32_t, std::vector<Profile::Step>> taken;  // by node
  for (const Job* job : jobs) {
    const Active& active = active_.at(job->key);
    for (const NodeShare& share : active.job->placement->shares) {
      ++steps_;
      if (share.released) continue;
      const Amounts kept = kept_by(*active.job, share);
      add_span(taken[share.node.value], active.release, kept, gone);
      caps_.change_laid(active.job->spec->partition, share.node, since_ever, active.release, kept.cpus, gone);
    }
  }
  for (auto& [index, steps] : taken) change_laid(index, std::move(steps));
}

NodeUse Timeline::use_of(std::uint32_t index) {
  const auto used = uses_.find(index);
  NodeUse use = used == uses_.end() ? state_->node(NodeIndex{index}).use : used->second;
  const auto known = views_.find(index);
  if (known != views_.end() && known->second.is_open()) {
    use.cpus = known->second.closed(asker_.row);
    steps_ += slots_[index].def->cpus.value / static_cast<std::int64_t>(steps_at_once);
  } else if (is_special(index)) {
    std::vector<CpuHolder> holders;
    for (const CpuView::Holder& each : view(index).holders()) holders.push_back(each.holder);
    steps_ += static_cast<std::int64_t>(holders.size());
    use.cpus = closed_cpus(*state_, *slots_[index].def, holders, asker_).bits;
  }
  return use;
}

void Timeline::unplace(const NodeShare& share, PartitionIndex partition, Time until) {
  const std::uint32_t index = share.node.value;
  const bool has_bits = !placed_[index].back().holder.bits.empty();
  placed_[index].pop_back();
  CpuView::Changes changes;
  if (const auto known = views_.find(index); known != views_.end()) changes = known->second.remove_last();
  if (!has_bits || !is_special(index)) return give({share}, partition, since_ever, until);
  change_cpus(index, changes);
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
    const bool overlaps = shared || !open_views_.empty() || is_special(index);
    CpuView::Holder holder{{nullptr, cpus_of(*slot.def, exact), share.cpus.value, shape.partition, shared, false},
                           until};
    if (!overlaps || holder.holder.bits.empty()) {
      take({share}, shape.partition, since_ever, until);
      if (const auto known = views_.find(index); known != views_.end()) known->second.add(holder);
    } else {
      NodeShare rest = share;
      rest.cpus = Cpus{0};
      take({rest}, shape.partition, since_ever, until);
      lay_cap(shape.partition, share, since_ever, until, false);
      change_cpus(index, view(index).add(holder));
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
