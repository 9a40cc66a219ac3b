// src/sim/sim_script.h - the simulated script of a job on its first node: its sruns ask the attempt's step manager, the
// real one, for steps.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/sim_world.h"
#include "step/step_manager/step_manager.h"

namespace millrace {

// What nobody in the cluster can forget of a step: what its step manager was told to be in the log, and what its srun
// was told.
struct StepRecord {
  std::uint64_t job_key = 0;
  std::uint32_t attempt = 0;
  wire::StepFact fact;
  bool start_heard = false, end_heard = false;
  Time end_told_at;  // to srun; not set: it was not
};

// The sruns of all jobs, by the secrets of their steps: tasks on every node call them before they begin, and end when
// nobody sees them any more.
class SimSruns {
 public:
  enum class State : std::uint8_t { gone, asks, ready };
  State of(const std::string& secret) const;
  void set(const std::string& secret, State state);
  std::string new_secret() { return "srun" + std::to_string(++last_); }

 private:
  std::map<std::string, State> states_;
  std::uint64_t last_ = 0;
};

class SimScript final : private StepManagerPort {
 public:
  struct Outside {
    std::function<bool(const wire::StepFromNode&)> send;  // false: no agent is there
    std::function<void()> changed;                        // after everything that happened here; may end the script
    std::function<bool()> answer_is_lost;                 // on its way to srun, or what srun asks
  };
  SimScript(SimWorld& world, SimSruns& sruns, const wire::LaunchPlan& plan, const wire::Credential& identity,
            Outside outside);
  ~SimScript() override;
  SimScript(const SimScript&) = delete;
  SimScript& operator=(const SimScript&) = delete;

  bool waits_for_steps() const;   // that it does not leave behind
  std::string waits_for() const;  // in words, for whoever looks for the reason

  // To the step manager, as the supervisor passes it on.
  void hear(const wire::StepToNode& message);
  void agent_is_back();
  void suspend(bool suspended);
  void close();
  void end();  // sruns end with their script
  bool is_over() const { return manager_.is_over(); }

  std::vector<wire::StepFact> unheard() const { return manager_.unheard_facts(); }
  std::vector<StepRecord> records() const;

 private:
  struct Srun {
    wire::StepRequest request;
    bool waited_for = false, over = false;
    std::optional<std::uint32_t> step;
  };
  void begin_srun();
  void ask(std::size_t which);
  void ask_again(std::size_t which);
  void hear_reply(const wire::StepReply& reply);
  void hear_news(std::size_t which, const wire::StepNews& news);
  void join_parts(std::size_t which, const wire::StepNews& prepared);
  void srun_is_over(std::size_t which);
  void somebody_wants_something(std::uint32_t step);
  void look_at_facts();
  void look_again();

  void send(const wire::StepFromNode& message) override;
  Result<void> write_step(std::uint32_t id) override;
  std::int64_t monotonic_us() const override { return world_.now().value; }
  std::int64_t wall_us() const override { return world_.now().value; }

  SimWorld& world_;
  SimSruns& all_sruns_;
  SimProcess process_;
  Outside outside_;
  std::uint64_t job_key_;
  std::uint32_t attempt_, uid_, nodes_;
  std::vector<Srun> sruns_;  // by number of client
  std::uint64_t sruns_left_;
  Log log_;
  StepManager manager_;
  std::map<std::uint32_t, StepRecord> records_;
  Loop::TimerId due_timer_ = 0;
  bool tells_change_ = false;
};

}  // namespace millrace
