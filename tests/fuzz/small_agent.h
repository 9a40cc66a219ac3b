// tests/fuzz/small_agent.h - an agent on simulated time, played by nobody: no supervisor, no controller.
#pragma once

#include <memory>

#include "agent/agent.h"
#include "sim/sim_world.h"
#include "wire/credential.h"

namespace millrace::fuzz {

class QuietSupervisors final : public Supervisors {
 public:
  std::vector<wire::AttemptStatus> adopt(SupervisorObserver& observer) override {
    agent = &observer;
    return {};
  }
  void launch(const wire::LaunchPlan&, const wire::Credential&) override {}
  void kill(const wire::Kill&) override {}
  void signal(const wire::SignalAttempt&) override {}
  void suspend(const wire::Suspend&) override {}
  void tell_step_manager(const wire::StepToNode&) override {}
  void tell_step(const wire::StepOrder&) override {}
  void forget(const wire::Forget&) override {}

  SupervisorObserver* agent = nullptr;
};

class SmallAgent {
 public:
  SmallAgent();  // started, and welcomed by a controller
  ~SmallAgent();
  SmallAgent(const SmallAgent&) = delete;
  SmallAgent& operator=(const SmallAgent&) = delete;

  void obey(wire::ToAgent message);  // numbered and signed as the controller would, so that it is read
  void obey(std::string_view bytes);
  SupervisorObserver& observer();  // whom supervisors tell
  void run();                      // a tenth of a second

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::fuzz
