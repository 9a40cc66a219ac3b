// src/controller/loop/scheduling.h - passes of the planner, and what becomes of what they propose: each placement and
// preemption is checked against what is true by now and becomes a fact, or is dropped.
#pragma once

#include "controller/loop/context.h"
#include "controller/loop/fact_log.h"
#include "controller/loop/node_links.h"
#include "controller/loop/node_orders.h"
#include "controller/loop/planning.h"
#include "controller/loop/wait_log.h"
#include "controller/views/views.h"

namespace millrace {

class Scheduling final {
 public:
  // `completing`: how long nobody may start, because of jobs that are completing.
  Scheduling(const Context& context, Worker& worker, NodeLinks& links, NodeOrders& orders, Diagnostics& diagnostics,
             FactLog& fact_log, std::move_only_function<Duration()> completing);

  void wanted() { planning_.wanted(); }
  // Before anybody new is placed: those that were suspended for others, or are to go on, have waited on their nodes.
  void resume_suspended();
  void configured(const Policy& policy);
  void advanced(const Changes& changes);
  void tick();
  const SharedValue<PlanReport>& report() const { return report_; }

 private:
  // A plan that is carried out, a part of it in each turn of the loop.
  struct Carrying {
    Plan plan;
    PlanReport report{};
    std::size_t placed = 0, suspended = 0, ended = 0;  // of its placements and preemptions: so many are dealt with
  };
  void finished(Plan plan);
  void carry_on();
  void carry_out(const Proposal& p, PlanReport& report);
  std::int64_t looks_of(const Proposal& p) const;
  std::int64_t looks_at(const std::vector<NodeShare>& shares) const;
  void preempt(const Preemption& p);
  const Context& c_;
  NodeOrders& orders_;
  std::optional<Carrying> carrying_;
  Planning planning_;
  WaitLog wait_log_;
  SharedValue<PlanReport> report_{PlanReport{}};
  Time replanned_at_;  // for the sake of time alone; steady
};

}  // namespace millrace
