// src/step/supervisor_lost.cpp - the keeper hears that the job goes on without some of its nodes, which have failed
// (--no-kill) or were given up (scontrol update NumNodes=): what its steps had there has ended.
#include <algorithm>
#include <csignal>

#include "step/supervisor.h"

namespace millrace {

void Supervisor::hear_of_lost(const wire::NodesLost& lost) {
  for (const std::string& node : lost.nodes()) {
    if (!keeper_->lose(node)) continue;  // told before
    const bool given_up = std::ranges::find(lost.given_up(), node) != lost.given_up().end();
    for (const std::uint32_t id : keeper_->running_on(node)) lose_node_of_step(id, node, given_up);
  }
  try_waiting_steps();  // one that waits for what is gone is refused now
}

// Its tasks there count as killed. A step that is not meant to outlive that is killed on its other nodes too.
void Supervisor::lose_node_of_step(std::uint32_t id, const std::string& node, bool given_up) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) return;
  if (found->second.prepared) return drop_part(id);
  const wire::CreateStep& ask = found->second.request.ask();
  const bool goes_on = ask.step().extras().no_kill();
  wire::StepNews news;
  news.set_kind(wire::StepNews::NODE_LOST);
  news.set_step_id(id);
  news.set_nodes(node);
  news.set_given_up(given_up);
  for (const std::uint32_t task : keeper_->tasks_on(id, node, ask.step().resources()))
    news.add_lost_tasks(ask.part().first_task() + task);
  tell_step_client(found->second.request, news);
  if (given_up && !goes_on) found->second.fact.set_end(wire::StepFact::CANCELLED);
  confirm(id, node);
  wire::AttemptStatus status;
  status.set_step(id);
  status.set_state(wire::AttemptStatus::ENDED);
  status.set_end(goes_on || given_up ? wire::AttemptStatus::EXITED : wire::AttemptStatus::SUPERVISOR_LOST);
  status.set_exit_signal(SIGKILL);
  step_ended_there(id, node, status);
  if (!goes_on && steps_.contains(id))
    kill_step(id, plan_.kill_wait_seconds(), given_up ? wire::Kill::CANCELLED_BY_USER : wire::Kill::NODE_FAILED);
}

}  // namespace millrace
