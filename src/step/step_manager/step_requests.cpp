// src/step/step_manager/step_requests.cpp - srun asks a step manager for steps: they start, wait or are refused.
#include <algorithm>
#include <utility>

#include "core/model/step.h"
#include "step/step_manager/step_manager.h"
#include "step/step_manager/step_plans.h"
#include "wire/limits.h"
#include "wire/step_busy.h"

namespace millrace {

void StepManager::hear_request(const wire::StepRequest& request) {
  const auto what = [&] {
    return "step asked for by UID=" + std::to_string(request.uid()) + ": " + request.ask().step().name() + ", " +
           std::to_string(waiting_.size()) + " wait already";
  };
  log_.debug(what);
  log_.about(DebugFlag::steps, what);
  if (request.uid() != identity_.uid() && request.uid() != 0)
    return messages_.refuse(asker_of(request), step_access_denied);
  if (answer_again(request)) return;
  if (const auto refusal = refusal_of_new(request))
    return messages_.refuse(asker_of(request), refusal->first, refusal->second);
  // Asked again, in case we had not heard it: it keeps its place.
  if (waiting_.knows(request) || !try_step(request)) keep_waiting(request);
}

// srun asks again where an answer may be lost.
bool StepManager::answer_again(const wire::StepRequest& request) {
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  for (auto& [id, step] : steps_) {
    if (!is_same_request(step.request, request)) continue;
    step.request.set_client(request.client());
    step.request.set_number(request.number());
    news.set_step_id(id);
    if (step.prepared)
      hear_part(id, request);
    else if (!step.to_tell)
      messages_.tell(asker_of(request), news);
    return true;
  }
  const auto ended = ended_.find(request.ask().step().stdio().secret());
  if (!ended) return false;
  news.set_step_id(*ended);
  messages_.tell(asker_of(request), news);
  news.set_kind(wire::StepNews::ENDED);
  messages_.tell(asker_of(request), news);
  return true;
}

std::optional<std::pair<StepFailure, std::string>> StepManager::refusal_of_new(const wire::StepRequest& request) const {
  using Refused = std::pair<StepFailure, std::string>;
  if (request.ask().has_part()) return Refused{step_already_over, ""};  // it was prepared, and is gone
  if (request.ask().interactive() && allocator_.had_shell())
    return Refused{step_already_over, "the job has had its interactive step"};
  const std::uint32_t steps_max =
      plan_.steps_max() == 0 ? steps_of_attempt_max : std::min(plan_.steps_max(), steps_of_attempt_max);
  if (allocator_.next_id() >= steps_max) return Refused{step_too_many, ""};
  if (!is_open()) return Refused{step_already_over, ""};
  return std::nullopt;
}

void StepManager::keep_waiting(const wire::StepRequest& request) {
  if (waiting_.keep(request, port_.monotonic_us())) return;
  wire::StepToNode message;
  *message.mutable_request() = request;
  if (const auto answer = busy_answer(message)) messages_.send(*answer);
}

bool StepManager::try_step(const wire::StepRequest& request) {
  Result<StepPlacement> placement = fail(Errc::unavailable, std::string{step_nodes_busy.text});
  if (launches_.empty() || launches_.bytes() + memory_of(request) <= step_manager_backlog_max)
    placement = allocator_.find_room(request.ask());
  const StepAsker asker = asker_of(request);
  if (placement) {
    const std::uint32_t most = plan_.tasks_per_node_max();
    if (most != 0 && std::ranges::any_of(placement->shares, [&](const StepShare& share) { return share.tasks > most; }))
      return messages_.refuse(
                 asker, step_bad_tasks,
                 "at most " + std::to_string(most) + " tasks of a step may run on one node (MaxTasksPerNode)"),
             true;
    IndexSet used;
    for (const auto& [id, step] : steps_)
      parse_index_set(step.fact.ports(), UINT16_MAX).value_or(IndexSet{}).for_each([&](std::uint32_t port) {
        used.insert(port);
      });
    const auto ports = ports_for(request.ask(), *placement, used);
    if (ports) return start(request, *placement, *ports), true;
    if (ports.error().code != Errc::unavailable) return messages_.refuse(asker, step_few_ports), true;
    placement = std::unexpected(ports.error());
  }
  const bool busy = placement.error().code == Errc::unavailable;
  if (busy && !request.ask().immediate()) return false;
  if (busy) return messages_.refuse(asker, step_nodes_busy.code, placement.error().story, {}), true;
  const StepRefusal why = refusal_of(placement.error());
  messages_.refuse(asker, why.code, why.text, why.note);
  return true;
}

void StepManager::try_waiting() {
  if (!is_open()) return;
  waiting_.retry([&](const wire::StepRequest& request) { return try_step(request); });
}

void StepManager::start(const wire::StepRequest& request, const StepPlacement& placement, const std::string& ports) {
  const wire::CreateStep& ask = request.ask();
  const std::uint32_t id = ask.interactive() ? allocator_.start_shell(placement)
                                             : allocator_.start(placement, ask.overlap(), ask.least_id());
  const auto written = port_.write_step(id);
  const wire::LaunchPlan plan = plan_of_step(plan_, allocator_, ask, placement, id, ports);
  Step& step = steps_[id];
  step.request = request;
  step.request.mutable_ask()->clear_environment();
  step.request.mutable_ask()->mutable_step()->clear_arguments();
  step.fact = fact_of_start(plan, plan_.job().name(), request, allocator_, placement);
  step.fact.set_started_at_us(port_.wall_us());
  facts_.add(step.fact, port_.monotonic_us(), ask.recorded() ? 0 : FactQueue::gather_us);
  std::vector<std::string> notes = placement.notes;
  if (!written) notes.push_back("the step is not in the journal: " + written.error().story);
  if (ask.prepare()) {
    step.prepared = placement;
    return tell_prepared(id, request, std::move(notes));
  }
  launch(id, ask, placement);
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  news.set_step_id(id);
  news.set_nodes(plan.nodes());
  news.set_tasks(placement.tasks);
  *news.mutable_cpus_per_node() = plan.cpus_per_node();
  *news.mutable_tasks_per_node() = plan.tasks_per_node();
  for (const std::string& note : notes) news.add_notes(note);
  step.to_tell = news;
  if (!ask.recorded()) tell_created(step);
  send_launches();
}

void StepManager::tell_created(Step& step) {
  messages_.tell(asker_of(step.request), *step.to_tell);
  step.to_tell.reset();
}

void StepManager::launch(std::uint32_t id, const wire::CreateStep& ask, const StepPlacement& placement) {
  Step& step = steps_.at(id);
  wire::LaunchPlan plan = plan_of_step(plan_, allocator_, ask, placement, id, step.fact.ports());
  step.time.begin(ask.step(), port_.monotonic_us());
  std::vector<wire::LaunchPlan> own = plans_of_nodes(plan_, plan, allocator_, ask, placement);
  launches_.add_step(id, std::move(plan));
  for (wire::LaunchPlan& there : own) {
    const std::string node = there.node_name();
    launches_.add_node(id, node, std::move(there));
  }
  launches_.order_new(port_.monotonic_us());
}

void StepManager::send_launches() {
  while (auto message = launches_.next(identity_)) {
    const std::string node = message->node();
    messages_.send(*std::move(message), node);
  }
}

void StepManager::refuse_waiting() {
  drop_parts([](const Step&) { return true; });
  for (const wire::StepRequest& request : waiting_.take_all()) messages_.refuse(asker_of(request), step_already_over);
  launches_.clear();
}

}  // namespace millrace
