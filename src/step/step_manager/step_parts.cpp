// src/step/step_manager/step_parts.cpp - a step over several components of a heterogeneous job: each component's step
// manager first gives its part CPUs and a number, and starts it when srun has heard the same of all the others and can
// say which tasks are whose.
#include <algorithm>

#include "step/step_manager/step_manager.h"
#include "step/step_manager/step_plans.h"

namespace millrace {

void StepManager::tell_prepared(std::uint32_t id, const wire::StepRequest& request, std::vector<std::string> notes) {
  Step& step = steps_.at(id);
  step.heard_us = port_.monotonic_us();
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  news.set_prepared(true);
  news.set_step_id(id);
  std::string nodes;
  for (const StepShare& share : step.prepared->shares) {
    nodes += (nodes.empty() ? "" : ",") + allocator_.nodes()[share.node];
    news.add_cpus_per_node(static_cast<std::uint32_t>(share.cpus.size()));
    news.add_tasks_per_node(share.tasks);
  }
  news.set_nodes(nodes);
  news.set_tasks(step.prepared->tasks);
  for (std::string& note : notes) news.add_notes(std::move(note));
  messages_.tell(asker_of(request), news);
}

void StepManager::hear_part(std::uint32_t id, const wire::StepRequest& request) {
  if (!request.ask().has_part()) return tell_prepared(id, request, {});
  const wire::PartOfStep& part = request.ask().part();
  Step& step = steps_.at(id);
  const StepPlacement placement = *step.prepared;
  if (!fits_together(part, placement)) {
    drop_part(id);
    try_waiting();
    return messages_.refuse(asker_of(request), step_bad_nodes, "the parts of the step do not fit together");
  }
  step.prepared.reset();
  step.request.mutable_ask()->mutable_part()->set_first_task(part.first_task());
  launch(id, request.ask(), placement);
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  news.set_step_id(id);
  messages_.tell(asker_of(request), news);
  send_launches();
}

// Nothing of it ran; its number stays used.
void StepManager::drop_part(std::uint32_t id) {
  const auto found = steps_.find(id);
  if (found == steps_.end() || !found->second.prepared) return;
  Step& step = found->second;
  for (const std::string& node : allocator_.nodes_of(id)) allocator_.node_ended(id, node);
  step.fact.set_end(wire::StepFact::CANCELLED);
  note_ended(step);
  wire::StepNews news;
  news.set_kind(wire::StepNews::ENDED);
  news.set_step_id(id);
  messages_.tell(asker_of(step.request), news);
  steps_.erase(found);
}

bool StepManager::drop_parts(const std::function<bool(const Step&)>& which) {
  std::vector<std::uint32_t> parts;
  for (const auto& [id, step] : steps_)
    if (step.prepared && which(step)) parts.push_back(id);
  for (const std::uint32_t id : parts) drop_part(id);
  return !parts.empty();
}

std::int64_t StepManager::parts_due_us() const {
  std::int64_t due = INT64_MAX;
  for (const auto& [id, step] : steps_)
    if (step.prepared) due = std::min(due, step.heard_us + part_patience_us);
  return due;
}

}  // namespace millrace
