// src/core/planner/timeline.h - free amounts now and later: who gives back what, when.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/ledger/state.h"
#include "core/model/fit.h"

namespace millrace {

// A blocked job's place in the future: from `start` on these amounts stay free for it.
struct FutureClaim {
  Time start;
  std::vector<NodeShare> shares;
  std::vector<Candidate> spare;  // by node position: what is left at `start` besides the claim
};

// When a job that starts now (or did then) is expected to be gone. A job without a limit is planned as a year, as Slurm does.
inline Time planned_end(Time start, std::uint32_t limit_minutes) {
  return start + minutes(limit_minutes == unlimited ? 365LL * 24 * 60 : limit_minutes);
}

class Timeline {
 public:
  Timeline(const State& state, Time now, std::span<const NodeIndex> unreachable = {});

  // Candidates for this job in its partition's order of filling, required nodes first; amounts as free now, cut to what claims
  // leave to a job that would end at `ends_at`.
  std::vector<Candidate> candidates(const JobSpec& spec, Time ends_at, std::span<const FutureClaim> claims) const;
  bool anything_free() const { return free_cpus_ > 0; }

  void take(std::span<const NodeShare> shares, Time ends_at, std::vector<FutureClaim>& claims);

  // The earliest time at which the job fits if everyone runs to the limit; nothing if it never does.
  std::optional<FutureClaim> earliest(const JobSpec& spec, std::int64_t& steps);
  const FitRules& rules() const { return rules_; }

 private:
  struct Release {
    Time at;
    JobKey key;
    std::vector<NodeShare> shares;
  };
  std::vector<NodeIndex> order(const JobSpec& spec) const;
  void sort_releases();

  const State& state_;
  Time now_;
  FitRules rules_;
  std::vector<Candidate> nodes_;  // by NodeIndex value
  std::vector<bool> usable_;
  std::int64_t free_cpus_ = 0;
  std::vector<Release> releases_;
  bool sorted_ = false;
};

}  // namespace millrace
