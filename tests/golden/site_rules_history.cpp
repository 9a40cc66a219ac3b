// tests/golden/site_rules_history.cpp - the history of format 1 with time beyond limits, requeues that are counted,
// cores kept for the system and the shell of an salloc after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 800}; }

ClusterConfigured configured_with_rules(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  out.nodes.back().withheld_cpus = {0b1000'1000};
  out.nodes.back().withheld_memory = Mebibytes{1000};
  out.partitions.front().over_time_minutes = 3;
  out.partitions.back().over_time_minutes = unlimited;
  out.policy.over_time_minutes = 7;
  out.policy.max_requeues = 1;
  out.policy.requeue_exit = {3};
  out.policy.requeue_exit_hold = {4};
  out.policy.private_data = private_jobs | private_usage;
  out.at = at(500);
  return out;
}

StepStart shell(std::int64_t second) {
  StepStart out;
  out.id = interactive_step;
  out.name = "interactive";
  out.nodes = StepNodes{{0}};
  out.tasks = 1;
  out.cpus = Cpus{2};
  out.at = at(second);
  out.srun_host = "login1";
  return out;
}

}  // namespace

std::vector<GoldenBatch> site_rules_history() {
  std::vector<GoldenBatch> out = format1_history();
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  const JobSubmitted often = one_more_job(out, 9, "often", 170, at(510)),
                     special = one_more_job(out, 10, "special", 171, at(511)),
                     left = one_more_job(out, 11, "left", 172, at(512)),
                     runs = one_more_job(out, 12, "runs", 173, at(513));
  out.push_back({{}, {configured_with_rules(out)}});
  out.push_back({{}, {often, special, left, runs}});
  out.push_back({{},
                 {JobPlaced{often.key, Attempt{0}, {share}, false, at(520)},
                  JobPlaced{special.key, Attempt{0}, {share}, false, at(521)}}});
  out.push_back({{},
                 {AttemptEnded{often.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 3, 0, at(530)},
                  AttemptEnded{special.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 4, 0, at(531)}}});
  out.push_back({{},
                 {JobBecameEligible{often.key, at(700)}, JobPlaced{often.key, Attempt{1}, {share}, false, at(701)},
                  AttemptEnded{often.key, Attempt{1}, NodeIndex{0}, AttemptEnd::exited, 3, 0, at(710)}}});
  out.push_back({{},
                 {JobPlaced{left.key, Attempt{0}, {share}, false, at(720)},
                  StepsReported{left.key, Attempt{0}, {shell(721)}, {}, at(722)}}});
  JobTimedOut gone{left.key, at(730)};
  gone.inactive = true;
  out.push_back({{}, {gone, AttemptEnded{left.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(731)}}});
  out.push_back({{},
                 {JobPlaced{runs.key, Attempt{0}, {share}, false, at(740)},
                  StepsReported{runs.key, Attempt{0}, {shell(741)}, {}, at(742)}}});
  JobRequeued special_again{left.key, true, UserId{0}, at(750)};
  special_again.special_exit = true;
  out.push_back({{}, {special_again}});
  return out;
}

}  // namespace millrace
