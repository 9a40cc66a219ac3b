// src/core/ledger/preempt_rule.cpp - see preempt_rule.h.
#include "core/ledger/preempt_rule.h"

#include <algorithm>

namespace millrace {
namespace {

PreemptMode mode_of(QosPreemptMode mode) {
  switch (mode) {
    case QosPreemptMode::cluster: return PreemptMode::cluster;
    case QosPreemptMode::off:
    case QosPreemptMode::suspend: return PreemptMode::off;  // suspending is not built yet: such a job stays
    case QosPreemptMode::cancel: return PreemptMode::cancel;
    case QosPreemptMode::requeue: return PreemptMode::requeue;
  }
  return PreemptMode::off;
}

}  // namespace

std::optional<Yield> must_yield(const State& state, const Job& running, const Job& waiting, PartitionIndex where, Time now) {
  const Policy& policy = *state.policy;
  if (policy.preempt_type == PreemptType::none || running.state != JobState::running) return std::nullopt;
  const PartitionDef& partition = state.partition(running.spec->partition).def;
  const Qos* qos = state.find_qos(running.qos);
  PreemptMode mode = partition.preempt_mode;
  std::uint32_t grace = partition.grace_seconds, exempt = policy.preempt_exempt_seconds;
  if (policy.preempt_type == PreemptType::partition) {
    if (state.partition(where).def.priority_tier <= partition.priority_tier) return std::nullopt;
  } else {
    const Qos* above = state.find_qos(waiting.qos);
    if (!above || !qos || std::ranges::find(above->preempts, qos->id.value) == above->preempts.end()) return std::nullopt;
    mode = mode_of(qos->preempt_mode);
    grace = qos->grace_seconds;
    exempt = qos->preempt_exempt_seconds.value_or(exempt);
  }
  if (mode == PreemptMode::cluster) mode = policy.preempt_mode;
  if (mode == PreemptMode::off || mode == PreemptMode::cluster || now < running.started_at + seconds(exempt)) return std::nullopt;
  return Yield{mode == PreemptMode::requeue && running.spec->requeue, grace};
}

std::optional<Yield> must_yield_whole(const State& state, const Job& running, const Job& waiting, PartitionIndex where, Time now) {
  if (!running.het) return must_yield(state, running, waiting, where, now);
  std::optional<Yield> out;
  for (const JobKey key : whole_of(running)) {
    const Job& each = state.job(key);
    if (each.state == JobState::ended) continue;
    const auto yield = must_yield(state, each, waiting, where, now);
    if (!yield) return std::nullopt;
    if (!out) out = yield;
    out->requeue = out->requeue && yield->requeue;
    out->grace_seconds = std::max(out->grace_seconds, yield->grace_seconds);
  }
  return out;
}

}  // namespace millrace
