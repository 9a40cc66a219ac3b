// src/agent/prolog_epilog.h - before the first process of a job on this node and after its last the site's own programs
// run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent.pb.h"
#include "agent/spool_directory.h"
#include "ports/loop.h"
#include "ports/programs.h"
#include "ports/supervisors.h"

namespace millrace {

// Where it is written how far the programs of each attempt have come; outlives the agent.
class ProgramJournal {
 public:
  virtual ~ProgramJournal() = default;
  virtual std::vector<wire::ProgramRecord> read() = 0;  // what was written under another boot is dropped
  virtual Result<void> write(const wire::ProgramRecord& record) = 0;
  virtual void erase(AttemptName name) = 0;
  // In the environment of each program, so that it is found again when we die before it.
  virtual std::string mark_of(AttemptName name) const = 0;
  // Kills what an agent before us left running. False: something is still there.
  virtual bool end_leftovers(AttemptName name) = 0;
};

struct ProgramSettings {
  std::vector<std::string> prolog, epilog;  // files or patterns, in the order in which they are run
  Duration prolog_limit{}, epilog_limit{};  // of each; 0: none
  std::function<void(std::string_view)> log = [](std::string_view) {};
};

// Stands between the agent and its supervisors. An attempt is launched when its prolog went well, and has ended when
// its epilog is done; in between it is reported as RUNNING_NOW, `in_prolog` or `exited`. What a death of the agent
// leaves in the journal:
//   PROLOG     what is left of the programs is killed, and they are run again from the first
//   LAUNCHED   the supervisor is there, or the attempt is lost; either way its epilog follows
//   EPILOG     as with PROLOG: at least once to the end
//   DONE       only the controller has still to hear of it
class PrologEpilog final : public Supervisors, private SupervisorObserver {
 public:
  PrologEpilog(Loop& loop, Supervisors& inner, Programs& programs, ProgramJournal& journal, ProgramSettings settings);
  ~PrologEpilog() override;  // kills running programs: the next agent runs them again

  std::vector<wire::AttemptStatus> adopt(SupervisorObserver& observer) override;
  void launch(const wire::LaunchPlan& plan, const wire::Credential& credential) override;
  void kill(const wire::Kill& kill) override;
  void signal(const wire::SignalAttempt& signal) override { inner_.signal(signal); }
  void suspend(const wire::Suspend& suspend) override { inner_.suspend(suspend); }
  void tell_step_manager(const wire::StepToNode& step) override;
  void tell_step(const wire::StepOrder& order) override {
    inner_.tell_step(order);
  }  // before the launch there is nobody to ask
  void forget(const wire::Forget& forget) override;
  void set_settings(ProgramSettings settings) { settings_ = std::move(settings); }  // for whatever begins from now on
  bool is_idle() const;  // nothing of a job is before, in or after its programs

 private:
  struct Care {
    wire::ProgramRecord record;
    std::vector<std::string> left;  // still to be run in this phase
    Programs::Id running = 0;
    Loop::TimerId timer = 0;  // what an earlier agent left is still being ended
    bool unwanted = false;    // killed before it was launched
    std::vector<std::pair<wire::LaunchPlan, wire::Credential>> steps;  // come when the prolog is done
    std::vector<wire::StepToNode> for_step_manager;
    std::size_t steps_bytes = 0, for_step_manager_bytes = 0;
  };

  void attempt_changed(const wire::AttemptStatus& status) override;
  void step_manager_said(const wire::StepFromNode& message) override { observer_->step_manager_said(message); }
  void step_sampled(const wire::StepSample& sample) override { observer_->step_sampled(sample); }

  void take_up(AttemptName name);
  void begin_phase(AttemptName name, wire::ProgramRecord::Phase phase);
  void run_next(AttemptName name);
  void program_ended(AttemptName name, const std::string& program, const ProgramEnd& end);
  void prolog_done(AttemptName name);
  void exited(AttemptName name, wire::AttemptStatus end);
  void begin_epilog_if_alone(AttemptName name);
  void epilog_done(AttemptName name, bool failed);
  void launch_step(AttemptName name, const wire::LaunchPlan& plan, const wire::Credential& credential);
  void keep_for_step_manager(Care& care, const wire::StepToNode& message);
  void drop_steps(Care& care, const std::string& problem);
  void write(const Care& care);
  bool has_live_steps(AttemptName name) const;

  Loop& loop_;
  Supervisors& inner_;
  Programs& programs_;
  ProgramJournal& journal_;
  ProgramSettings settings_;
  SupervisorObserver* observer_ = nullptr;
  std::map<AttemptName, Care> cares_;
  std::set<AttemptName> live_steps_;
};

}  // namespace millrace
