// src/step/step_manager/step_launches.h - launches of steps that no report has confirmed yet. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent.pb.h"

namespace millrace {

// A launch is added for each node of a step, leaves in its turn with next(), and is given again from order_again() on
// until a report confirms that it arrived: an agent or a controller may have been away. So many bytes are under way at
// a time, so that every link can hold them.
class StepLaunches {
 public:
  // `common`: what is the same on all nodes of the step; once, before its nodes are added.
  void add_step(std::uint32_t step, wire::LaunchPlan common);
  void add_node(std::uint32_t step, const std::string& node, wire::LaunchPlan own);

  void order_new(std::int64_t now_us);    // those that were added
  void order_again(std::int64_t now_us);  // all of them
  // One to be sent now, to the node it names.
  std::optional<wire::StepFromNode> next(const wire::Credential& identity);
  std::int64_t due_us() const { return steps_.empty() ? INT64_MAX : again_us_; }  // when to call order_again()

  bool knows(std::uint32_t step, const std::string& node) const;
  // True: that was the last of the step.
  bool confirm(std::uint32_t step, const std::string& node);
  void clear();
  bool empty() const { return steps_.empty(); }
  std::size_t bytes() const;  // of memory: the environment of each step is kept until the last node has confirmed

 private:
  struct OnNode {
    wire::LaunchPlan own;  // what is this node's
    std::size_t sent = 0;  // bytes, once it is on its way
  };
  struct OfStep {
    wire::LaunchPlan common;
    std::map<std::string, OnNode> nodes;
  };
  std::map<std::uint32_t, OfStep> steps_;
  std::size_t under_way_bytes_ = 0;
  bool all_sent_ = true;
  std::int64_t again_us_ = 0;
};

}  // namespace millrace
