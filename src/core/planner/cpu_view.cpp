// src/core/planner/cpu_view.cpp - see cpu_view.h.
#include "core/planner/cpu_view.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace millrace {
namespace {

constexpr Time since_ever{INT64_MIN};

template <class Do>
void for_each_bit(const CpuBits& bits, std::size_t most, Do each) {
  for (std::size_t word = 0; word < bits.size(); ++word)
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1) {
      const std::size_t i = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
      if (i < most) each(i);
    }
}

// A CPU that was free from one time on is free from another.
void note(CpuView::Changes& changes, Time was, Time is) {
  if (was == is) return;
  if (is != never) ++changes[is];
  if (was != never) --changes[was];
}

}  // namespace

CpuView::CpuView(std::size_t cpus, std::vector<Holder> there)
    : holders_(std::move(there)), there_(holders_.size()), heads_(cpus, none), taken_(cpus, since_ever) {
  for (std::uint32_t i = 0; i < holders_.size(); ++i) {
    link(i);
    for_each_bit(holders_[i].holder.bits, taken_.size(),
                 [&](std::size_t cpu) { taken_[cpu] = std::max(taken_[cpu], holders_[i].until); });
  }
}

void CpuView::link(std::uint32_t index) {
  ++steps_;
  for_each_bit(holders_[index].holder.bits, heads_.size(), [&](std::size_t cpu) {
    links_.push_back({index, heads_[cpu]});
    heads_[cpu] = static_cast<std::uint32_t>(links_.size() - 1);
    ++steps_;
  });
}

Time CpuView::taken_for_all(std::size_t cpu) const {
  Time out = since_ever;
  for (std::uint32_t at = heads_[cpu]; at != none; at = links_[at].next)
    out = std::max(out, holders_[links_[at].holder].until);
  return out;
}

// Of those it shares with the row-th last must go first.
Time CpuView::taken_for_asker(std::size_t cpu, std::uint32_t row) const {
  Time out = since_ever;
  std::vector<Time> beside;
  for (std::uint32_t at = heads_[cpu]; at != none; at = links_[at].next) {
    const std::uint32_t holder = links_[at].holder;
    if (stands_[holder] == Standing::in_the_way) out = std::max(out, holders_[holder].until);
    if (stands_[holder] == Standing::beside) beside.push_back(holders_[holder].until);
  }
  if (beside.size() < row) return out;
  std::ranges::sort(beside, std::greater<>{});
  return std::max(out, beside[row - 1]);
}

CpuView::Changes CpuView::add(Holder holder) {
  Changes changes;
  holders_.push_back(std::move(holder));
  const auto index = static_cast<std::uint32_t>(holders_.size() - 1);
  const Holder& added = holders_.back();
  link(index);
  if (open_) {
    const bool beside = row_ > 1 && added.holder.shared && added.holder.partition == where_;
    plain_.push_back(beside ? Standing::beside : Standing::in_the_way);
    stands_.push_back(plain_.back());
  }
  for_each_bit(added.holder.bits, taken_.size(), [&](std::size_t cpu) {
    const Time was = std::exchange(taken_[cpu], std::max(taken_[cpu], added.until));
    note(changes, was, taken_[cpu]);
    if (open_) asked_[cpu] = taken_for_asker(cpu, row_);  // no change: what is taken is laid for everybody
  });
  return changes;
}

CpuView::Changes CpuView::remove_last() {
  MR_ASSERT(holders_.size() > there_ && !open_);
  Changes changes;
  const Holder gone = std::move(holders_.back());
  holders_.pop_back();
  for_each_bit(gone.holder.bits, taken_.size(), [&](std::size_t cpu) {
    heads_[cpu] = links_[heads_[cpu]].next;
    const Time was = std::exchange(taken_[cpu], taken_for_all(cpu));
    note(changes, was, taken_[cpu]);
    ++steps_;
  });
  while (!links_.empty() && links_.back().holder == holders_.size()) links_.pop_back();
  return changes;
}

void CpuView::open(const State& state, const CpuAsker& asker) {
  MR_ASSERT(!open_);
  open_ = true;
  row_ = asker.row;
  where_ = asker.where;
  asked_ = taken_;
  plain_.clear();
  for (const Holder& each : holders_) plain_.push_back(standing(state, each.holder, asker));
  stands_ = plain_;
  for (std::uint32_t i = 0; i < holders_.size(); ++i)
    if (stands_[i] != Standing::in_the_way) look_again(i);
  steps_ += static_cast<std::int64_t>(holders_.size() + taken_.size() / 64) + 1;
}

void CpuView::look_again(std::uint32_t holder) {
  for_each_bit(holders_[holder].holder.bits, asked_.size(), [&](std::size_t cpu) {
    const Time was = std::exchange(asked_[cpu], taken_for_asker(cpu, row_));
    note(fresh_, was, asked_[cpu]);
    ++steps_;
  });
}

void CpuView::suspend(JobKey key, bool suspended) {
  MR_ASSERT(open_);
  ++steps_;
  const auto end = holders_.begin() + static_cast<std::ptrdiff_t>(there_);
  const auto it =
      std::lower_bound(holders_.begin(), end, key, [](const Holder& a, JobKey b) { return a.holder.job->key < b; });
  if (it == end || it->holder.job->key != key) return;
  const auto index = static_cast<std::uint32_t>(it - holders_.begin());
  stands_[index] = suspended ? Standing::gives_way : plain_[index];
  look_again(index);
}

CpuView::Changes CpuView::take_changes() {
  for (const auto& [at, cpus] : fresh_) told_[at] += cpus;
  return std::exchange(fresh_, {});
}

CpuView::Changes CpuView::close() {
  open_ = false;
  fresh_.clear();
  Changes back = std::exchange(told_, {});
  for (auto& [at, cpus] : back) cpus = -cpus;
  return back;
}

CpuBits CpuView::closed(std::uint32_t row) const {
  CpuBits out((asked_.size() + 63) / 64);
  for (std::size_t cpu = 0; cpu < asked_.size(); ++cpu)
    if ((row == row_ ? asked_[cpu] : taken_for_asker(cpu, row)) > since_ever) out[cpu / 64] |= 1ULL << (cpu % 64);
  while (!out.empty() && out.back() == 0) out.pop_back();
  return out;
}

}  // namespace millrace
