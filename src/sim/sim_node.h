// src/sim/sim_node.h - a simulated machine: supervisors that outlive the agent, an agent that can die, a boot that
// loses everything.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/prolog_epilog.h"
#include "sim/sim_network.h"
#include "sim/sim_programs.h"
#include "sim/sim_script.h"

namespace millrace {

using AttemptKey = std::pair<std::uint64_t, std::uint32_t>;  // job key, attempt

// What really ran, as nobody in the cluster can forget it: the oracle of the tests.
struct RunRecord {
  std::string node;
  AttemptKey attempt;
  Time started_at, ended_at;  // not set: still runs
  std::uint32_t exit_code = 0;
  bool whole = false;  // ran to its own end, not killed and not lost
};

// Likewise of a step, on one of its nodes.
struct StepRunRecord {
  std::string node;
  AttemptName name;
  Time started_at, ended_at;  // not set: still runs
  std::uint32_t exit_code = 0;
  bool whole = false;
};

class SimNode final : private Supervisors, private Measurements, private ProgramJournal {
 public:
  // How long an attempt of this job runs and with which code it exits: asked once per start.
  using Work = std::function<std::pair<Duration, std::uint32_t>(const AttemptKey&)>;
  // With programs: a prolog and an epilog around each attempt, which take a while and sometimes fail.
  SimNode(SimWorld& world, SimNetwork& network, SimSruns& sruns, std::string name, std::uint32_t cpus, Work work,
          bool programs = false);
  ~SimNode() override;

  void start_agent();
  void kill_agent();
  void crash();              // power: agent, supervisors and spool are gone; a new boot follows with start_agent()
  void kill_a_supervisor();  // some running one
  void lose_spool();         // what runs goes on without anybody who answers for it, until an agent starts again
  void set_clock(Duration off) { clock_off_ = off; }
  bool agent_runs() const { return agent_ != nullptr; }
  std::size_t reboots() const { return reboots_; }  // by order
  bool runs(const AttemptKey& attempt) const;
  bool is_suspended(const AttemptKey& attempt) const;
  std::size_t running() const;
  std::string what_runs() const;  // in words
  const std::string& name() const { return name_; }
  const std::vector<RunRecord>& history() const { return history_; }
  const std::vector<RunRecord>& holders() const { return holders_; }  // launches that only held the node, or kept steps
  std::vector<StepRecord> steps() const;  // of all attempts, also of those that are forgotten
  const std::vector<StepRunRecord>& step_runs() const { return step_runs_; }
  const std::vector<ProgramRunRecord>& programs() const { return program_history_; }
  const std::vector<Time>& crashes() const { return crashes_; }

 private:
  struct Attempt {
    wire::AttemptStatus status;
    std::size_t record = 0;  // in history_
    std::uint64_t end_event = 0;
    Time works_until;    // while it runs
    Duration work_left;  // while it is suspended
    std::uint32_t exit_code = 0;
    bool launched = false;
    bool killed = false;
    bool work_done = false;  // the script has nothing to do but to wait for its sruns
    bool over = false;       // no process of it is left; its step manager may wait for ends of steps
    bool whole = false;      // ... and this is how it ended
    std::uint32_t signal = 0;
    std::unique_ptr<SimScript> script;  // where this is the job's first node
  };
  struct StepAttempt {
    wire::AttemptStatus status;
    std::string secret;      // of its srun
    std::size_t record = 0;  // in step_runs_
    std::uint64_t event = 0;
    Duration work_left;
    std::uint32_t exit_code = 0;
    bool begun = false, killed = false;
  };
  std::vector<wire::AttemptStatus> adopt(SupervisorObserver& observer) override;
  void launch(const wire::LaunchPlan& plan, const wire::Credential& credential) override;
  void kill(const wire::Kill& kill) override;
  void signal(const wire::SignalAttempt&) override {}
  void suspend(const wire::Suspend& suspend) override;
  void tell_step_manager(const wire::StepToNode& message) override;
  void tell_step(const wire::StepOrder&) override {}
  void forget(const wire::Forget& forget) override;
  wire::Inventory inventory() override;
  wire::Telemetry telemetry() override;
  std::vector<wire::ProgramRecord> read() override;
  Result<void> write(const wire::ProgramRecord& record) override;
  void erase(AttemptName name) override { journal_.erase(name); }
  std::string mark_of(AttemptName name) const override { return "MARK=" + text_of(name); }
  bool end_leftovers(AttemptName) override { return world_.random.chance(1, 2); }
  void go_on(const AttemptKey& key, Attempt& attempt);
  void script_works(const AttemptKey& key);
  void script_is_over(const AttemptKey& key, std::uint32_t signal, bool whole);
  void look_at_script(const AttemptKey& key);
  void end_script(Attempt& attempt);
  void begin_script(const wire::LaunchPlan& plan, const wire::Credential& identity, Attempt& attempt);
  // Steps (sim_node_steps.cpp)
  void launch_step(const wire::LaunchPlan& plan);
  void step_turn(AttemptName name);
  void kill_step(AttemptName name);
  void suspend_step(AttemptName name, bool suspended);
  void end_step(AttemptName name, wire::AttemptStatus::End how, std::uint32_t code, std::uint32_t signal, bool whole);
  void lose_steps(bool strangers);
  void end(const AttemptKey& attempt, wire::AttemptStatus::End end, std::uint32_t code, std::uint32_t signal,
           bool whole);

  SimWorld& world_;
  SimNetwork& network_;
  SimSruns& sruns_;
  std::string name_;
  std::uint32_t cpus_;
  Work work_;
  std::uint64_t boot_ = 1, spool_number_ = 1;
  Duration clock_off_;
  std::vector<std::size_t> strangers_;  // in history_: they run, and the spool knows nothing of them
  std::size_t reboots_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint64_t epoch_ = 0;
  std::map<AttemptKey, Attempt> spool_;
  std::map<AttemptName, StepAttempt> step_spool_;
  std::vector<StepRunRecord> step_runs_;
  std::vector<std::size_t> strange_steps_;  // in step_runs_, likewise
  std::vector<RunRecord> history_, holders_;
  std::vector<StepRecord> past_steps_;
  std::unique_ptr<SimProcess> process_;
  std::unique_ptr<SimDialer> dialer_;
  bool with_programs_;
  std::map<AttemptName, wire::ProgramRecord> journal_;
  std::vector<ProgramRunRecord> program_history_;
  std::vector<Time> crashes_;
  std::unique_ptr<SimPrograms> programs_;
  std::unique_ptr<PrologEpilog> prolog_epilog_;
  std::unique_ptr<Agent> agent_;
  SupervisorObserver* observer_ = nullptr;
};

}  // namespace millrace
