// src/step/supervisor_lost.cpp - the keeper hears that nodes have failed while the job goes on (--no-kill): what its steps had there has ended.
#include <csignal>

#include "step/supervisor.h"

namespace millrace {

void Supervisor::hear_of_lost(const wire::NodesLost& lost) {
  for (const std::string& node : lost.nodes()) {
    if (!keeper_->lose(node)) continue;  // told before
    for (const std::uint32_t id : keeper_->running_on(node)) lose_node_of_step(id, node);
  }
  try_waiting_steps();  // one that waits for what is gone is refused now
}

// Its tasks there count as killed. A step that is not meant to outlive that is killed on its other nodes too.
void Supervisor::lose_node_of_step(std::uint32_t id, const std::string& node) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) return;
  if (found->second.prepared) return drop_part(id);
  const wire::CreateStep& ask = found->second.request.ask();
  const bool goes_on = ask.step().extras().no_kill();
  wire::StepNews news;
  news.set_kind(wire::StepNews::NODE_LOST);
  news.set_step_id(id);
  news.set_nodes(node);
  for (const std::uint32_t task : keeper_->tasks_on(id, node, ask.step().resources())) news.add_lost_tasks(ask.part().first_task() + task);
  tell_step_client(found->second.request, news);
  unconfirmed_.erase({id, node});
  wire::AttemptStatus status;
  status.set_step(id);
  status.set_state(wire::AttemptStatus::ENDED);
  status.set_end(goes_on ? wire::AttemptStatus::EXITED : wire::AttemptStatus::SUPERVISOR_LOST);
  status.set_exit_signal(SIGKILL);
  step_ended_there(id, node, status);
  if (!goes_on && steps_.contains(id)) kill_step(id, plan_.kill_wait_seconds(), wire::Kill::NODE_FAILED);
}

}  // namespace millrace
