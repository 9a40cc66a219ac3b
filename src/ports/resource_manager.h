// src/ports/resource_manager.h - where scheduler and resource manager meet: what a manager of nodes is told, and what
// it tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/event.h"

namespace millrace::wire {
class Forget;
class StepFromNode;
class StepOrder;
class SetLogging;
class StepSample;
class StepToNode;
class Kill;
class LaunchPlan;
class SignalAttempt;
class Suspend;
class Telemetry;
}  // namespace millrace::wire

namespace millrace {

struct AttemptReport {
  JobKey key;
  Attempt attempt;
  bool ended = false;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  std::string problem;
  bool suspended = false;  // stopped, or told to
  bool exited = false;     // its processes are gone and how it ended is known, but the node is not free of it yet
  bool in_prolog = false;
  bool epilog_failed = false;
  std::optional<std::uint32_t> step{};  // of this attempt; not set: the attempt itself
  StepUsage usage{};                    // once ended
  std::vector<ReportedStep>
      steps{};  // of an ended attempt: what its step manager had not told, or did not know to be heard
};

struct NodeRegistration {
  std::string node;
  std::string boot_id;
  Inventory inventory;
  std::vector<AttemptReport> attempts;  // everything the node still answers for
  bool dynamic = false;                 // one that nobody knows is made as the next says
  std::string configuration{};          // words of a NodeName line
  std::string spool_id{};
  Time clock{};  // of the node, when it said this; not set: it did not say
};

// Orders to nodes. None may block or throw; any may be lost, and is then given again when the node's next report shows
// it. Giving one twice must do no harm.
class ResourceManager {
 public:
  virtual ~ResourceManager() = default;
  virtual void launch(const std::string& node, const wire::LaunchPlan& plan, const Owner& owner,
                      const std::string& boot_id) = 0;
  virtual void kill(const std::string& node, const wire::Kill& kill) = 0;
  virtual void forget(const std::string& node, const wire::Forget& forget) = 0;
  // To the step manager of a job, on this node. False: too much of clients is on its way there, and this is not.
  virtual bool tell_step_manager(const std::string& node, const wire::StepToNode& message) = 0;
  virtual void signal(const std::string& node, const wire::SignalAttempt& signal) = 0;
  virtual void suspend(const std::string& node, const wire::Suspend& suspend) = 0;  // or let it go on
  virtual bool tell_step(const std::string& node,
                         const wire::StepOrder& order) = 0;  // to one supervisor; false: as above
  virtual void stop_nodes() = 0;
  // What was said in its session counts no more: it is to register anew.
  virtual void start_again(const std::string&) {}
  virtual void reboot(const std::string&) {}  // for managers that can
  virtual void read_configuration() {}        // for managers whose nodes have files of their own
  virtual void set_logging(const std::string&, const wire::SetLogging&) {}  // ... and a log
};

// What managers say. Nothing of it is trusted: it is checked against the ledger before it changes anything, and a
// manager is heard only about nodes that are its own.
class ResourceObserver {
 public:
  virtual ~ResourceObserver() = default;
  virtual void node_registered(ResourceManager& by, const NodeRegistration& registration) = 0;
  virtual void node_reported(ResourceManager& by, const std::string& node, const std::vector<AttemptReport>& attempts,
                             const wire::Telemetry& telemetry) = 0;
  virtual void node_unreachable(ResourceManager& by, const std::string& node) = 0;
  // The step manager of a job on this node answers a client, or wants something done on another node of its job.
  virtual void step_manager_said(ResourceManager& by, const std::string& node, const wire::StepFromNode& message) = 0;
  // A supervisor there answers an inquiry.
  virtual void step_sampled(ResourceManager& by, const std::string& node, const wire::StepSample& sample) = 0;
};

}  // namespace millrace
