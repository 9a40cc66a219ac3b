// tests/golden/power_history.cpp - the history of format 1 with nodes that are powered down and up, made and deleted
// after it.
#include <algorithm>

#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 700}; }

NodeDef node_named(const char* name, NodeKind kind) {
  NodeDef node;
  node.name = name;
  node.cpus = Cpus{4};
  node.cores_per_socket = 4;
  node.memory = Mebibytes{4000};
  node.features = "extra";
  node.kind = kind;
  return node;
}

// A node in a cloud, one that is foreseen, an ordinary one, and everything that can be said about power.
ClusterConfigured configured_with_power(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  for (const auto& [name, kind] :
       {std::pair{"cloud1", NodeKind::cloud}, {"later1", NodeKind::future}, {"plain1", NodeKind::normal}}) {
    out.nodes.push_back(node_named(name, kind));
    out.partitions.front().nodes.push_back(name);
  }
  out.nodes.back().suspend_seconds = 600;
  out.nodes.back().keep_up = 1;
  PartitionDef& partition = out.partitions.front();
  partition.all_nodes = partition.power_down_on_idle = partition.never_suspend = true;
  partition.node_features = {"extra", "more"};
  partition.suspend_seconds = 300;
  partition.suspend_timeout_seconds = 40;
  partition.resume_timeout_seconds = 400;
  Policy& policy = out.policy;
  policy.power.saving = policy.power.show_cloud = true;
  policy.power.suspend_seconds = 900;
  policy.power.suspend_timeout_seconds = 45;
  policy.power.suspend_rate = 7;
  policy.power.resume_rate = 9;
  policy.power.suspend_except = except_down | except_drain;
  policy.power.keep_up = {2, unlimited};
  policy.max_nodes = 100;
  out.at = at(500);
  return out;
}

}  // namespace

std::vector<GoldenBatch> power_history() {
  std::vector<GoldenBatch> out = format1_history();
  const std::vector<GoldenBatch> before = out;
  const ClusterConfigured configured = configured_with_power(before);
  // Indexes are given in the order in which names were first seen.
  std::vector<std::string> names;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event))
        for (const NodeDef& node : e->nodes)
          if (std::ranges::find(names, node.name) == names.end()) names.push_back(node.name);
  const NodeIndex cloud{static_cast<std::uint32_t>(names.size())}, later{cloud.value + 1}, plain{cloud.value + 2},
      made{cloud.value + 3};
  const auto registered = [&](NodeIndex node, std::int64_t started, std::int64_t when) {
    return NodeRegistered{node,
                          "boot-p",
                          {Cpus{4}, Mebibytes{4000}, {}, "x86_64", "Linux", "26.11.0", "power", at(1), at(started)},
                          "",
                          at(when)};
  };
  const auto powered = [&](PowerChange change, NodeIndex node, std::int64_t when, std::int64_t due = 0) {
    return NodesPowered{
        .change = change, .nodes = {node}, .due = due == 0 ? Time{} : at(due), .by = UserId{0}, .at = at(when)};
  };
  out.push_back({{}, {configured, registered(plain, 2, 501)}});
  out.push_back({{},
                 {one_more_job(before, 9, "boots", 109, at(510)), one_more_job(before, 10, "never", 110, at(511)),
                  one_more_job(before, 11, "waits", 111, at(512))}});
  const NodeShare here{cloud, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{},
                 {JobPlaced{JobKey{9}, Attempt{0}, {here}, false, at(520)},
                  powered(PowerChange::coming_up, cloud, 521, 921), powered(PowerChange::told, cloud, 522)}});
  out.push_back(
      {{},
       {registered(cloud, 530, 531), AttemptEnded{JobKey{9}, Attempt{0}, cloud, AttemptEnd::exited, 0, 0, at(540)}}});
  out.push_back({{},
                 {powered(PowerChange::going_down, cloud, 541, 581), powered(PowerChange::up_wanted, cloud, 542),
                  powered(PowerChange::off, cloud, 581)}});
  out.push_back(
      {{},
       {powered(PowerChange::coming_up, cloud, 582, 982), JobPlaced{JobKey{10}, Attempt{0}, {here}, false, at(583)}}});
  out.push_back({{},
                 {AttemptEnded{JobKey{10}, Attempt{0}, cloud, AttemptEnd::node_lost, 0, 0, at(982)},
                  powered(PowerChange::failed, cloud, 982)}});
  out.push_back({{},
                 {powered(PowerChange::down_wanted, plain, 990), powered(PowerChange::called_off, plain, 991),
                  powered(PowerChange::down_asap, plain, 992)}});
  out.push_back({{},
                 {NodeCreated{node_named("made1", NodeKind::cloud), UserId{0}, at(993)},
                  NodeCreated{node_named("made2", NodeKind::normal), UserId{1000}, at(994)}}});
  out.push_back(
      {{}, {NodeDeleted{NodeIndex{made.value + 1}, UserId{0}, at(995)}, powered(PowerChange::up_wanted, made, 996)}});
  out.push_back({{},
                 {NodeStateChanged{later, NodeOrder::resume, "", UserId{0}, at(997)}, registered(later, 3, 998),
                  NodeStateChanged{later, NodeOrder::future, "not yet", UserId{0}, at(999)}}});
  out.push_back({{},
                 {NodeModified{cloud, {}, {}, {}, {}, at(1000), "10.0.0.7", "host7"},
                  powered(PowerChange::down_forced, plain, 1001, 1046)}});
  // At the end a job waits for its node.
  out.push_back(
      {{},
       {JobPlaced{JobKey{11}, Attempt{0}, {NodeShare{made, Cpus{2}, Mebibytes{100}, 1, false, {}}}, false, at(1010)},
        powered(PowerChange::coming_up, made, 1011, 1411)}});
  return out;
}

}  // namespace millrace
