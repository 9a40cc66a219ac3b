// src/core/ledger/run_times.cpp - see run_times.h.
#include "core/ledger/run_times.h"

#include <algorithm>

namespace millrace {

// What a job did by itself tells about its user's next one; that somebody or something stopped it does not.
void remember_run_time(State& state, const Job& job) {
  if (!state.policy->predict_run_times || !job.started_at.is_set() || job.is_component()) return;
  if (job.outcome != Outcome::completed && job.outcome != Outcome::failed && job.outcome != Outcome::timeout) return;
  const std::int64_t ran = std::clamp<std::int64_t>((job.over_at() - job.ran_from()).value / 1'000'000, 1, UINT32_MAX);
  const RunHistory* known = state.run_histories.find(job.spec->owner->uid);
  state.run_histories.set(job.spec->owner->uid,
                          remember_run(known ? *known : RunHistory{}, static_cast<std::uint32_t>(ran)));
}

}  // namespace millrace
