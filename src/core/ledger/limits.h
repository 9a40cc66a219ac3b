// src/core/ledger/limits.h - the limits of associations and QOS: does one keep this job from starting, or from being
// submitted?
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/job_size.h"
#include "core/ledger/state.h"
#include "core/model/limit_reason.h"

namespace millrace {

// A limit that would be passed: whose, which, how much of it is used and how much more is needed.
struct LimitHit {
  LimitScope scope{};
  LimitKind kind{};
  std::uint32_t holder = 0;  // AssociationId or QosId
  std::uint32_t member = 0;  // uid, or AssociationId of the account, where the limit is per user or account in a QOS
  std::string tres;          // for kinds counted by resource
  std::int64_t limit = 0, used = 0, needs = 0;  // minutes for the kinds that count time
};
Reason reason_of(const LimitHit& hit);
// "account physics may use 16 cpu at once (GrpTRES); 12 are in use and this job needs 8"
std::string limit_in_words(const State& state, const LimitHit& hit);

// One limit of one holder, ready to be compared.
struct LimitRow {
  LimitKind kind{};
  std::uint8_t slot = 0;
  std::int64_t value = 0;
};

// The limits of a cluster and what is used of them, with what a plan under way has taken on top: so that two jobs which
// each fit alone are not both started. Limits are looked at only where AccountingStorageEnforce=limits says so.
class LimitUse {
 public:
  LimitUse(const State& state, Time now);
  LimitUse(const LimitUse&) = delete;
  LimitUse& operator=(const LimitUse&) = delete;

  // No limit can keep any job waiting: nothing else needs to be asked.
  bool is_idle() const { return !enforced_; }
  Reason blocks(const Job& job, const JobSize& size) const;
  std::optional<LimitHit> first_hit(const Job& job, const JobSize& size) const;
  // The job starts: what it takes counts from now on.
  void take(const Job& job, const JobSize& size);
  // Several are tried together: what was taken since is given back.
  std::map<UseKey, Use> taken() const { return taken_; }
  void restore(std::map<UseKey, Use> taken) { taken_ = std::move(taken); }
  // Jobs of one group count for the same holders. If one is blocked, so is every other that needs at least as much.
  std::uint32_t group_of(const Job& job) const;

 private:
  struct GroupKey {
    std::uint32_t association = 0, qos = 0, partition_qos = 0, uid = 0;
    auto operator<=>(const GroupKey&) const = default;
  };
  const State& state_;
  Time now_;
  bool enforced_;
  std::map<UseKey, Use> taken_;  // as it is with what this plan has started
  mutable std::map<GroupKey, std::uint32_t> groups_;
  std::vector<std::vector<LimitRow>> association_rows_, qos_rows_;  // by id
};

// The same questions about one job, on the state as it is: cheap enough to be asked for every placement and every
// submission.
std::optional<LimitHit> start_hit(const State& state, const Job& job, const JobSize& size, Time now);
// Of a heterogeneous job: each component on top of the ones before it. Of any other job the same as start_hit with what
// it asks for.
std::optional<LimitHit> whole_start_hit(const State& state, const Job& job, Time now);
// May so many more tasks be submitted? With `per_job`, also what no job of this size could ever pass (QOS flag
// DenyOnLimit).
std::optional<LimitHit> submit_hit(const State& state, const Job& job, std::uint32_t tasks, bool per_job, Time now);

bool limits_enforced(const State& state);

}  // namespace millrace
