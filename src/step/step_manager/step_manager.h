// src/step/step_manager/step_manager.h - keeps the steps of one attempt: gives them numbers and room, has them
// launched, and answers for their ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "base/log.h"
#include "step/step_manager/ended_steps.h"
#include "step/step_manager/fact_queue.h"
#include "step/step_manager/step_allocator.h"
#include "step/step_manager/step_launches.h"
#include "step/step_manager/step_manager_port.h"
#include "step/step_manager/step_messages.h"
#include "step/step_manager/step_time.h"
#include "step/step_manager/waiting_steps.h"

namespace millrace {

// The supervisor on the first node of an attempt has one. srun asks it for steps; steps are attempts of their own to
// the agents. It knows no process, socket or poll loop: it hears messages, is told when time has come, and speaks
// through its port.
//
// Who calls: its owner, from one thread. Every message about steps goes to hear(), in the order in which they come, and
// on_time() is called at due_us() or later. agent_is_back() when another agent may have missed what was sent.
// In what order: close() when the attempt was told to end; no step begins any more. end() when the attempt's own
// processes are over: what runs then gets a moment to end by itself, is killed, and is waited for. When is_over() the
// attempt may end, at the latest so long after end(). stop() with its end; unheard_facts() go with the report of it.
// What may fail: whatever is sent may be lost, and whatever is heard may come twice or late. A launch is sent again
// until a report confirms it, a fact until it is known to be in the log, the kill of a step whose time is over until
// it ends. An srun that hears nothing asks again, with the secret of its step: it gets the same step.
// After a crash nothing of it is left. The journal says which numbers were given out; the attempt ends as lost, and
// what was not in the log by then is not known.
class StepManager final {
 public:
  // As the launch of the attempt describes the allocation, and for whom.
  StepManager(const wire::LaunchPlan& plan, wire::Credential identity, StepManagerPort& port, Log& log);

  void hear(const wire::StepToNode& message);
  void on_time();
  std::int64_t due_us() const;  // monotonic; INT64_MAX: nothing is to be done
  void agent_is_back();
  void suspend(bool suspended);  // a step that is suspended does not use its time

  void close();
  void end();
  bool awaits_ends() const { return ending_.until_us != 0; }  // end() was called
  bool is_over() const { return ending_.over; }
  void stop();
  std::vector<wire::StepFact> unheard_facts() const { return facts_.unheard(); }

 private:
  struct Step {
    wire::StepRequest request;  // without its environment and arguments
    wire::StepFact fact;        // as far as it is known
    std::string problem;
    std::optional<StepPlacement> prepared{};  // set: nothing of it is launched yet
    std::int64_t heard_us = 0;                // prepared: when its srun last asked
    StepTime time{};
    std::optional<wire::StepNews> to_tell{};  // that it was created, when it is known to be in the log
  };
  struct Ending {
    bool closed = false;        // by our agent, as others of the job are by theirs
    bool killed = false;        // steps that were left over
    std::int64_t until_us = 0;  // set: only ends of steps are waited for, until then
    bool over = false;
  };
  static constexpr std::int64_t part_patience_us =
      120'000'000;  // srun asks every few seconds while it waits for others
  bool is_open() const { return !ending_.closed && ending_.until_us == 0 && !ending_.over; }

  // Requests (step_requests.cpp)
  void hear_request(const wire::StepRequest& request);
  bool answer_again(const wire::StepRequest& request);  // false: it is about none that we know
  std::optional<std::pair<StepFailure, std::string>> refusal_of_new(const wire::StepRequest& request) const;
  void keep_waiting(const wire::StepRequest& request);
  bool try_step(const wire::StepRequest& request);  // false: it has to wait
  void try_waiting();
  void start(const wire::StepRequest& request, const StepPlacement& placement, const std::string& ports);
  void launch(std::uint32_t id, const wire::CreateStep& ask, const StepPlacement& placement);
  void send_launches();
  void tell_created(Step& step);
  void refuse_waiting();

  // What becomes of steps (step_manager.cpp)
  void hear_report(const wire::StepReport& report);
  void hear_client_left(std::uint64_t client);
  void hear_facts_heard(std::uint64_t number);
  void hear_lost(const wire::NodesLost& lost);
  void lose_node(std::uint32_t id, const std::string& node, bool given_up);
  void confirm(std::uint32_t id, const std::string& node);
  void ended_there(std::uint32_t id, const std::string& node, const wire::AttemptStatus& status);
  void note_ended(Step& step);
  void tell_facts();

  // Orders about steps (step_orders.cpp)
  void hear_signal(const wire::StepSignal& order);
  void hear_update(const wire::StepUpdate& update);
  Step* find_for(StepAsker asker, std::uint32_t uid, std::uint32_t id);  // null: refused
  void kill(std::uint32_t id, std::uint32_t wait_seconds, wire::Kill::Why why);
  void end_in_time();

  // A part of a step over several components (step_parts.cpp): it has its CPUs and number before the others have
  // theirs.
  void hear_part(std::uint32_t id, const wire::StepRequest& request);
  void tell_prepared(std::uint32_t id, const wire::StepRequest& request, std::vector<std::string> notes);
  void drop_part(std::uint32_t id);
  bool drop_parts(const std::function<bool(const Step&)>& which);  // false: there were none
  std::int64_t parts_due_us() const;                               // when the srun of one was not heard of for long

  wire::LaunchPlan plan_;  // of the attempt, without what its steps do not need
  wire::Credential identity_;
  StepManagerPort& port_;
  Log& log_;
  StepMessages messages_;
  StepAllocator allocator_;
  std::map<std::uint32_t, Step> steps_;  // running ones, with whom they belong to
  EndedSteps ended_;
  WaitingSteps waiting_;
  StepLaunches launches_;
  FactQueue facts_;
  std::int64_t suspended_us_ = 0;  // since when; 0: they run
  Ending ending_;
};

}  // namespace millrace
