// src/controller/controller.h - the one loop: commands become durable facts, facts become orders to nodes and answers
// to people.
//
// This class builds the parts and passes calls on: what people ask to requests/, what nodes say to loop/node_reports
// and steps/, each step of the durable state to orders, readers, planning and snapshots, in this order.
#pragma once

#include <string>
#include <vector>

#include "controller/loop/context.h"
#include "controller/loop/deadlines.h"
#include "controller/loop/fact_log.h"
#include "controller/loop/node_orders.h"
#include "controller/loop/node_reports.h"
#include "controller/loop/scheduling.h"
#include "controller/loop/snapshots.h"
#include "controller/readers/readers.h"
#include "controller/requests/requests.h"
#include "controller/steps/step_inquiries.h"
#include "controller/steps/step_traffic.h"
#include "ports/resource_manager.h"

namespace millrace {

class Controller final : public ResourceObserver {
 public:
  struct Parts {
    Loop& loop;
    EventLog& log;
    Worker& plan_worker;
    Worker& query_worker;
    Identities& identities;
    Clients& clients;
    Programs* programs = nullptr;  // null: nothing can be run, and nothing is waited for
  };
  Controller(Parts parts, ControllerSettings settings, ControllerHooks hooks, State recovered);

  // The manager of these nodes; with no names, of all that no other manager has.
  void add_manager(ResourceManager& manager, std::vector<std::string> nodes = {}) {
    links_.add_manager(manager, std::move(nodes));
  }
  // The first facts of this run: a new epoch, the configuration. `ready` runs when they are durable; nodes may be
  // spoken to from then on, not before: an epoch that could be lost would be given out twice.
  // `first`: what the recovered state needs before anything else, see core/admission/put_records_aside.
  void start(ClusterConfigured configuration, Task ready = {}, std::vector<Event> first = {});
  Epoch epoch() const { return commit_.decided().epoch; }
  const State& durable() const { return commit_.durable(); }

  // Users take turns: where others have asked before, it is carried out in a later turn of the loop.
  void request(const Asker& asker, wire::Request request) { requests_.take(asker, std::move(request)); }
  void client_left(ClientId client) { requests_.client_left(client); }

  void node_registered(ResourceManager& by, const NodeRegistration& registration) override;
  void node_reported(ResourceManager& by, const std::string& node, const std::vector<AttemptReport>& attempts,
                     const wire::Telemetry& telemetry) override;
  void node_unreachable(ResourceManager& by, const std::string& node) override;
  void step_manager_said(ResourceManager& by, const std::string& node, const wire::StepFromNode& message) override;
  void step_sampled(ResourceManager& by, const std::string& node, const wire::StepSample& sample) override;

 private:
  void advanced(const Advance& step);
  void tick();
  void configured(const ClusterConfigured& configuration);
  void take_settings(const ControllerSettings& fresh);

  ControllerSettings settings_;
  ControllerHooks hooks_;
  DaemonLines lines_{hooks_};
  FactLog fact_log_{lines_.log(), lines_.schedule()};
  Diagnostics diagnostics_;
  Commit commit_;
  SpareRoom room_{commit_, lines_};
  ClockWatch clock_;
  const Context context_;
  Deadlines deadlines_{context_};
  NodeLinks links_;
  StepTraffic steps_{context_, links_};
  StepInquiries inquiries_{context_, links_};
  NodeOrders orders_;
  Scheduling scheduling_;
  NodeReports reports_;
  Readers readers_;
  FairWorker query_worker_;
  Snapshots snapshots_;
  Requests requests_;
};

}  // namespace millrace
