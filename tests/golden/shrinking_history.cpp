// tests/golden/shrinking_history.cpp - the history of format 1 with running jobs that give up nodes, after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 1100}; }

ClusterConfigured configured_with_three_more(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  for (const char* name : {"spare1", "spare2", "spare3"}) {
    NodeDef node;
    node.name = name;
    node.cpus = Cpus{4};
    node.cores_per_socket = 4;
    node.memory = Mebibytes{4000};
    out.nodes.push_back(node);
    out.partitions.front().nodes.push_back(node.name);
  }
  out.at = at(500);
  return out;
}

}  // namespace

// One has left a node, one still has something to end on another, one gave up a node and is over.
std::vector<GoldenBatch> shrinking_history() {
  std::vector<GoldenBatch> out = format1_history();
  const ClusterConfigured configured = configured_with_three_more(out);
  const NodeIndex first{static_cast<std::uint32_t>(configured.nodes.size() - 3)}, second{first.value + 1},
      third{first.value + 2};
  const auto registered = [&](NodeIndex node) {
    return NodeRegistered{node,
                          "boot-a",
                          {Cpus{4}, Mebibytes{4000}, {}, "x86_64", "Linux", "26.11.0", "spare", at(1), at(2)},
                          "",
                          at(501)};
  };
  const JobSubmitted left = one_more_job(out, 9, "left", 190, at(510)),
                     leaves = one_more_job(out, 10, "leaves", 191, at(511)),
                     over = one_more_job(out, 11, "over", 192, at(512));
  const auto share = [](NodeIndex node) { return NodeShare{node, Cpus{1}, Mebibytes{100}, 1, false, {}}; };
  const auto placed = [&](const JobSubmitted& job, std::int64_t when) {
    return JobPlaced{job.key, Attempt{0}, {share(first), share(second), share(third)}, false, at(when)};
  };
  out.push_back({{}, {configured, registered(first), registered(second), registered(third)}});
  out.push_back({{}, {left, leaves, over}});
  out.push_back({{}, {placed(left, 520), placed(leaves, 521), placed(over, 522)}});
  out.push_back(
      {{},
       {JobShrunk{left.key, Attempt{0}, {second, third}, at(530)}, JobShrunk{leaves.key, Attempt{0}, {third}, at(531)},
        JobShrunk{over.key, Attempt{0}, {second}, at(532)}}});
  out.push_back({{},
                 {AttemptEnded{left.key, Attempt{0}, second, AttemptEnd::exited, 0, 0, at(540)},
                  AttemptEnded{left.key, Attempt{0}, third, AttemptEnd::exited, 0, 0, at(541)}}});
  out.push_back({{}, {AttemptEnded{over.key, Attempt{0}, first, AttemptEnd::exited, 0, 0, at(550)}}});
  return out;
}

}  // namespace millrace
