// src/core/planner/priority.h - who comes first: the weighted sum of age, fair share, size, partition, QOS and
// resources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/planner/fair_share.h"

namespace millrace {

// Each factor as a part of one (more where PriorityFlags says NO_NORMAL), and what it is worth.
struct PriorityFactors {
  struct Factor {
    Fixed part, points;
  };
  struct TresPoints {
    std::string name;
    Fixed part, points;
  };
  Factor age, assoc, fairshare, job_size, partition, qos;
  std::vector<TresPoints> tres;
  std::int64_t site = 0, nice = 0;
  std::uint32_t priority = 0;
};

// A pure function of a state and a time, rounded down to PriorityCalcPeriod: between two passes the order does not
// change without reason. The state must outlive it.
class Priorities {
 public:
  Priorities(const State& state, Time now);

  // 0: held. An administrator's number, and any number under priority/basic, is as it was given.
  std::uint32_t of(const Job& job) const { return of(job, job.spec->partition); }
  std::uint32_t of(const Job& job, PartitionIndex partition) const;
  PriorityFactors factors(const Job& job, PartitionIndex partition) const;
  const FairShare& fair_share() const { return shares_; }
  Time as_of() const { return at_; }

 private:
  Fixed age_part(const Job& job) const;
  Fixed size_part(const Job& job) const;
  Fixed tres_points(const Job& job, PartitionIndex partition, std::vector<PriorityFactors::TresPoints>* each) const;
  std::uint32_t total(Fixed points, const Job& job) const;

  const State& state_;
  const PriorityPolicy& policy_;
  Time at_;
  FairShare shares_;
  std::int64_t nodes_ = 0, cpus_ = 0;                             // of the cluster
  std::vector<Fixed> partition_parts_, qos_parts_, assoc_parts_;  // by index and id
  std::vector<Fixed> fixed_points_;   // by association: what fair share and association are worth
  std::vector<Tres> partition_tres_;  // all that each partition has
};

}  // namespace millrace
