// tests/golden/partition_rules_history.cpp - the history of format 1 with everything that partitions and the cluster
// can demand of jobs after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

ClusterConfigured configured_with_rules(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  PartitionDef& partition = out.partitions.front();
  partition.exclusive_user = partition.require_reservation = true;
  partition.submit_hosts = {"login1", "login2"};
  partition.default_memory_per_gpu = 8000;
  partition.default_cpus_per_gpu = 4;
  out.policy.enforce_partition_limits = out.policy.enforce_every_partition = out.policy.kill_invalid_dependency = true;
  out.policy.requeue_exit = {3};
  out.policy.requeue_exit_hold = {4, 5};
  out.policy.default_memory_per_gpu = 4000;
  out.policy.default_cpus_per_gpu = 2;
  out.at = at(500);
  return out;
}

}  // namespace

std::vector<GoldenBatch> partition_rules_history() {
  std::vector<GoldenBatch> out = format1_history();
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  const JobSubmitted again = one_more_job(out, 9, "again", 159, at(510)),
                     held = one_more_job(out, 10, "held", 160, at(511));
  out.push_back({{}, {configured_with_rules(out)}});
  out.push_back({{}, {again, held}});
  out.push_back({{},
                 {JobPlaced{again.key, Attempt{0}, {share}, false, at(520)},
                  JobPlaced{held.key, Attempt{0}, {share}, false, at(521)}}});
  out.push_back({{},
                 {AttemptEnded{again.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 3, 0, at(530)},
                  AttemptEnded{held.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 5, 0, at(531)}}});
  return out;
}

}  // namespace millrace
