// tests/golden/node_orders_history.cpp - the history of format 1 with nodes that come back by themselves, active
// features and instances of a cloud after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 1040}; }

NodeModified resumed_at(NodeIndex node, Time when, std::int64_t second) {
  NodeModified out{node, {}, {}, {}, {}, at(second)};
  out.resume_at = when;
  return out;
}

NodeModified active(NodeIndex node, const char* features, std::int64_t second) {
  NodeModified out{node, {}, {}, {}, {}, at(second)};
  out.active_features = features;
  return out;
}

}  // namespace

std::vector<GoldenBatch> node_orders_history() {
  std::vector<GoldenBatch> out = format1_history();
  const NodeIndex first{0}, second{1};
  const auto ordered = [](NodeIndex node, NodeOrder order, const char* reason, std::int64_t when) {
    return NodeStateChanged{node, order, reason, UserId{0}, at(when)};
  };
  out.push_back({{}, {ordered(second, NodeOrder::drain, "hot", 510), resumed_at(second, at(810), 510)}});
  out.push_back(
      {{}, {resumed_at(second, at(700), 520), resumed_at(second, Time{}, 530), resumed_at(second, at(610), 540)}});
  out.push_back({{}, {ordered(second, NodeOrder::resume, "", 610)}});
  NodeModified named{first, {}, "red,green", {}, {}, at(620)};
  named.instance_id = "i-0123";
  named.instance_type = "large \xc3\xa9";
  out.push_back({{}, {named, active(first, "green", 621), active(second, "", 622)}});
  Inventory told{Cpus{4}, Mebibytes{4000}, {}, "x86_64", "Linux", "26.11.0", "cloud", at(1), at(630)};
  told.instance_id = "i-4567";
  told.instance_type = "small";
  told.extra = "{\"rack\":7}";
  out.push_back({{}, {NodeRegistered{second, "boot-o", told, "", at(631)}}});
  // At the end one is drained and comes back later.
  out.push_back({{}, {ordered(first, NodeOrder::drain, "fan", 640), resumed_at(first, at(1240), 640)}});
  return out;
}

}  // namespace millrace
