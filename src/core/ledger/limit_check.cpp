// src/core/ledger/limit_check.cpp - see limit_check.h.
#include "core/ledger/limit_check.h"

#include <algorithm>

#include "core/ledger/apply_account.h"

namespace millrace {
namespace {

using enum LimitKind;

void add_rows(const TresNames& names, const TresList& list, LimitKind kind, std::vector<LimitRow>& out) {
  for (const TresAmount& each : list)
    if (const auto slot = tres_slot(names, each.name))
      out.push_back({kind, static_cast<std::uint8_t>(*slot), each.amount});
}

void add_row(const std::optional<std::uint32_t>& value, LimitKind kind, std::vector<LimitRow>& out) {
  if (value) out.push_back({kind, 0, *value});
}

std::vector<LimitRow> common_rows(const TresNames& names, const Limits& limits) {
  std::vector<LimitRow> out;
  add_row(limits.max_wall_minutes, max_wall, out);
  add_rows(names, limits.max_tres_per_job, max_tres_per_job, out);
  add_rows(names, limits.max_tres_per_node, max_tres_per_node, out);
  add_rows(names, limits.max_tres_mins_per_job, max_tres_mins_per_job, out);
  add_row(limits.max_jobs, max_jobs, out);
  add_row(limits.max_submit, max_submit, out);
  add_row(limits.grp_jobs, grp_jobs, out);
  add_row(limits.grp_submit, grp_submit, out);
  add_rows(names, limits.grp_tres, grp_tres, out);
  add_rows(names, limits.grp_tres_mins, grp_tres_mins, out);
  add_rows(names, limits.grp_tres_run_mins, grp_tres_run_mins, out);
  add_row(limits.grp_wall_minutes, grp_wall, out);
  return out;
}

// Kinds that a job can pass or not whatever others do.
bool is_of_one_job(LimitKind kind) {
  return kind == max_wall || kind == max_tres_per_job || kind == max_tres_per_node || kind == max_tres_mins_per_job ||
         kind == min_tres_per_job;
}
bool is_of_submission(LimitKind kind) {
  return kind == grp_submit || kind == max_submit || kind == max_submit_per_account;
}
bool is_grp(LimitKind kind) {
  return kind == grp_tres || kind == grp_tres_mins || kind == grp_tres_run_mins || kind == grp_jobs ||
         kind == grp_submit || kind == grp_wall;
}

// Limits already met further up in the order of precedence.
class Met {
 public:
  bool has(const LimitRow& row) const { return (bits_[static_cast<std::size_t>(row.kind)] >> row.slot & 1) != 0; }
  void add(const LimitRow& row) { bits_[static_cast<std::size_t>(row.kind)] |= 1u << row.slot; }
  void add(const Met& other) {
    for (std::size_t i = 0; i < limit_kinds; ++i) bits_[i] |= other.bits_[i];
  }

 private:
  std::array<std::uint32_t, limit_kinds> bits_{};
};

class Check {
 public:
  Check(const State& state, const LimitSource& source, const Job& job, const JobSize& size, std::uint32_t tasks,
        LimitMoment asked, Time now)
      : state_(state), source_(source), job_(job), size_(size), tasks_(tasks), asked_(asked), now_(now) {
    const Qos* qos = state.find_qos(job.qos);
    factor_ = qos ? qos->usage_factor_thousandths : 1000;
    const Association* association = state.find_association(job.association);
    if (association) account_ = association->parent.value;
  }

  std::optional<LimitHit> run() {
    const Qos* own = state_.find_qos(job_.qos);
    const Qos* of_partition = partition_qos(state_, *job_.spec);
    if (of_partition == own) of_partition = nullptr;
    if (own && (own->flags & qos_over_part_qos) != 0) std::swap(own, of_partition);
    for (const Qos* qos : {of_partition, own}) {
      if (!qos) continue;
      if (auto hit = of_qos(*qos)) return hit;
      met_.add(here_);
    }
    for (const Association* each = state_.find_association(job_.association); each;
         each = state_.find_association(each->parent)) {
      if (auto hit = of_association(*each)) return hit;
      max_met_.add(here_);
    }
    return std::nullopt;
  }

 private:
  bool is_asked(LimitKind kind) const {
    if (asked_ == LimitMoment::start) return !is_of_submission(kind);
    return is_of_submission(kind) || (asked_ == LimitMoment::submit_and_size && is_of_one_job(kind));
  }

  std::optional<LimitHit> of_qos(const Qos& qos) {
    here_ = {};
    for (const LimitRow& row : source_.rows(LimitScope::qos, qos.id.value)) {
      here_.add(row);
      if (met_.has(row) || !is_asked(row.kind)) continue;
      UseKey key{UseOf::qos, qos.id.value, 0};
      if (row.kind == max_jobs || row.kind == max_submit || row.kind == max_tres_per_user ||
          row.kind == max_run_mins_per_user)
        key = {UseOf::user_in_qos, qos.id.value, job_.spec->owner->uid.value};
      if (row.kind == max_jobs_per_account || row.kind == max_submit_per_account || row.kind == max_tres_per_account ||
          row.kind == max_run_mins_per_account)
        key = {UseOf::account_in_qos, qos.id.value, account_};
      if (auto hit = compare(row, key)) return finish(*hit, LimitScope::qos, qos.id.value, key.member, row);
    }
    return std::nullopt;
  }

