// tests/golden/placing_history.cpp - the history of format 1 with rules of where jobs go: caps of partitions, least
// loaded nodes, segments of blocks, what submissions need.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 900}; }

ClusterConfigured configured_with_rules(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  out.partitions.front().max_cpus_per_node = 3;
  out.partitions.back().least_loaded = true;
  out.policy.least_loaded = out.policy.one_task_per_core = out.policy.enforce_gres_binding = true;
  out.policy.require_time_limit = out.policy.all_partitions = true;
  out.at = at(500);
  return out;
}

JobSubmitted in_segments(JobSubmitted job, std::uint32_t segment, bool spread) {
  ResourceRequest ask = job.spec.resource_request();
  ask.segment = segment;
  ask.spread_segments = spread;
  ask.consolidate_segments = !spread;
  job.spec.resources = SharedValue(std::move(ask));
  return job;
}

}  // namespace

std::vector<GoldenBatch> placing_history() {
  std::vector<GoldenBatch> out = format1_history();
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  const JobSubmitted spread = in_segments(one_more_job(out, 9, "spread", 170, at(510)), 2, true),
                     packed = in_segments(one_more_job(out, 10, "packed", 171, at(511)), 4, false);
  out.push_back({{}, {configured_with_rules(out)}});
  out.push_back({{}, {spread, packed}});
  out.push_back({{}, {JobPlaced{spread.key, Attempt{0}, {share}, false, at(520)}}});
  out.push_back({{}, {AttemptEnded{spread.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(530)}}});
  return out;
}

}  // namespace millrace
