// src/step/step_manager/step_manager.cpp - see step_manager.h: what becomes of steps, and the end of all of them.
#include "step/step_manager/step_manager.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "step/step_manager/step_plans.h"

namespace millrace {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t report_patience_us = 1 * second_us, death_patience_us = 5 * second_us;

}  // namespace

// srun's own job has used step 0 already.
StepManager::StepManager(const wire::LaunchPlan& plan, wire::Credential identity, StepManagerPort& port, Log& log)
    : plan_(plan_for_steps(plan)),
      identity_(std::move(identity)),
      port_(port),
      log_(log),
      messages_(plan.job_key(), plan.attempt(), port),
      allocator_(plan, plan.job().interactive() ? 1 : 0) {}

void StepManager::hear(const wire::StepToNode& message) {
  if (message.has_request()) hear_request(message.request());
  if (message.has_report()) hear_report(message.report());
  if (message.has_left()) hear_client_left(message.left().client());
  if (message.has_facts_heard()) hear_facts_heard(message.facts_heard().number());
  if (message.has_signal()) hear_signal(message.signal());
  if (message.has_update()) hear_update(message.update());
  if (message.has_lost()) hear_lost(message.lost());
}

std::int64_t StepManager::due_us() const {
  if (ending_.over) return INT64_MAX;
  std::int64_t due = std::min({launches_.due_us(), parts_due_us(), facts_.due_us(), waiting_.due_us()});
  if (awaits_ends()) due = std::min(due, ending_.until_us);
  if (suspended_us_ == 0)
    for (const auto& [id, step] : steps_)
      if (!step.prepared) due = std::min(due, step.time.due_us());
  return due;
}

void StepManager::on_time() {
  if (ending_.over) return;
  const std::int64_t now = port_.monotonic_us();
  if (now >= launches_.due_us()) {
    launches_.order_again(now);
    send_launches();
  }
  if (now >= parts_due_us() && drop_parts([&](const Step& step) { return now >= step.heard_us + part_patience_us; }))
    try_waiting();
  if (awaits_ends() && now >= ending_.until_us) end();
  if (ending_.over) return;
  tell_facts();
  end_in_time();
  if (now < waiting_.due_us()) return;
  wire::StepNews news;
  news.set_kind(wire::StepNews::WAITING);
  news.set_problem(std::string{step_nodes_busy.text});
  for (const wire::StepRequest& request : waiting_.take_untold()) messages_.tell(asker_of(request), news);
}

void StepManager::agent_is_back() {
  launches_.order_again(port_.monotonic_us());
  send_launches();
}

void StepManager::suspend(bool suspended) {
  if (suspended == (suspended_us_ != 0)) return;
  const std::int64_t now = port_.monotonic_us();
  if (!suspended)
    for (auto& [id, step] : steps_) step.time.resumed(suspended_us_, now);
  suspended_us_ = suspended ? now : 0;
}

void StepManager::hear_facts_heard(std::uint64_t number) {
  facts_.heard(number, port_.monotonic_us());
  for (auto& [id, step] : steps_)
    if (step.to_tell && facts_.is_heard(id)) tell_created(step);
}

void StepManager::hear_client_left(std::uint64_t client) {
  waiting_.client_left(client);
  if (drop_parts([&](const Step& step) { return step.request.client() == client; })) try_waiting();
}

void StepManager::confirm(std::uint32_t id, const std::string& node) {
  if (!launches_.knows(id, node)) return;
  const bool last = launches_.confirm(id, node);
  send_launches();
  if (last && waiting_.size() > 0) try_waiting();
}

void StepManager::hear_report(const wire::StepReport& report) {
  const wire::AttemptStatus& status = report.status();
  const std::uint32_t id = status.step();
  confirm(id, report.node());
  if (status.state() != wire::AttemptStatus::ENDED) return;
  const auto found = steps_.find(id);
  const bool failed =
      status.end() == wire::AttemptStatus::LAUNCH_FAILED || status.end() == wire::AttemptStatus::SUPERVISOR_LOST;
  if (found != steps_.end() && failed && found->second.problem.empty()) {
    found->second.problem =
        report.node() + ": " + (status.problem().empty() ? "the step could not be run" : status.problem());
    kill(id, plan_.kill_wait_seconds(), wire::Kill::CANCELLED_BY_USER);
  }
  messages_.forget(id, report.node());
  ended_there(id, report.node(), status);
}

