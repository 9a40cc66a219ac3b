// tests/golden/node_life_history.cpp - the history of format 1 with prologs, epilogs, failing and booting nodes after
// it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 640}; }

// Two more nodes, and something to run before and after every job.
ClusterConfigured configured_with_programs(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  for (const char* name : {"life1", "life2"}) {
    NodeDef node;
    node.name = name;
    node.cpus = Cpus{4};
    node.cores_per_socket = 4;
    node.memory = Mebibytes{4000};
    out.nodes.push_back(node);
    out.partitions.front().nodes.push_back(node.name);
  }
  Policy& policy = out.policy;
  policy.node_programs = policy.job_prolog = policy.job_epilog = policy.requeue_on_prolog_failure =
      policy.config_overrides = true;
  policy.resume_timeout_seconds = 600;
  out.at = at(500);
  return out;
}

JobSubmitted another(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name, std::int64_t second) {
  return one_more_job(before, key, name, static_cast<std::uint8_t>(100 + key), at(second));
}

}  // namespace

std::vector<GoldenBatch> node_life_history() {
  std::vector<GoldenBatch> out = format1_history();
  const std::vector<GoldenBatch> before = out;
  const ClusterConfigured configured = configured_with_programs(before);
  const NodeIndex first{static_cast<std::uint32_t>(configured.nodes.size() - 2)}, second{first.value + 1};
  const auto registered = [&](NodeIndex node, const char* boot, std::int64_t when) {
    return NodeRegistered{
        node, boot, {Cpus{4}, Mebibytes{3000}, {}, "x86_64", "Linux", "26.11.0", "life", at(1), at(2)}, "", at(when)};
  };
  out.push_back({{}, {configured, registered(first, "boot-a", 501), registered(second, "boot-b", 501)}});
  out.push_back(
      {{},
       {another(before, 9, "both", 510), another(before, 10, "unlucky", 511), another(before, 11, "waiting", 512)}});
  const NodeShare here{first, Cpus{2}, Mebibytes{100}, 1, false, {}},
      there{second, Cpus{2}, Mebibytes{100}, 1, false, {}};
  const JobKey both{9}, unlucky{10}, waiting{11};
  const auto placed = [](JobKey key, std::vector<NodeShare> shares, Time when) {
    JobPlaced e{key, Attempt{0}, std::move(shares), false, when};
    e.on_all_nodes = e.prolog = true;
    return e;
  };
  out.push_back(
      {{},
       {placed(both, {here, there}, at(520)), placed(unlucky, {there}, at(521)), placed(waiting, {here}, at(522))}});
  out.push_back({{},
                 {JobProgramEnded{both, Attempt{0}, JobProgram::prolog, false, at(530)},
                  JobProgramEnded{unlucky, Attempt{0}, JobProgram::prolog, false, at(531)}}});
  // A prolog fails: drained, held.
  out.push_back({{},
                 {NodeStateChanged{second, NodeOrder::drain, "Prolog error", UserId{0}, at(540)},
                  AttemptExited{unlucky, Attempt{0}, second, AttemptEnd::prolog_failed, 0, 0, at(540)}}});
  out.push_back({{},
                 {AttemptEnded{unlucky, Attempt{0}, second, AttemptEnd::prolog_failed, 0, 0, at(541)},
                  JobProgramEnded{unlucky, Attempt{0}, JobProgram::epilog, false, at(542)}}});
  // A script ends; one node is tidied up, the other not yet, and the controller's own epilog is still to come.
  out.push_back({{}, {AttemptExited{both, Attempt{0}, first, AttemptEnd::exited, 3, 0, at(550)}}});
  out.push_back({{}, {AttemptEnded{both, Attempt{0}, first, AttemptEnd::exited, 3, 0, at(551)}}});
  out.push_back({{}, {AttemptEnded{both, Attempt{0}, second, AttemptEnd::exited, 0, 15, at(552)}}});
  out.push_back(
      {{},
       {NodeStateChanged{second, NodeOrder::reboot_asap, "kernel", UserId{1000}, at(560), AfterReboot::resume},
        NodeModified{first, 7, "fast", "rack 3", "{}", at(561)},
        NodeStateChanged{first, NodeOrder::fail, "fan", UserId{0}, at(562)}}});
  out.push_back(
      {{},
       {NodeStateChanged{second, NodeOrder::reboot_issued, "", UserId{0}, at(563), AfterReboot::as_before, at(1163)}}});
  out.push_back({{}, {NodeStateChanged{first, NodeOrder::reboot, "", UserId{0}, at(564), AfterReboot::down}}});
  out.push_back(
      {{},
       {NodeStateChanged{first, NodeOrder::cancel_reboot, "", UserId{0}, at(565)}, registered(second, "boot-c", 600)}});
  out.push_back(
      {{},
       {NodeStateChanged{second, NodeOrder::reboot, "again", UserId{0}, at(610), AfterReboot::down},
        NodeStateChanged{second, NodeOrder::reboot_issued, "", UserId{0}, at(611), AfterReboot::as_before, at(1211)}}});
  return out;
}

}  // namespace millrace
