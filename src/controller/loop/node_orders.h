// src/controller/loop/node_orders.h - what nodes are told: the difference between what the durable state wants of a
// node and what the node reports.
//
// Derived anew with each report and each change; only the time of the last order of a kind is remembered, so that it is
// not repeated at once. Any order may be lost, and comes again while the node's reports show that it had no effect.
#pragma once

#include "controller/loop/context.h"
#include "controller/loop/departed_users.h"
#include "controller/loop/node_links.h"
#include "controller/loop/payload_cache.h"
#include "controller/loop/reconcile.h"
#include "controller/steps/step_traffic.h"

namespace millrace {

class NodeOrders final {
 public:
  NodeOrders(const Context& context, EventLog& log, NodeLinks& links, StepTraffic& steps);

  void reconcile(NodeIndex node);
  // A batch job whose script is over tells what is left of its steps on other nodes to go. True: there may be some.
  bool end_steps_elsewhere(const Job& job, NodeIndex first);
  bool signal(const Job& job, const wire::SignalAttempt& signal);  // false: not all of its nodes answer
  void reboot_where_due(NodeIndex index, NodeLink& link);
  PayloadCache& payloads() { return payloads_; }

 private:
  void order(NodeIndex node, NodeLink& link, const Intent& intent);
  void launch(NodeIndex node, const LaunchIntent& intent);
  void let_go(NodeIndex node, JobKey key, Attempt attempt);
  void send_launch(NodeIndex node, const LaunchIntent& intent, const wire::LaunchPlan& plan, bool departed);
  // False: it was over already.
  bool cancel(JobKey key);

  const Context& c_;
  NodeLinks& links_;
  StepTraffic& steps_;
  PayloadCache payloads_;
  DepartedUsers departed_users_;
};

}  // namespace millrace
