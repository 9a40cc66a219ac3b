// src/sim/flaky_manager.h - a resource manager nobody should trust: it hangs, lies and forgets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ports/resource_manager.h"
#include "sim/sim_world.h"

namespace millrace {

class FlakyManager final : public ResourceManager {
 public:
  FlakyManager(SimWorld& world, Loop& loop, std::vector<std::string> nodes, std::vector<std::string> foreign,
               std::uint32_t cpus);
  void serve(ResourceObserver& observer);

  void launch(const std::string& node, const wire::LaunchPlan& plan, const Owner& owner,
              const std::string& boot_id) override;
  void kill(const std::string& node, const wire::Kill& kill) override;
  void forget(const std::string& node, const wire::Forget& forget) override;
  bool tell_step_manager(const std::string&, const wire::StepToNode&) override { return true; }
  bool tell_step(const std::string&, const wire::StepOrder&) override { return true; }
  void signal(const std::string&, const wire::SignalAttempt&) override {}
  void suspend(const std::string& node, const wire::Suspend& suspend) override;
  void stop_nodes() override {}

 private:
  void turn();
  void register_node(const std::string& node);
  void report(const std::string& node);
  void tell_of_steps(const std::string& node);

  SimWorld& world_;
  Loop& loop_;
  std::vector<std::string> nodes_, foreign_;  // foreign: names of nodes that are not its own, to lie about
  std::uint32_t cpus_;
  ResourceObserver* observer_ = nullptr;
  std::map<std::string, std::vector<AttemptReport>> attempts_;
  bool hung_ = false;
};

}  // namespace millrace
