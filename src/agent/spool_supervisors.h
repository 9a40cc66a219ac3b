// src/agent/spool_supervisors.h - the real supervisors: spawns millrace-step, talks to it, finds it again after a
// restart.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent.pb.h"
#include "agent/readiness.h"
#include "agent/spool_directory.h"
#include "agent/supervisor_starter.h"
#include "ports/loop.h"
#include "ports/supervisors.h"
#include "wire/frame.h"
#include "wire/limits.h"

namespace millrace {

// What a crash of the agent leaves at each line, and what adopt() makes of it:
//   directory, no state      the order never arrived, or is just arriving: we take the supervisor's place; if it was
//   faster, it
//                            runs and is adopted, otherwise nothing ever ran and the attempt ends as SUPERVISOR_LOST
//   state, supervisor lives  adopted over its socket
//   state, supervisor gone   what it left is killed, then SUPERVISOR_LOST
//   state with an end        that end, until forgotten
//   .forgotten-*             forgotten
class SpoolSupervisors final : public Supervisors {
 public:
  struct Settings {
    std::string step_program;
    std::string boot_id;
    std::function<void(std::string_view)> log = [](std::string_view) {};
    std::function<wire::LogWish()> log_wish = [] { return wire::LogWish{}; };      // what supervisors are to say
    std::function<void(const wire::LogLine&)> said = [](const wire::LogLine&) {};  // ... and have said
    std::function<wire::Isolation(const wire::LaunchPlan&)> isolation = {};        // empty: attempts are not kept apart
    int sweeps_max = 250;  // so often what a lost supervisor left is killed, before it counts as what cannot be killed
  };
  SpoolSupervisors(Loop& loop, Readiness& readiness, SpoolDirectory spool, Settings settings);
  ~SpoolSupervisors() override;  // lets go of the supervisors, which go on

  std::vector<wire::AttemptStatus> adopt(SupervisorObserver& observer) override;
  void launch(const wire::LaunchPlan& plan, const wire::Credential& credential) override;
  void kill(const wire::Kill& kill) override;
  void signal(const wire::SignalAttempt& signal) override;
  void suspend(const wire::Suspend& suspend) override;
  void tell_step_manager(const wire::StepToNode& step) override;
  void tell_step(const wire::StepOrder& order) override;
  void forget(const wire::Forget& forget) override;
  void tell_all(const wire::GpuReadings& readings);  // those that run
  void log_wish_changed();                           // all of them are told
  bool is_idle() const;                              // no attempt runs or is about to

 private:
  struct Attempt {
    wire::AttemptStatus status;
    int fd = -1;
    std::unique_ptr<Watch> watch;
    FrameReader reader{supervisor_frame_max};
    std::string unsent;
    std::size_t sent = 0;  // of unsent: a long queue is not moved for each piece
    bool has_room_for(std::size_t bytes) const;
  };

  void adopt_one(AttemptName name, Attempt& attempt);
  bool connect_to_supervisor(AttemptName name, Attempt& attempt, const AttemptRecord& record);
  void attach(AttemptName name, Attempt& attempt, int fd);
  void detach(Attempt& attempt);
  void send(AttemptName name, const wire::ToStep& message);
  bool send_if_room(AttemptName name, const wire::ToStep& message);  // false: too much waits for it
  void write_some(AttemptName name);
  void read_some(AttemptName name);
  void connection_lost(AttemptName name);
  void end_unbegun(AttemptName name);
  void sweep(AttemptName name);
  void sweep_again(AttemptName name);
  void end_as(AttemptName name, wire::AttemptStatus::End end, std::string problem,
              wire::AttemptStatus::Cause cause = wire::AttemptStatus::OF_JOB);

  Loop& loop_;
  Readiness& readiness_;
  const SpoolDirectory spool_;
  const Settings settings_;
  SupervisorObserver* observer_ = nullptr;  // none while adopting
  std::map<AttemptName, Attempt> attempts_;
  struct Sweeps {
    Loop::TimerId timer{};
    int done = 0;
  };
  std::map<AttemptName, Sweeps> sweeps_;
  int never_began_ = 0;  // in a row
  SupervisorStarter starter_;
};

}  // namespace millrace
