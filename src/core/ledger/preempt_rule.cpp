// src/core/ledger/preempt_rule.cpp - see preempt_rule.h.
#include "core/ledger/preempt_rule.h"

#include <algorithm>

namespace millrace {
namespace {

PreemptMode mode_of(QosPreemptMode mode) {
  switch (mode) {
    case QosPreemptMode::cluster:
      return PreemptMode::cluster;
    case QosPreemptMode::off:
      return PreemptMode::off;
    case QosPreemptMode::cancel:
      return PreemptMode::cancel;
    case QosPreemptMode::requeue:
      return PreemptMode::requeue;
    case QosPreemptMode::suspend:
      return PreemptMode::suspend;
  }
  return PreemptMode::off;
}

}  // namespace

std::optional<Yield> yields_to(const State& state, const Job& held, const Job& waiting, PartitionIndex where) {
  const Policy& policy = *state.policy;
  if (policy.preempt_type == PreemptType::none) return std::nullopt;
  const PartitionDef& partition = state.partition(held.spec->partition).def;
  const Qos* qos = state.find_qos(held.qos);
  PreemptMode mode = partition.preempt_mode;
  std::uint32_t grace = partition.grace_seconds;
  if (policy.preempt_type == PreemptType::partition) {
    if (state.partition(where).def.priority_tier <= partition.priority_tier) return std::nullopt;
  } else {
    const Qos* above = state.find_qos(waiting.qos);
    if (!above || !qos || std::ranges::find(above->preempts, qos->id.value) == above->preempts.end())
      return std::nullopt;
    mode = mode_of(qos->preempt_mode);
    grace = qos->grace_seconds;
  }
  if (mode == PreemptMode::cluster) mode = policy.preempt_mode;
  if (mode == PreemptMode::off || mode == PreemptMode::cluster) return std::nullopt;
  if (mode == PreemptMode::suspend && held.het) return std::nullopt;  // its components could not be resumed together
  if (mode == PreemptMode::suspend && !policy.gang)
    return std::nullopt;  // a QOS says so, and the cluster no longer does it
  if (mode == PreemptMode::requeue && !held.spec->requeue) mode = PreemptMode::cancel;
  return Yield{mode, mode == PreemptMode::suspend ? 0 : grace};
}

bool gives_way(const State& state, const Job& suspended, const Job& waiting, PartitionIndex where) {
  const auto yield = yields_to(state, suspended, waiting, where);
  return yield && yield->mode == PreemptMode::suspend;
}

std::optional<Yield> must_yield(const State& state, const Job& running, const Job& waiting, PartitionIndex where,
                                Time now) {
  if (running.state != JobState::running && running.state != JobState::suspended) return std::nullopt;
  const auto yield = yields_to(state, running, waiting, where);
  if (!yield || (yield->mode == PreemptMode::suspend && running.state == JobState::suspended)) return std::nullopt;
  std::uint32_t exempt = state.policy->preempt_exempt_seconds;
  if (state.policy->preempt_type == PreemptType::qos)
    exempt = state.find_qos(running.qos)->preempt_exempt_seconds.value_or(exempt);
  if (now < running.started_at + seconds(exempt)) return std::nullopt;
  return yield;
}

std::optional<Yield> must_yield_whole(const State& state, const Job& running, const Job& waiting, PartitionIndex where,
                                      Time now) {
  if (!running.het) return must_yield(state, running, waiting, where, now);
  std::optional<Yield> out;
  for (const JobKey key : whole_of(running)) {
    const Job& each = state.job(key);
    if (each.state == JobState::ended) continue;
    const auto yield = must_yield(state, each, waiting, where, now);
    if (!yield) return std::nullopt;
    if (!out) out = yield;
    if (yield->mode == PreemptMode::cancel) out->mode = PreemptMode::cancel;
    out->grace_seconds = std::max(out->grace_seconds, yield->grace_seconds);
  }
  return out;
}

}  // namespace millrace
