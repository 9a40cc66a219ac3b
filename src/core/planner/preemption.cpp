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
    return std::tuple{state.partition(job->spec->partition).def.priority_tier, job->priority, -job->started_at.value, job->key};
  });
}

Amounts held_on(const Job& job, NodeIndex node) {
  for (const NodeShare& share : job.placement->shares)
    if (share.node == node && !share.released) return share.amounts();
  return {};
}

}  // namespace

// Of these, on each node as few as make room for the share.
std::vector<const Job*> Pass::victims_for(const std::vector<NodeShare>& shares, const std::vector<const Job*>& able) const {
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
std::optional<std::vector<NodeShare>> Pass::fit_without(const Fitter& fit, const std::vector<const Job*>& able, std::size_t count) {
  Timeline& timeline = memo_->timeline();
  for (std::size_t i = 0; i < count; ++i) timeline.imagine_gone(able[i]->key, true);
  auto shares = fit();
  for (std::size_t i = 0; i < count; ++i) timeline.imagine_gone(able[i]->key, false);
  return shares;
}

// The last shares that `fit` found are those there will be room for.
std::optional<std::vector<NodeShare>> Pass::make_room(std::span<const Wanting> wanting, const Fitter& fit) {
  const State& state = memo_->state();
  Timeline& timeline = memo_->timeline();
  std::vector<const Job*> able;
  std::map<JobKey, Wanting> for_whom;
  std::vector<JobKey> going;
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    if (told_to_go_.contains(key)) continue;  // for someone before us
    if (is_yielding(job)) {
      going.push_back(key);
      continue;
    }
    const auto who = std::ranges::find_if(wanting, [&](const Wanting& each) {
      return must_yield_whole(state, job, *each.job, each.partition, plan_.made_at).has_value();
    });
    if (who == wanting.end()) continue;
    able.push_back(&job);
    for_whom.emplace(key, *who);
  }
  sort_by_worth(state, able);
  // Those on their way out count as gone; of the others as few of the worthiest as possible.
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
  for (const Job* job : victims) {
    if (told_to_go_.contains(job->key)) continue;  // with another of its components
    for (const JobKey each : whole_of(*job)) told_to_go_.insert(each);
    plan_.preemptions.push_back({job->key, job->attempt, for_whom.at(job->key).job->key, for_whom.at(job->key).partition});
  }
  return shares;
}

void Pass::take_until(const std::vector<NodeShare>& shares, Time until) { memo_->timeline().take(shares, since_ever, until); }

bool Pass::preempt(const QueueEntry& entry, Shape& shape) {
  if (!preempts_) return false;
  const std::pair kind{entry.shape, entry.job->qos.value};
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
  take_until(*shares, plus(plan_.made_at, entry.span));
  plan_.findings.push_back({entry.job->key, Reason::resources, plan_.made_at + seconds(1), *std::move(shares), entry.partition});
  blocked_[entry.partition.value] = 1;
  return true;
}

}  // namespace millrace
