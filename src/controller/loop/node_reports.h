// src/controller/loop/node_reports.h - what nodes say becomes facts, as far as the ledger bears it out.
//
// Nothing of it is trusted: a manager is heard only about nodes that are its own, and what a report says of jobs is
// decided in core/admission. A node that has not been heard for SlurmdTimeout is lost, by the clock that nobody sets;
// time in which the controller's own loop heard nobody does not count.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "controller/loop/context.h"
#include "controller/loop/node_links.h"
#include "controller/loop/node_orders.h"
#include "controller/steps/step_traffic.h"

namespace millrace {

class NodeReports final {
 public:
  // `ready_again`: there may be room where there was none.
  NodeReports(const Context& context, NodeLinks& links, StepTraffic& steps, NodeOrders& orders,
              std::function<void()> ready_again)
      : c_(context), links_(links), steps_(steps), orders_(orders), ready_again_(std::move(ready_again)) {}

  void registered(ResourceManager& by, const NodeRegistration& registration);
  void reported(ResourceManager& by, const std::string& node, const std::vector<AttemptReport>& attempts,
                const wire::Telemetry& telemetry);
  void unreachable(ResourceManager& by, const std::string& node);
  void tick();  // once a second

 private:
  void take(NodeIndex node, const std::vector<AttemptReport>& attempts);
  // Returns the first nodes of jobs that may have waited for steps on this node.
  std::set<NodeIndex> judge(NodeIndex node);
  void judge_devices(NodeIndex node, const wire::Telemetry& telemetry);
  void judge_clock(NodeIndex node, Time its_clock);
  void note_prologs(NodeIndex node, const std::vector<AttemptReport>& attempts);
  // A node may say something else with each word. It is judged anew once in a heartbeat: what still holds comes again.
  bool is_due(Time judged) const;
  // A node that came by itself (slurmd -Z) is made as it says it is.
  bool create_unknown(ResourceManager& by, const NodeRegistration& registration);

  const Context& c_;
  NodeLinks& links_;
  StepTraffic& steps_;
  NodeOrders& orders_;
  std::function<void()> ready_again_;
  Time ticked_at_;  // steady; not set: not yet
};

}  // namespace millrace
