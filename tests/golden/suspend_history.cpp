// tests/golden/suspend_history.cpp - the history of format 1 with suspended jobs, shared CPUs and turns after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 250}; }

// One more node, whose CPUs jobs take turns on.
ClusterConfigured configured_to_suspend(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  NodeDef node;
  node.name = "turns";
  node.cpus = Cpus{4};
  node.cores_per_socket = 4;
  node.memory = Mebibytes{4000};
  out.nodes.push_back(node);
  out.partitions.front().nodes.push_back(node.name);
  out.partitions.front().sharing = CpuSharing::forced;
  out.partitions.front().share_max = 3;
  out.partitions.front().preempt_mode = PreemptMode::suspend;
  out.policy.preempt_type = PreemptType::partition;
  out.policy.preempt_mode = PreemptMode::suspend;
  out.policy.gang = true;
  out.policy.time_slice_seconds = 20;
  out.at = at(500);
  return out;
}

JobSubmitted another(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name, std::int64_t second) {
  return one_more_job(before, key, name, static_cast<std::uint8_t>(150 + key), at(second));
}

}  // namespace

std::vector<GoldenBatch> suspend_history() {
  std::vector<GoldenBatch> out = format1_history();
  const std::vector<GoldenBatch> before = out;
  const ClusterConfigured configured = configured_to_suspend(before);
  const NodeIndex node{static_cast<std::uint32_t>(configured.nodes.size() - 1)};
  ShareDetail left, both;
  left.cpus = {0b0011};
  both.cpus = {0b1111};
  const NodeShare half{node, Cpus{2}, Mebibytes{100}, 1, false, SharedValue(left)},
      whole{node, Cpus{4}, Mebibytes{100}, 1, false, SharedValue(both)};
  const JobKey kept{9}, first{10}, second{11}, urgent{12};
  const auto placed = [](JobKey key, const NodeShare& share, Time when, bool shared) {
    JobPlaced e{key, Attempt{0}, {share}, false, when};
    e.shared = shared;
    return e;
  };
  out.push_back(
      {{},
       {configured, NodeRegistered{node,
                                   "boot-a",
                                   {Cpus{4}, Mebibytes{4000}, {}, "x86_64", "Linux", "26.11.0", "turns", at(1), at(2)},
                                   "",
                                   at(501)}}});
  out.push_back({{},
                 {another(before, 9, "kept", 510), another(before, 10, "first", 511),
                  another(before, 11, "second", 512), another(before, 12, "urgent", 513)}});
  // By order, wanted back, and gone on with.
  out.push_back({{}, {placed(kept, half, at(520), false)}});
  out.push_back({{}, {JobSuspended{kept, SuspendWhy::administrator, {}, UserId{1000}, at(530)}}});
  // Two that share and take turns.
  out.push_back({{}, {placed(first, half, at(531), true)}});
  out.push_back(
      {{}, {placed(second, whole, at(532), true), JobSuspended{second, SuspendWhy::time_slice, {}, {}, at(532)}}});
  out.push_back({{}, {JobResumeWanted{kept, UserId{0}, at(540)}}});
  out.push_back({{}, {TimeSliceTurned{{first}, {second}, at(552)}}});
  out.push_back({{}, {TimeSliceTurned{{second}, {first}, at(572)}}});
  // For a more urgent one; ended while suspended, and gone on after it.
  out.push_back(
      {{}, {JobSuspended{first, SuspendWhy::preempted, urgent, {}, at(580)}, placed(urgent, half, at(580), false)}});
  out.push_back({{}, {JobCancelled{second, UserId{1000}, at(585)}}});
  out.push_back({{}, {AttemptEnded{second, Attempt{0}, node, AttemptEnd::exited, 0, 15, at(586)}}});
  out.push_back(
      {{}, {AttemptEnded{urgent, Attempt{0}, node, AttemptEnd::exited, 0, 0, at(590)}, JobResumed{first, at(590)}}});
  out.push_back(
      {{}, {AttemptEnded{first, Attempt{0}, node, AttemptEnd::exited, 0, 0, at(600)}, JobResumed{kept, at(600)}}});
  out.push_back({{}, {JobSuspended{kept, SuspendWhy::administrator, {}, UserId{0}, at(610)}}});
  return out;
}

}  // namespace millrace