  std::optional<LimitHit> of_association(const Association& association) {
    here_ = {};
    for (const LimitRow& row : source_.rows(LimitScope::association, association.id.value)) {
      if (met_.has(row) || !is_asked(row.kind)) continue;
      if (!is_grp(row.kind)) {
        if (max_met_.has(row)) continue;  // one nearer to the user counts
        here_.add(row);
      }
      // A Max limit set on an account is one for each user below it.
      const UseKey key{UseOf::association, is_grp(row.kind) ? association.id.value : job_.association.value, 0};
      if (auto hit = compare(row, key)) return finish(*hit, LimitScope::association, association.id.value, 0, row);
    }
    return std::nullopt;
  }

  std::optional<LimitHit> finish(LimitHit hit, LimitScope scope, std::uint32_t holder, std::uint32_t member,
                                 const LimitRow& row) const {
    hit.scope = scope;
    hit.holder = holder;
    hit.member = member;
    hit.kind = row.kind;
    hit.limit = row.value;
    if (counts_resources(row.kind)) hit.tres = (*state_.tres_names)[row.slot];
    return hit;
  }

  std::int64_t job_minutes(std::size_t slot) const {
    const __int128 all = (static_cast<__int128>(size_.tres[slot]) * size_.minutes * factor_ + 999) / 1000;
    return all > INT64_MAX / 2 ? INT64_MAX / 2 : static_cast<std::int64_t>(all);
  }

  static std::optional<LimitHit> over(std::int64_t used, std::int64_t needs, std::int64_t limit) {
    if (used + needs <= limit) return std::nullopt;
    LimitHit hit;
    hit.used = used;
    hit.needs = needs;
    return hit;
  }

  // What was used counts against the limit; with `safe` also what running jobs and this one may yet use.
  std::optional<LimitHit> used_up(std::int64_t used, std::int64_t running, std::int64_t needs,
                                  std::int64_t limit) const {
    if (used >= limit) return over(used, std::max<std::int64_t>(needs, limit - used + 1), limit);
    if ((state_.policy->enforce & enforce_safe) == 0) return std::nullopt;
    return over(used + running, needs, limit);
  }

  std::optional<LimitHit> compare(const LimitRow& row, const UseKey& key) const {
    switch (row.kind) {
      case max_wall:
        return over(0, size_.minutes, row.value);
      case max_tres_per_job:
        return over(0, size_.tres[row.slot], row.value);
      case max_tres_per_node:
        return over(0, size_.per_node[row.slot], row.value);
      case max_tres_mins_per_job:
        return over(0, job_minutes(row.slot), row.value);
      case min_tres_per_job: {
        if (size_.tres[row.slot] >= row.value) return std::nullopt;
        LimitHit hit;
        hit.needs = size_.tres[row.slot];
        return hit;
      }
      case grp_jobs:
      case max_jobs:
      case max_jobs_per_account:
        return over(source_.use(key).running, 1, row.value);
      case grp_submit:
      case max_submit:
      case max_submit_per_account:
        return over(source_.use(key).submitted, tasks_, row.value);
      case grp_tres:
      case max_tres_per_user:
      case max_tres_per_account:
        return over(source_.use(key).tres[row.slot], size_.tres[row.slot], row.value);
      case grp_tres_run_mins:
      case max_run_mins_per_user:
      case max_run_mins_per_account: {
        const std::int64_t left = run_seconds_left(source_.use(key), row.slot, now_);
        return over((left + 59) / 60, job_minutes(row.slot), row.value);
      }
      case grp_tres_mins: {
        const Use& use = source_.use(key);
        const std::int64_t used = to_integer(usage_at(use, row.slot, fade_of(state_, key), now_)) / 60;
        return used_up(used, run_seconds_left(use, row.slot, now_) / 60, job_minutes(row.slot), row.value);
      }
      case grp_wall: {
        const Use& use = source_.use(key);
        return used_up(to_integer(wall_at(use, fade_of(state_, key), now_)) / 60, 0, size_.minutes, row.value);
      }
    }
    return std::nullopt;
  }

  const State& state_;
  const LimitSource& source_;
  const Job& job_;
  const JobSize& size_;
  std::uint32_t tasks_;
  LimitMoment asked_;
  Time now_;
  std::uint32_t factor_ = 1000, account_ = 0;
  Met met_, max_met_, here_;
};

}  // namespace

std::vector<LimitRow> rows_of(const State& state, const Association& association) {
  return common_rows(*state.tres_names, association.limits);
}

std::vector<LimitRow> rows_of(const State& state, const Qos& qos) {
  const TresNames& names = *state.tres_names;
  std::vector<LimitRow> out;
  add_rows(names, qos.min_tres_per_job, min_tres_per_job, out);
  for (const LimitRow& row : common_rows(names, qos.limits)) out.push_back(row);
  add_row(qos.max_jobs_per_account, max_jobs_per_account, out);
  add_row(qos.max_submit_per_account, max_submit_per_account, out);
  add_rows(names, qos.max_tres_per_user, max_tres_per_user, out);
  add_rows(names, qos.max_tres_per_account, max_tres_per_account, out);
  add_rows(names, qos.max_run_mins_per_user, max_run_mins_per_user, out);
  add_rows(names, qos.max_run_mins_per_account, max_run_mins_per_account, out);
  return out;
}

std::optional<LimitHit> check_limits(const State& state, const LimitSource& source, const Job& job, const JobSize& size,
                                     std::uint32_t tasks, LimitMoment asked, Time now) {
  return Check(state, source, job, size, tasks, asked, now).run();
}

}  // namespace millrace
