// src/core/planner/preemption.cpp - the part of a pass that makes running jobs go for waiting ones.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/ledger/preempt_rule.h"
#include "core/planner/pass.h"

namespace millrace {

constexpr Time since_ever{INT64_MIN};

namespace {

// Who goes first: the lowest tier, then the lowest priority, then the one that ran the shortest.
void sort_by_worth(const State& state, std::vector<const Job*>& jobs) {
  std::ranges::sort(jobs, {}, [&](const Job* job) {
    return std::tuple{state.partition(job->spec->partition).def.priority_tier, job->priority, -job->started_at.value,
                      job->key};
  });
}

Amounts held_on(const Job& job, NodeIndex node) {
  for (const NodeShare& share : job.placement->shares)
    if (share.node == node && !share.released) return share.amounts();
  return {};
}

bool is_on(const Job& job, const std::vector<NodeShare>& shares) {
  return std::ranges::any_of(shares, [&](const NodeShare& share) { return held_on(job, share.node) != Amounts{}; });
}

}  // namespace

// Of these, on each node as few as make room for the share.
std::vector<const Job*> Pass::victims_for(const std::vector<NodeShare>& shares,
                                          const std::vector<const Job*>& able) const {
  std::vector<const Job*> chosen;
  for (const NodeShare& share : shares) {
    Amounts free = memo_->timeline().free_now(share.node);
    for (const Job* job : chosen) free += held_on(*job, share.node);
    for (const Job* job : able) {
      if (covers(free, share.amounts())) break;
      if (std::ranges::find(chosen, job) != chosen.end() || held_on(*job, share.node) == Amounts{}) continue;
      chosen.push_back(job);
      free += held_on(*job, share.node);
    }
  }
  return chosen;
}

// The shares if these were gone, the first so many of them only.
std::optional<std::vector<NodeShare>> Pass::fit_without(const Fitter& fit, const std::vector<const Job*>& able,
                                                        std::size_t count) {
  Timeline& timeline = memo_->timeline();
  for (std::size_t i = 0; i < count; ++i) timeline.imagine_gone(able[i]->key, true);
  auto shares = fit();
  for (std::size_t i = 0; i < count; ++i) timeline.imagine_gone(able[i]->key, false);
  return shares;
}

// A job is suspended at the moment when the one it makes room for starts, never before: otherwise it would find its
// CPUs free and go on.
bool Pass::suspend_others(const QueueEntry& entry, Shape& shape) {
  const State& state = memo_->state();
  if (!state.policy->gang || plus(plan_.made_at, entry.span) > shape.window_end) return false;
  const Kind kind{entry.shape, entry.job->qos.value};
  const auto in_vain = suspended_in_vain_.find(kind);
  if (in_vain != suspended_in_vain_.end() && entry.span >= in_vain->second) return false;
  std::vector<const Job*> able;
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    if (is_yielding(job) || told_to_go_.contains(key) || suspended_.contains(key)) continue;
    const auto yield = must_yield(state, job, *entry.job, entry.partition, plan_.made_at);
    if (yield && yield->mode == PreemptMode::suspend) able.push_back(&job);
  }
  if (able.empty()) return false;
  sort_by_worth(state, able);
  const auto fit_with = [&](std::span<const Job* const> victims) {
    std::vector<JobKey> keys(suspended_.begin(), suspended_.end());
    for (const Job* job : victims) keys.push_back(job->key);
    return fit_by_rows(entry, shape, keys);
  };
  auto shares = fit_with(able);
  if (!shares) {
    if (!shape.alone && !settings_.promises) suspended_in_vain_[kind] = entry.span;
    return false;
  }
  std::size_t low = 0, high = able.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (auto fewer = fit_with(std::span{able}.first(middle))) {
      shares = std::move(fewer);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  able.resize(high);
  // Of those on its nodes, each that is not needed after all stays.
  std::erase_if(able, [&](const Job* job) { return !is_on(*job, *shares); });
  for (std::size_t i = able.size(); i-- > 0;) {
    std::vector<const Job*> fewer = able;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (auto still = fit_with(fewer)) {
      shares = std::move(still);
      able = std::move(fewer);
    }
  }
  shares = fit_with(able);  // the last try may have been another
  if (!shares || !take_limits(entry, *shares)) return false;
  for (const Job* job : able) {
    suspended_.insert(job->key);
    plan_.preemptions.push_back({job->key, job->attempt, entry.job->key, entry.partition, true});
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
  std::vector<const Job*> able;
  std::map<JobKey, Wanting> for_whom;
  std::vector<JobKey> going, suspended;
  const bool alone = wanting.size() == 1 && !wanting.front().job->het;  // components suspend nobody
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    if (told_to_go_.contains(key)) continue;  // for someone before us
    if (is_yielding(job)) {
      going.push_back(key);
      continue;
    }
    std::optional<Yield> yield;
    const auto who = std::ranges::find_if(wanting, [&](const Wanting& each) {
      yield = must_yield_whole(state, job, *each.job, each.partition, plan_.made_at);
      return yield.has_value();
    });
    if (who == wanting.end()) continue;
    if (yield->mode == PreemptMode::suspend) {
      if (alone) suspended.push_back(key);
      continue;
    }
    able.push_back(&job);
    for_whom.emplace(key, *who);
  }
  sort_by_worth(state, able);
  // Those on their way out count as gone, and those it could suspend as suspended, which they will be when it starts;
  // of the others as few of the worthiest as possible.
  if (alone) timeline.open_cpus(rows_of(state, *wanting.front().job, wanting.front().partition), suspended);
  for (const JobKey key : going) timeline.imagine_gone(key, true);
  auto shares = able.empty() && going.empty() ? std::nullopt : fit_without(fit, able, able.size());
  if (shares) {
    std::size_t low = 0, high = able.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (auto fewer = fit_without(fit, able, middle)) {
        shares = std::move(fewer);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    able.resize(high);
  }
  const std::vector<const Job*> victims = shares ? victims_for(*shares, able) : std::vector<const Job*>{};
  for (const JobKey key : going) timeline.imagine_gone(key, false);
  if (alone) timeline.close_cpus();
  for (const Job* job : victims) {
    if (told_to_go_.contains(job->key)) continue;  // with another of its components
    for (const JobKey each : whole_of(*job)) told_to_go_.insert(each);
    plan_.preemptions.push_back(
        {job->key, job->attempt, for_whom.at(job->key).job->key, for_whom.at(job->key).partition});
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