void StepManager::ended_there(std::uint32_t id, const std::string& node, const wire::AttemptStatus& status) {
  const auto found = steps_.find(id);
  const std::size_t nodes_before = allocator_.nodes_of(id).size();
  const bool over = allocator_.node_ended(id, node);
  const bool is_news = over || allocator_.nodes_of(id).size() < nodes_before;  // once, however often it is told
  if (found != steps_.end() && is_news) add_end(found->second.fact, status);
  if (!over) return;
  if (found != steps_.end()) {
    Step& step = found->second;
    note_ended(step);
    if (step.to_tell) tell_created(step);
    wire::StepNews news;
    news.set_kind(wire::StepNews::ENDED);
    news.set_step_id(id);
    news.set_problem(step.problem);
    messages_.tell(asker_of(step.request), news);
    ended_.add(step.request.ask().step().stdio().secret(), id);
    steps_.erase(found);
  }
  if (awaits_ends()) return end();
  try_waiting();
}

void StepManager::note_ended(Step& step) {
  wire::StepFact& fact = step.fact;
  // It may be heard of before the script is gone that was told to end with it.
  if ((ending_.killed || ending_.closed) && fact.exit_signal() != 0 && fact.end() != wire::StepFact::TIMED_OUT)
    fact.set_end(wire::StepFact::CANCELLED);
  fact.set_ended(true);
  fact.set_ended_at_us(port_.wall_us());
  facts_.add(fact, port_.monotonic_us());
}

void StepManager::tell_facts() {
  auto batch = facts_.next_batch(port_.monotonic_us());
  if (!batch) return;
  wire::StepFromNode message;
  *message.mutable_facts() = *std::move(batch);
  messages_.send(std::move(message));
}

// The job goes on without some of its nodes, which have failed (--no-kill) or were given up (scontrol update
// NumNodes=): what its steps had there has ended.
void StepManager::hear_lost(const wire::NodesLost& lost) {
  for (const std::string& node : lost.nodes()) {
    if (!allocator_.lose(node)) continue;  // told before
    const bool given_up = std::ranges::find(lost.given_up(), node) != lost.given_up().end();
    for (const std::uint32_t id : allocator_.running_on(node)) lose_node(id, node, given_up);
  }
  try_waiting();  // one that waits for what is gone is refused now
}

// Its tasks there count as killed. A step that is not meant to outlive that is killed on its other nodes too.
void StepManager::lose_node(std::uint32_t id, const std::string& node, bool given_up) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) return;
  Step& step = found->second;
  if (step.prepared) return drop_part(id);
  const wire::CreateStep& ask = step.request.ask();
  const bool goes_on = ask.step().extras().no_kill();
  wire::StepNews news;
  news.set_kind(wire::StepNews::NODE_LOST);
  news.set_step_id(id);
  news.set_nodes(node);
  news.set_given_up(given_up);
  for (const std::uint32_t task : allocator_.tasks_on(id, node, ask.step().resources()))
    news.add_lost_tasks(ask.part().first_task() + task);
  messages_.tell(asker_of(step.request), news);
  if (given_up && !goes_on) step.fact.set_end(wire::StepFact::CANCELLED);
  confirm(id, node);
  wire::AttemptStatus status;
  status.set_step(id);
  status.set_state(wire::AttemptStatus::ENDED);
  status.set_end(goes_on || given_up ? wire::AttemptStatus::EXITED : wire::AttemptStatus::SUPERVISOR_LOST);
  status.set_exit_signal(SIGKILL);
  ended_there(id, node, status);
  if (!goes_on && steps_.contains(id))
    kill(id, plan_.kill_wait_seconds(), given_up ? wire::Kill::CANCELLED_BY_USER : wire::Kill::NODE_FAILED);
}

void StepManager::close() {
  ending_.closed = true;
  refuse_waiting();
}

// The script may be over before we have heard that its last step is, above all one of other nodes. What does not end by
// itself soon was left behind: it is killed, and its end waited for, so that it is known how it ended.
void StepManager::end() {
  const std::int64_t now = port_.monotonic_us();
  const std::int64_t time_to_die = plan_.kill_wait_seconds() * second_us + death_patience_us;
  drop_parts([](const Step&) { return true; });
  if (steps_.empty()) {
    ending_.over = true;
    return;
  }
  if (!awaits_ends()) {
    ending_.killed = ending_.closed;  // with us they were killed, by their agents
    ending_.until_us = now + (ending_.killed ? time_to_die : report_patience_us);
  }
  if (now < ending_.until_us) return;
  if (std::exchange(ending_.killed, true)) {
    ending_.over = true;
    return;
  }
  ending_.until_us = now + time_to_die;
  for (const auto& [id, step] : steps_) kill(id, plan_.kill_wait_seconds(), wire::Kill::NOT_WANTED);
}

void StepManager::stop() {
  refuse_waiting();
  ending_.over = true;
}

}  // namespace millrace
