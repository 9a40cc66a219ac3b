// src/controller/loop/node_links.cpp - see node_links.h.
#include "controller/loop/node_links.h"

namespace millrace {

void NodeLinks::add_manager(ResourceManager& manager, std::vector<std::string> nodes) {
  managers_.push_back(&manager);
  if (nodes.empty()) default_ = &manager;
  for (std::string& node : nodes) manager_of_[std::move(node)] = &manager;
}

void NodeLinks::know(const State& decided, Time steady) {
  by_name_.clear();
  for (const auto& [index, node] : decided.nodes) {
    if (!node->configured && node->jobs.empty()) continue;  // one taken out is still heard until its jobs have ended
    by_name_[node->def->name] = index;
    NodeLink& link = links_[index];
    const auto named = manager_of_.find(node->def->name);
    link.manager = named == manager_of_.end() ? default_ : named->second;
    if (!link.heard_at.is_set()) link.heard_at = steady;
  }
}

void NodeLinks::forget(NodeIndex index) {
  links_.erase(index);
  observed_.edit().responding.erase(index);
  observed_.edit().telemetry.erase(index);
}

NodeLink* NodeLinks::find(NodeIndex index) {
  const auto it = links_.find(index);
  return it == links_.end() ? nullptr : &it->second;
}

std::optional<NodeIndex> NodeLinks::index_of(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? std::nullopt : std::optional{it->second};
}

std::optional<NodeIndex> NodeLinks::own(const ResourceManager& by, const std::string& name) {
  const auto index = index_of(name);
  return index && links_[*index].manager == &by ? index : std::nullopt;
}

std::vector<NodeIndex> NodeLinks::unreachable(const State& durable) const {
  std::vector<NodeIndex> out;
  for (const auto& [index, link] : links_) {
    if (link.responding) continue;
    const auto* node = durable.nodes.find(index);
    if (!node || (*node)->is_ready())
      out.push_back(index);  // who waits for one that is not on waits for more than an answer
  }
  return out;
}

void NodeLinks::responds(NodeIndex index, bool responding) {
  links_[index].responding = responding;
  observed_.edit().responding[index] = responding;
}

}  // namespace millrace
