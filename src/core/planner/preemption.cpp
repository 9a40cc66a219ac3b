// src/core/planner/preemption.cpp - the part of a pass that makes running jobs go for waiting ones.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/ledger/preempt_rule.h"
#include "core/planner/pass.h"

namespace millrace {

constexpr Time since_ever{INT64_MIN};
// Of those that could be suspended for a job, so many are tried in vain whether it can do without them.
constexpr std::size_t tries_in_vain = 64;

namespace {

// Who goes first: the lowest tier, then the lowest priority, then the one that ran the shortest.
void sort_by_worth(const State& state, std::vector<const Job*>& jobs) {
  std::ranges::sort(jobs, {}, [&](const Job* job) {
    return std::tuple{state.partition(job->spec->partition).def.priority_tier, job->priority, -job->started_at.value,
                      job->key};
  });
}

// The least number of the first so many with which it fits; more than there are: never. Looked for among few first,
// since whoever waits seldom needs many.
template <class Fits>
std::size_t fewest(std::size_t most, Fits fits) {
  std::size_t low = 0, high = std::min<std::size_t>(most, 8);
  for (; !fits(high); high = std::min(most, high * 4)) {
    low = high + 1;
    if (high == most) return low;
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (fits(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

}  // namespace

// Of these, on each node as few as make room for the share.
std::vector<const Job*> Pass::victims_for(const std::vector<NodeShare>& shares, const std::vector<const Job*>& able) {
  std::map<std::uint32_t, std::vector<std::pair<std::size_t, Amounts>>> there;  // by node: who of them holds what
  for (const NodeShare& share : shares) there[share.node.value];
  for (std::size_t i = 0; i < able.size(); ++i)
    for (const NodeShare& held : able[i]->placement->shares) {
      ++tried_;
      const auto node = held.released ? there.end() : there.find(held.node.value);
      if (node != there.end()) node->second.emplace_back(i, held.amounts());
    }
  std::vector<const Job*> chosen;
  std::vector<char> is_chosen(able.size());
  for (const NodeShare& share : shares) {
    Amounts free = memo_->timeline().free_now(share.node);
    for (const auto& [i, held] : there[share.node.value])
      if (is_chosen[i]) free += held;
    for (const auto& [i, held] : there[share.node.value]) {
      if (covers(free, share.amounts())) break;
      if (is_chosen[i] || held == Amounts{}) continue;
      is_chosen[i] = 1;
      chosen.push_back(able[i]);
      free += held;
    }
  }
  return chosen;
}

// Asked anew for each waiting job, the running ones would be looked at as often as jobs wait.
Pass::Yielding& Pass::yielding_to(const Wanting& wanting) {
  const State& state = memo_->state();
  const auto [known, fresh] = yielding_.try_emplace({wanting.job->qos.value, wanting.partition.value});
  Yielding& out = known->second;
  if (fresh) {
    tried_ += static_cast<std::int64_t>(state.active.size());
    for (const auto& [key, nothing] : state.active) {
      const Job& job = state.job(key);
      if (is_yielding(job)) {
        out.going.push_back(key);
      } else if (const auto yield = must_yield_whole(state, job, *wanting.job, wanting.partition, plan_.made_at)) {
        (yield->mode == PreemptMode::suspend ? out.by_suspension : out.by_end).push_back(&job);
      }
    }
    sort_by_worth(state, out.by_suspension);
    sort_by_worth(state, out.by_end);
  }
  tried_ += static_cast<std::int64_t>(out.by_suspension.size() + out.by_end.size());
  std::erase_if(out.by_suspension, [&](const Job* job) { return told_to_go_.contains(job->key); });
  std::erase_if(out.by_end, [&](const Job* job) { return told_to_go_.contains(job->key); });
  return out;
}

// As few of the first as it can do with; of those on its nodes each that is not needed after all stays.
std::optional<std::vector<const Job*>> Pass::needed_of(const QueueEntry& entry, Shape& shape,
                                                       std::vector<const Job*> able) {
  Timeline& timeline = memo_->timeline();
  const State& state = memo_->state();
  const std::uint32_t rows = rows_of(state, *entry.job, entry.partition);
  std::vector<JobKey> before, keys;
  tried_ += static_cast<std::int64_t>(suspended_.size());
  for (const JobKey key : suspended_)
    if (gives_way(state, state.job(key), *entry.job, entry.partition)) before.push_back(key);
  for (const Job* job : able) keys.push_back(job->key);
  timeline.open_cpus(rows, before);
  std::size_t gone = 0;
  const std::size_t count = fewest(able.size(), [&](std::size_t first) {
    if (first > gone) timeline.suspend(std::span{keys}.subspan(gone, first - gone), true);
    if (first < gone) timeline.suspend(std::span{keys}.subspan(first, gone - first), false);
    gone = first;
    return fits_in_open_cpus(entry, shape);
  });
  timeline.close_cpus();
  if (count > able.size()) return std::nullopt;
  able.resize(count);
  keys.assign(suspended_.begin(), suspended_.end());
  for (const Job* job : able) keys.push_back(job->key);
  const auto shares = fit_by_rows(entry, shape, keys);
  if (!shares) return std::nullopt;
  std::set<NodeIndex> nodes;
  for (const NodeShare& share : *shares) nodes.insert(share.node);
  std::erase_if(able, [&](const Job* job) {
    return std::ranges::none_of(job->placement->shares, [&](const NodeShare& share) {
      return !share.released && nodes.contains(share.node) && share.amounts() != Amounts{};
    });
  });
  keys.clear();
  for (const Job* job : able) keys.push_back(job->key);
  timeline.open_cpus(rows, before);
  timeline.suspend(keys, true);
  // From the last on, many at once where those behind them were not needed. Whoever is suspended for nothing goes on.
  std::size_t block = 1;
  for (std::size_t end = keys.size(), in_vain = 0; end > 0 && in_vain < tries_in_vain;) {
    block = std::min(block, end);
    const auto some = std::span{keys}.subspan(end - block, block);
    timeline.suspend(some, false);
    if (fits_in_open_cpus(entry, shape)) {
      able.erase(able.begin() + static_cast<std::ptrdiff_t>(end - block),
                 able.begin() + static_cast<std::ptrdiff_t>(end));
      end -= block;
      block *= 2;
      continue;
    }
    timeline.suspend(some, true);
    ++in_vain;
    if (block == 1) --end;
    block = std::max<std::size_t>(block / 2, 1);
  }
  timeline.close_cpus();
  return able;
}

// A job is suspended at the moment when the one it makes room for starts, never before: otherwise it would find its
// CPUs free and go on.
bool Pass::suspend_others(const QueueEntry& entry, Shape& shape) {
  const State& state = memo_->state();
  if (!state.policy->gang || plus(plan_.made_at, entry.span) > shape.window_end) return false;
  const Kind kind{entry.shape, entry.job->qos.value};
  const auto in_vain = suspended_in_vain_.find(kind);
  if (in_vain != suspended_in_vain_.end() && entry.span >= in_vain->second) return false;
  std::vector<const Job*> able = yielding_to({entry.job, entry.partition}).by_suspension;
  std::erase_if(able, [&](const Job* job) { return suspended_.contains(job->key); });
  if (able.empty()) return false;
  const auto needed = needed_of(entry, shape, std::move(able));
  if (!needed) {
    if (!shape.alone && !settings_.promises) suspended_in_vain_[kind] = entry.span;
    return false;
  }
  std::vector<JobKey> keys(suspended_.begin(), suspended_.end());
  for (const Job* job : *needed) keys.push_back(job->key);
  auto shares = fit_by_rows(entry, shape, keys);
  if (!shares || !take_limits(entry, *shares)) return false;
  for (const Job* job : *needed) {
    suspended_.insert(job->key);
    plan_.preemptions.push_back(
        {job->key, job->attempt, entry.job->key, entry.partition, true, plan_.placements.size()});
  }
  claims_give_way_.clear();
  failed_by_rows_.clear();
  suspended_in_vain_.clear();
  note_start_by_rows(entry, shape, *std::move(shares));
  return true;
}

// The last shares that `fit` found are those there will be room for.
std::optional<std::vector<NodeShare>> Pass::make_room(std::span<const Wanting> wanting, const Fitter& fit) {
  const State& state = memo_->state();
  Timeline& timeline = memo_->timeline();
  std::vector<const Job*> able, going;
  std::map<JobKey, Wanting> for_whom;
  std::vector<JobKey> suspended;
  const bool alone = wanting.size() == 1 && !wanting.front().job->het;  // components suspend nobody
  for (const Wanting& each : wanting) {
    const Yielding& yielding = yielding_to(each);
    if (&each == &wanting.front())
      for (const JobKey key : yielding.going)
        if (!told_to_go_.contains(key)) going.push_back(&state.job(key));
    if (alone)
      for (const Job* job : yielding.by_suspension) suspended.push_back(job->key);
    for (const Job* job : yielding.by_end)
      if (wanting.size() == 1 || for_whom.emplace(job->key, each).second) able.push_back(job);
  }
  // What those told to go for someone before us leave over is there for us: he has taken what he needs of it.
  for (const JobKey key : told_to_go_)
    if (const Job& job = state.job(key); job.is_on_nodes()) going.push_back(&job);
  if (wanting.size() > 1) sort_by_worth(state, able);
  // Those on their way out count as gone, and those it could suspend as suspended, which they will be when it starts;
  // of the others as few of the worthiest as possible.
  if (able.empty() && going.empty()) return std::nullopt;
  if (alone) timeline.open_cpus(rows_of(state, *wanting.front().job, wanting.front().partition), suspended);
  timeline.imagine_gone(going, true);
  std::optional<std::vector<NodeShare>> shares;
  std::size_t gone = 0;
  const auto imagine = [&](std::size_t first) {
    if (first > gone) timeline.imagine_gone(std::span{able}.subspan(gone, first - gone), true);
    if (first < gone) timeline.imagine_gone(std::span{able}.subspan(first, gone - first), false);
    gone = first;
  };
  const std::size_t count = fewest(able.size(), [&](std::size_t first) {
    imagine(first);
    auto found = fit();
    if (found) shares = std::move(found);
    return found.has_value();
  });
  imagine(0);
  able.resize(std::min(count, able.size()));
  const std::vector<const Job*> victims = shares ? victims_for(*shares, able) : std::vector<const Job*>{};
  timeline.imagine_gone(going, false);
  if (alone) timeline.close_cpus();
  for (const Job* job : victims) {
    if (told_to_go_.contains(job->key)) continue;  // with another of its components
    for (const JobKey each : whole_of(*job)) told_to_go_.insert(each);
    const Wanting& by = wanting.size() == 1 ? wanting.front() : for_whom.at(job->key);
    plan_.preemptions.push_back({job->key, job->attempt, by.job->key, by.partition});
  }
  return shares;
}

void Pass::take_until(const std::vector<NodeShare>& shares, PartitionIndex partition, Time until) {
  memo_->timeline().take(shares, partition, since_ever, until);
}

bool Pass::preempt(const QueueEntry& entry, Shape& shape) {
  if (!preempts_) return false;
  const Kind kind{entry.shape, entry.job->qos.value};
  if (preempt_in_vain_.contains(kind)) return false;
  const Wanting wanting{entry.job, entry.partition};
  auto shares = make_room({&wanting, 1}, [&] {
    bool ignored = false;
    const std::size_t cursor = std::exchange(shape.cursor, 0);  // counted with them there
    auto found = memo_->timeline().fit(shape, plan_.made_at, entry.span, true, ignored);
    shape.cursor = cursor;
    return found;
  });
  if (!shares) {
    preempt_in_vain_.insert(kind);
    return false;
  }
  // Whoever comes later finds the nodes taken.
  take_until(*shares, entry.partition, plus(plan_.made_at, entry.span));
  plan_.findings.push_back(
      {entry.job->key, Reason::resources, plan_.made_at + seconds(1), *std::move(shares), entry.partition});
  blocked_[entry.partition.value] = 1;
  return true;
}

}  // namespace millrace
