// src/core/planner/memo.cpp - see memo.h.
#include "core/planner/memo.h"

#include <algorithm>

namespace millrace {
namespace {

bool scores_age(OrderPolicy order) { return order == OrderPolicy::wfp3 || order == OrderPolicy::unicep; }

bool computes_priorities(const State& state, const PlannerSettings& settings) {
  return settings.order == OrderPolicy::priority && !state.policy->basic_priority;
}

bool is_reachable(const PlannerSettings& settings, NodeIndex index) {
  return std::ranges::find(settings.unreachable, index) == settings.unreachable.end();
}

}  // namespace

bool Memo::must_start_anew(const State& snapshot, const PlannerSettings& settings) const {
  if (!timeline_ || snapshot.policy.get() != state_.policy.get() ||
      snapshot.partitions.get() != state_.partitions.get())
    return true;
  if (settings.order != settings_.order || settings.use_expected != settings_.use_expected ||
      settings.score_origin != settings_.score_origin || settings.unreachable != settings_.unreachable)
    return true;
  if (shapes_.size() > 10'000 + 2 * queue_.size() || kinds_.size() > 100'000 + 2 * queue_.size())
    return true;  // mostly of jobs that are gone
  return snapshot.version < state_.version;
}

void Memo::update(const State& snapshot, const PlannerSettings& settings, Time now) {
  if (must_start_anew(snapshot, settings)) {
    start_anew(snapshot, settings, now);
  } else {
    follow(snapshot, settings, now);
  }
  settings_ = settings;
  timeline_->pass_to(state_, now, settings);
  timeline_->begin_pass(state_, now);
  shapes_.begin_pass();
  ++passes_;
}

Score Memo::score(const Job& job, PartitionIndex partition, const PlannerSettings& settings, Time now) const {
  if (!priorities_) return score_of(job, settings, now, partition_cpus_[partition.value]);
  return {Fixed::from_integer(-static_cast<std::int64_t>(priorities_->of(job, partition))), job.submitted_at, job.key};
}

void Memo::add_entries(const Job& job, const PlannerSettings& settings, Time now, std::vector<QueueEntry>& out) {
  const auto add = [&](PartitionIndex partition) {
    QueueEntry entry;
    entry.tier_below_max = unlimited - state_.partition(partition).def.priority_tier;
    entry.shape = shapes_.shape_of(state_, job.spec, partition, timeline_->classes());
    entry.node_set = shapes_.at(entry.shape).node_set;
    entry.score = score(job, partition, settings, now);
    entry.job = &job;
    entry.span = planned_span(job, settings);
    entry.in_window = shapes_.at(entry.shape).window_end != never;
    entry.partition = partition;
    entry.shortens = job.spec->resource_request().time_min_minutes > 0;
    const std::array key{entry.shape,   job.spec->owner->uid.value, job.association.value,
                         job.qos.value, job.time_limit_minutes,     partition.value};
    entry.kind = kinds_.try_emplace(key, static_cast<std::uint32_t>(kinds_.size())).first->second;
    out.push_back(entry);
  };
  add(job.spec->partition);
  for (const std::uint32_t more : job.spec->resource_request().more_partitions) add(PartitionIndex{more});
}

void Memo::count_cpus() {
  partition_cpus_.clear();
  largest_nodes_.clear();
  for (const Partition& partition : *state_.partitions) {
    std::int64_t cpus = 0, largest = 0;
    for (const NodeIndex index : partition.nodes) {
      const std::int64_t here = state_.node(index).def->usable_cpus().value;
      cpus += here;
      largest = std::max(largest, here);
    }
    partition_cpus_.push_back(cpus);
    largest_nodes_.push_back(Cpus{largest});
  }
}

void Memo::start_anew(const State& snapshot, const PlannerSettings& settings, Time now) {
  state_ = snapshot;
  shapes_ = {};
  kinds_.clear();
  queue_.clear();
  count_cpus();
  timeline_.emplace(state_);
  priorities_.reset();
  if (computes_priorities(state_, settings)) priorities_.emplace(state_, now);
  for (const auto& [key, nothing] : state_.active)
    timeline_->job_changed(state_, key, &state_.jobs.at(key), settings, now);
  for (const auto& [index, node] : state_.nodes) timeline_->set_node(index, *node, is_reachable(settings, index));
  for (const auto& [place, nothing] : state_.queue) add_entries(state_.job(place.key), settings, now, queue_);
  std::ranges::sort(queue_, std::less<>{});
  count_waiting();
}

void Memo::count_waiting() {
  waiting_ = {};
  for (const QueueEntry& entry : queue_) waiting_.add(entry.partition, entry.node_set);
}

void Memo::follow(const State& snapshot, const PlannerSettings& settings, Time now) {
  const State before = std::move(state_);
  state_ = snapshot;
  // Ages and shares change with the period, or when someone changes the shares.
  const bool all_change =
      scores_age(settings.order) ||
      (priorities_ && (priorities_->as_of() != period_start(now, state_.policy->priority.calc_period_seconds) ||
                       before.accounts_version != state_.accounts_version));
  if (all_change && priorities_) priorities_.emplace(state_, now);
  std::vector<const Job*> gone;
  std::vector<QueueEntry> added;
  SharedMap<JobKey, SharedValue<Job>>::compare(
      before.jobs, state_.jobs, [&](JobKey key, const SharedValue<Job>* old_job, const SharedValue<Job>* new_job) {
        if (old_job && new_job && old_job->get() == new_job->get()) return;
        const auto holds = [](const SharedValue<Job>* job) { return job && (*job)->is_on_nodes(); };
        if (holds(old_job) || holds(new_job)) timeline_->job_changed(state_, key, new_job, settings, now);
        if (old_job && is_queueable(**old_job)) gone.push_back(old_job->get());
        if (new_job && is_queueable(**new_job)) add_entries(**new_job, settings, now, added);
      });
  bool redefined = false;
  SharedMap<ReservationId, SharedValue<Reservation>>::compare(
      before.reservations, state_.reservations, [&](ReservationId, const auto* old_one, const auto* new_one) {
        if (!old_one || !new_one || old_one->get() != new_one->get()) redefined = true;
      });
  SharedMap<NodeIndex, SharedValue<Node>>::compare(
      before.nodes, state_.nodes,
      [&](NodeIndex index, const SharedValue<Node>* old_node, const SharedValue<Node>* new_node) {
        if (!old_node || !new_node || (*old_node)->def.get() != (*new_node)->def.get()) {
          redefined = true;
        } else if (old_node->get() != new_node->get()) {
          timeline_->set_node(index, **new_node, is_reachable(settings, index));
        }
      });
  if (redefined) return start_anew(snapshot, settings, now);
  replace_entries(gone, std::move(added), settings, now, all_change);
}

void Memo::replace_entries(const std::vector<const Job*>& gone, std::vector<QueueEntry> added,
                           const PlannerSettings& settings, Time now, bool all_change) {
  constexpr std::size_t few = 16;
  if (!all_change && gone.size() < few && added.size() < few) {
    std::vector<QueueEntry> old;
    for (const Job* job : gone) add_entries(*job, settings, now, old);
    for (const QueueEntry& entry : old) {
      const auto it = std::lower_bound(queue_.begin(), queue_.end(), entry);
      MR_ASSERT(it != queue_.end() && it->score.key == entry.score.key);
      waiting_.remove(it->partition, it->node_set);
      queue_.erase(it);
    }
    for (const QueueEntry& entry : added) {
      queue_.insert(std::upper_bound(queue_.begin(), queue_.end(), entry), entry);
      waiting_.add(entry.partition, entry.node_set);
    }
    return;
  }
  std::vector<JobKey> keys;
  for (const Job* job : gone) keys.push_back(job->key);
  std::ranges::sort(keys);
  std::erase_if(queue_, [&](const QueueEntry& entry) { return std::ranges::binary_search(keys, entry.score.key); });
  if (all_change)
    for (QueueEntry& entry : queue_) entry.score = score(*entry.job, entry.partition, settings, now);
  const auto old_size = static_cast<std::ptrdiff_t>(queue_.size());
  queue_.insert(queue_.end(), added.begin(), added.end());
  if (all_change) {
    std::sort(queue_.begin(), queue_.end());
  } else if (!added.empty()) {
    std::sort(queue_.begin() + old_size, queue_.end());
    std::inplace_merge(queue_.begin(), queue_.begin() + old_size, queue_.end());
  }
  count_waiting();
}

}  // namespace millrace
