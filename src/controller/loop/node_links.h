// src/controller/loop/node_links.h - which manager answers for a node, and what the node said last.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "controller/views/views.h"
#include "ports/resource_manager.h"

namespace millrace {

struct NodeLink {
  ResourceManager* manager = nullptr;
  bool responding = false;
  bool reported = false;                // since its last registration in this run
  bool seemed_late = false;             // its clock is behind, or what it said last was long on its way
  Time heard_at;                        // this and the other times here: by the clock that nobody sets
  std::vector<AttemptReport> attempts;  // as last reported
  Time told_to_reboot;
  Time judged_devices, judged_clock;  // when that last changed something
  // By job, attempt, step and kind of order: when an order was last given, so as not to repeat it at once.
  std::map<std::tuple<JobKey, Attempt, std::int64_t, std::uint32_t>, Time> ordered;

  // It has said what runs there, and can be told something.
  bool can_be_told() const { return manager && reported; }
};

class NodeLinks final {
 public:
  // The manager of these nodes; with no names, of all that no other manager has.
  void add_manager(ResourceManager& manager, std::vector<std::string> nodes);
  const std::vector<ResourceManager*>& managers() const { return managers_; }
  bool is_default(const ResourceManager& manager) const { return default_ == &manager; }

  // Nodes have been made, changed or deleted. The time that a new one has to come back counts from `steady`.
  void know(const State& decided, Time steady);
  void forget(NodeIndex index);

  NodeLink* find(NodeIndex index);
  NodeLink& of(NodeIndex index) { return links_[index]; }
  std::map<NodeIndex, NodeLink>& all() { return links_; }
  std::optional<NodeIndex> index_of(const std::string& name) const;
  // Nothing: it is not known, or another manager's.
  std::optional<NodeIndex> own(const ResourceManager& by, const std::string& name);
  // Those that are wanted and do not answer.
  std::vector<NodeIndex> unreachable(const State& durable) const;

  void responds(NodeIndex index, bool responding);
  const SharedValue<Observed>& observed() const { return observed_; }
  Observed& edit_observed() { return observed_.edit(); }

 private:
  std::vector<ResourceManager*> managers_;
  std::map<std::string, ResourceManager*> manager_of_;
  ResourceManager* default_ = nullptr;
  std::map<std::string, NodeIndex, std::less<>> by_name_;
  std::map<NodeIndex, NodeLink> links_;
  SharedValue<Observed> observed_{Observed{}};
};

}  // namespace millrace
