// src/step/step_manager/step_launches.cpp - see step_launches.h.
#include "step/step_manager/step_launches.h"

#include <algorithm>
#include <utility>

#include "wire/limits.h"
#include "wire/step_busy.h"

namespace millrace {

static constexpr std::int64_t order_again_after_us = 5'000'000;

void StepLaunches::add_step(std::uint32_t step, wire::LaunchPlan common) { steps_[step].common = std::move(common); }

void StepLaunches::add_node(std::uint32_t step, const std::string& node, wire::LaunchPlan own) {
  steps_.at(step).nodes[node] = {std::move(own), 0};
}

void StepLaunches::order_new(std::int64_t now_us) {
  all_sent_ = false;
  if (again_us_ <= now_us) again_us_ = now_us + order_again_after_us;
}

void StepLaunches::order_again(std::int64_t now_us) {
  for (auto& [id, step] : steps_)
    for (auto& [node, launch] : step.nodes) launch.sent = 0;
  under_way_bytes_ = 0;
  all_sent_ = false;
  again_us_ = now_us + order_again_after_us;
}

std::optional<wire::StepFromNode> StepLaunches::next(const wire::Credential& identity) {
  if (all_sent_) return std::nullopt;
  for (auto& [id, step] : steps_)
    for (auto& [node, launch] : step.nodes) {
      if (launch.sent != 0) continue;
      wire::StepFromNode message;
      *message.mutable_launch()->mutable_identity() = identity;
      wire::LaunchPlan& plan = *message.mutable_launch()->mutable_plan();
      plan = step.common;
      plan.MergeFrom(launch.own);
      plan.set_node_position(launch.own.node_position());  // also where it is 0
      const std::size_t size = message.ByteSizeLong();
      if (under_way_bytes_ != 0 && under_way_bytes_ + size > launch_burst_max) return std::nullopt;
      launch.sent = size;
      under_way_bytes_ += size;
      message.set_node(node);
      return message;
    }
  all_sent_ = true;
  return std::nullopt;
}

bool StepLaunches::knows(std::uint32_t step, const std::string& node) const {
  const auto found = steps_.find(step);
  return found != steps_.end() && found->second.nodes.contains(node);
}

bool StepLaunches::confirm(std::uint32_t step, const std::string& node) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return false;
  const auto launch = found->second.nodes.find(node);
  if (launch == found->second.nodes.end()) return false;
  under_way_bytes_ -= std::min(under_way_bytes_, launch->second.sent);
  found->second.nodes.erase(launch);
  if (!found->second.nodes.empty()) return false;
  steps_.erase(found);
  return true;
}

void StepLaunches::clear() {
  steps_.clear();
  under_way_bytes_ = 0;
}

std::size_t StepLaunches::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [id, step] : steps_) bytes += step.common.environment().size() + extra_memory_of(step.common.job());
  return bytes;
}

}  // namespace millrace
