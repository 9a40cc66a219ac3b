// tests/golden/outliving_history.cpp - the history of format 1 with jobs that go on without nodes that fail, and one
// whose script needs a certain node, after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 950}; }

ClusterConfigured configured_with_two_more(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  for (const char* name : {"frail1", "frail2"}) {
    NodeDef node;
    node.name = name;
    node.cpus = Cpus{4};
    node.cores_per_socket = 4;
    node.memory = Mebibytes{4000};
    node.features = "frail";
    out.nodes.push_back(node);
    out.partitions.front().nodes.push_back(node.name);
  }
  out.at = at(500);
  return out;
}

}  // namespace

std::vector<GoldenBatch> outliving_history() {
  std::vector<GoldenBatch> out = format1_history();
  const ClusterConfigured configured = configured_with_two_more(out);
  const NodeIndex first{static_cast<std::uint32_t>(configured.nodes.size() - 2)}, second{first.value + 1};
  const auto registered = [&](NodeIndex node, const char* boot, std::int64_t when) {
    return NodeRegistered{
        node, boot, {Cpus{4}, Mebibytes{4000}, {}, "x86_64", "Linux", "26.11.0", "frail", at(1), at(2)}, "", at(when)};
  };
  JobSubmitted runs = one_more_job(out, 9, "runs", 180, at(510)), over = one_more_job(out, 10, "over", 181, at(511));
  ResourceRequest request;
  request.features = "frail";
  runs.spec.resources = SharedValue(request);
  runs.spec.extras = SharedValue(JobExtras{.no_kill = true, .batch_features = "frail"});
  over.spec.extras = SharedValue(JobExtras{.no_kill = true});
  const NodeShare here{first, Cpus{2}, Mebibytes{100}, 1, false, {}},
      there{second, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {configured, registered(first, "boot-a", 501), registered(second, "boot-b", 501)}});
  out.push_back({{}, {runs, over}});
  out.push_back({{},
                 {JobPlaced{runs.key, Attempt{0}, {here, there}, false, at(520)},
                  JobPlaced{over.key, Attempt{0}, {here, there}, false, at(521)}}});
  out.push_back({{},
                 {JobLostNode{runs.key, Attempt{0}, second, at(530)},
                  JobLostNode{over.key, Attempt{0}, second, at(530)}, NodeLost{second, at(530)}}});
  out.push_back({{}, {AttemptEnded{over.key, Attempt{0}, first, AttemptEnd::exited, 0, 0, at(540)}}});
  return out;
}

}  // namespace millrace
