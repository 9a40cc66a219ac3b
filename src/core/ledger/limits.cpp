// src/core/ledger/limits.cpp - see limits.h.
#include "core/ledger/limits.h"

#include "core/ledger/apply_account.h"
#include "core/ledger/limit_check.h"

namespace millrace {
namespace {

const std::vector<LimitRow> no_rows;
const Use no_use;

const Use& use_of(const State& state, const UseKey& key) {
  const auto* found = state.uses.find(key);
  return found ? **found : no_use;
}

// Rows made for each question; a chain of associations is short.
std::optional<LimitHit> check_alone(const State& state, const Job& job, const JobSize& size, std::uint32_t tasks,
                                    LimitMoment asked, Time now) {
  if (!limits_enforced(state)) return std::nullopt;
  std::vector<LimitRow> rows;
  const LimitSource source{[&](LimitScope scope, std::uint32_t id) -> const std::vector<LimitRow>& {
                             rows = scope == LimitScope::qos
                                        ? rows_of(state, *state.find_qos(QosId{id}))
                                        : rows_of(state, *state.find_association(AssociationId{id}));
                             return rows;
                           },
                           [&](const UseKey& key) -> const Use& { return use_of(state, key); }};
  return check_limits(state, source, job, size, tasks, asked, now);
}

}  // namespace

bool limits_enforced(const State& state) {
  return (state.policy->enforce & enforce_limits) != 0 && !(state.associations.empty() && state.qos.empty());
}

Reason reason_of(const LimitHit& hit) { return limit_reason(hit.scope, hit.kind, hit.tres); }

std::optional<LimitHit> start_hit(const State& state, const Job& job, const JobSize& size, Time now) {
  return check_alone(state, job, size, 1, LimitMoment::start, now);
}

std::optional<LimitHit> whole_start_hit(const State& state, const Job& job, Time now) {
  if (!job.het || !limits_enforced(state)) return start_hit(state, job, requested_size(state, job), now);
  LimitUse limits(state, now);
  for (const JobKey key : whole_of(job)) {
    const Job& component = state.job(key);
    const JobSize size = requested_size(state, component);
    if (auto hit = limits.first_hit(component, size)) return hit;
    limits.take(component, size);
  }
  return std::nullopt;
}

std::optional<LimitHit> submit_hit(const State& state, const Job& job, std::uint32_t tasks, bool per_job, Time now) {
  return check_alone(state, job, requested_size(state, job), tasks,
                     per_job ? LimitMoment::submit_and_size : LimitMoment::submit, now);
}

LimitUse::LimitUse(const State& state, Time now) : state_(state), now_(now), enforced_(limits_enforced(state)) {
  if (!enforced_) return;
  bool any = false;
  association_rows_.resize(state.next_association.value);
  qos_rows_.resize(state.next_qos.value);
  for (const auto& [id, association] : state.associations)
    any = !(association_rows_[id.value] = rows_of(state, *association)).empty() || any;
  for (const auto& [id, qos] : state.qos) any = !(qos_rows_[id.value] = rows_of(state, *qos)).empty() || any;
  enforced_ = any;
}

std::optional<LimitHit> LimitUse::first_hit(const Job& job, const JobSize& size) const {
  if (!enforced_) return std::nullopt;
  const LimitSource source{[&](LimitScope scope, std::uint32_t id) -> const std::vector<LimitRow>& {
                             const auto& all = scope == LimitScope::qos ? qos_rows_ : association_rows_;
                             return id < all.size() ? all[id] : no_rows;
                           },
                           [&](const UseKey& key) -> const Use& {
                             const auto it = taken_.find(key);
                             return it != taken_.end() ? it->second : use_of(state_, key);
                           }};
  return check_limits(state_, source, job, size, 1, LimitMoment::start, now_);
}

Reason LimitUse::blocks(const Job& job, const JobSize& size) const {
  const auto hit = first_hit(job, size);
  return hit ? reason_of(*hit) : Reason::none;
}

void LimitUse::take(const Job& job, const JobSize& size) {
  if (!enforced_) return;
  const Qos* qos = state_.find_qos(job.qos);
  const std::int64_t factor = qos ? qos->usage_factor_thousandths : 1000;
  const std::int64_t end = (now_ + minutes(size.minutes)).seconds();
  for (const UseKey& key : holders_of(state_, job)) {
    Use& use = taken_.try_emplace(key, use_of(state_, key)).first->second;
    ++use.running;
    use.tres += size.tres;
    for (std::size_t i = 0; i < tres_max; ++i) {
      use.run_rate[i] += size.tres[i] * factor;
      use.run_end[i] += static_cast<__int128>(size.tres[i]) * factor * end;
    }
  }
}

std::uint32_t LimitUse::group_of(const Job& job) const {
  if (!enforced_) return 0;
  const Qos* of_partition = partition_qos(state_, *job.spec);
  const GroupKey key{job.association.value, job.qos.value, of_partition ? of_partition->id.value : 0,
                     job.spec->owner->uid.value};
  return groups_.try_emplace(key, static_cast<std::uint32_t>(groups_.size())).first->second;
}

}  // namespace millrace
