// src/core/planner/promises.cpp - the part of a pass about planned starts: who has one, and how it is kept for him.
#include <algorithm>

#include "core/planner/pass.h"

namespace millrace {

void Pass::count_promises() {
  const std::size_t partitions = memo_->state().partitions->size();
  if (settings_.backfill == Backfill::conservative)
    count_.begin(settings_.depth, partitions, memo_->waiting());
  else  // each partition's first is told when it may start, also where nothing is free for anybody
    count_.begin_heads(partitions, memo_->waiting());
}

// While nothing is free nobody starts, and of those that wait only who may still have a promise is of interest.
void Pass::pass_over() {
  const std::vector<QueueEntry>& queue = memo_->queue();
  while (next_ < queue.size() && !may_claim(at_place(next_))) end_place(at_place(next_));
}

Time Pass::not_before(PartitionIndex partition) const {
  const auto head = head_starts_.find(partition);
  return head == head_starts_.end() ? plan_.made_at : head->second;
}

void Pass::note_head(PartitionIndex partition, Time start) {
  if (settings_.backfill == Backfill::none) head_starts_.emplace(partition, start);
}

void Pass::end_place(const QueueEntry& entry) {
  count_.pass(entry.partition, entry.node_set);
  ++next_;
}

bool Pass::may_claim(const QueueEntry& entry) const {
  return entry.score.key == settings_.watched || has_promise(entry);
}

bool Pass::has_promise(const QueueEntry& entry) const {
  const bool behind = blocked_[entry.partition.value] != 0;
  if (settings_.backfill == Backfill::conservative) return count_.allows(entry.partition, entry.node_set);
  return !behind || (next_ < guarded_.size() && guarded_[next_] != 0);
}

void Pass::promise(const Claim& claim, PartitionIndex partition, Duration span) {
  memo_->timeline().take(claim.shares, partition, claim.start, plus(claim.start, span));
  const auto add = [&](std::int64_t value) {
    claims_digest_ = mix_bits(claims_digest_ ^ static_cast<std::uint64_t>(value)) + 0x9e3779b97f4a7c15ULL;
  };
  add(claim.start.value);
  add(span.value);
  for (const NodeShare& share : claim.shares) {
    const Amounts taken = share.amounts();
    add(share.node.value);
    add(taken.cpus);
    add(taken.memory);
    for (const std::int64_t count : taken.gres) add(count);
  }
}

void Pass::lay_promises() {
  std::map<JobKey, const Promise*> given;
  for (const Promise& promise : *settings_.promises) given.emplace(promise.key, &promise);
  std::vector<Timeline::Hold> holds;
  std::vector<const Promise*> laid;
  for (const QueueEntry& entry : memo_->queue()) {
    const auto it = given.find(entry.job->key);
    if (it == given.end() || it->second->partition != entry.partition || has_obstacle(entry)) continue;
    if (memo_->shapes().at(entry.shape).reservation.value != 0 || entry.job->het)
      continue;  // plans anew: within its reservation, with all components
    const Time start = std::max(it->second->start, plan_.made_at);
    holds.push_back({&it->second->shares, entry.partition, start, plus(start, entry.span)});
    laid.push_back(it->second);
  }
  const std::vector<char> kept = memo_->timeline().take_all(holds);
  for (std::size_t i = 0; i < laid.size(); ++i)
    if (kept[i]) promises_.emplace(laid[i]->key, laid[i]);
}

bool Pass::keep_promise(const QueueEntry& entry) {
  const auto it = promises_.find(entry.job->key);
  if (it == promises_.end() || it->second->partition != entry.partition) return false;
  const Promise& promise = *it->second;
  const Time start = std::max(promise.start, plan_.made_at);
  if (!settings_.better_promises && start > plan_.made_at) {
    blocked_[entry.partition.value] = 1;
    count_.give(entry.partition, entry.node_set);
    plan_.findings.push_back(
        {promise.key, anyone_blocked_ ? Reason::priority : Reason::resources, start, promise.shares, entry.partition});
    return true;
  }
  memo_->timeline().give(promise.shares, entry.partition, start, plus(start, entry.span));
  promises_.erase(it);
  return false;
}

void Pass::block(const QueueEntry& entry, Shape& shape) {
  const Job& job = *entry.job;
  const bool pinned = settings_.pinned && settings_.pinned->key == job.key && settings_.pinned->start.is_set();
  const bool behind = blocked_[entry.partition.value] != 0;
  Finding finding{job.key, behind ? Reason::priority : Reason::resources, {}, {}, entry.partition};
  finding.promised = has_promise(entry);
  std::optional<Claim> claim;
  if (entry.span < shape.hopeless)
    claim = memo_->timeline().earliest(
        shape, std::max({plan_.made_at, shape.window_start, not_before(entry.partition)}), entry.span);
  if (!claim && !shape.alone) shape.hopeless = std::min(shape.hopeless, entry.span);
  const Duration span = claim ? span_within(shape, claim->start, entry.span) : entry.span;
  if (span <= Duration{0}) claim.reset();
  if (claim) {
    if (pinned) claim->start = settings_.pinned->start;
    finding.planned_start = claim->start;
    finding.planned_shares = claim->shares;
    blocked_[entry.partition.value] = 1;
    note_head(entry.partition, claim->start);
    count_.give(entry.partition, entry.node_set);
    if (settings_.backfill == Backfill::strict)
      shadow_ = std::min(shadow_, claim->start);
    else if (settings_.backfill != Backfill::none)
      promise(*claim, entry.partition, span);
  }
  // A job that cannot be placed even when everything ends (nodes down or drained) keeps nobody else waiting.
  plan_.findings.push_back(std::move(finding));
}

}  // namespace millrace
