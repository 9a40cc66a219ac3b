// src/controller/requests/step_commands.cpp - what people want of running steps: begin them, signal them, attach to
// them, have them measured.
#include <algorithm>
#include <csignal>

#include "base/shown_text.h"
#include "controller/requests/handlers.h"
#include "controller/requests/step_selector.h"
#include "controller/views/step_views.h"
#include "core/admission/cancel_job.h"

namespace millrace {
namespace {

constexpr std::size_t sample_targets_max = 20'000;
constexpr std::size_t notice_bytes_max = 4096;

}  // namespace

// ---- signalling ----

// The one running job a step is named with; null: refused.
const Job* StepCommands::job_of_step(const wire::StepName& name, bool as_owner) {
  const State& state = c_.commit.durable();
  const auto selected = select_jobs(state, {JobId{name.job().job_id()}, name.job().tasks()});
  if (!selected) return refuse_with(selected.error()), nullptr;
  const SelectedJob& first = selected->front();
  const bool one = selected->size() == 1 || state.job(first.key).het;
  if (!one || first.task) return refuse_with({RefusalCode::invalid_job_id, {}}), nullptr;
  return job_for_steps(state.job(first.key).id.value, as_owner);
}

void StepCommands::signal(const wire::SignalStep& ask) {
  const Job* job = job_of_step(ask.step());
  if (!job) return;
  if (!ask.step().has_step()) return refuse_with({RefusalCode::invalid_job_id, {}});
  const std::uint32_t id = ask.step().step();
  const auto step = find_running_step(c_.commit.durable(), *job, id);
  wire::Reply out = reply();
  out.mutable_done();
  if (step && step->is_attempt()) {
    const bool ends = ask.signal() == 0 || ask.signal() == SIGKILL;
    if (ends && id != batch_step) {  // with its only step srun's own job ends
      auto decision = decide_cancel(c_.commit.decided(), {job->key, std::nullopt}, actor_, c_.loop.now());
      if (!decision) return refuse_with(decision.error());
      if (!decision->empty() && !happen(*std::move(decision))) return;
      return answer_when_durable(std::move(out));
    }
    wire::SignalAttempt signal;
    signal.set_job_key(job->key.value);
    signal.set_attempt(job->attempt.value);
    signal.set_signal(ends ? SIGKILL : ask.signal());
    signal.set_batch_only(id == batch_step);
    signal.set_full(id != batch_step);
    c_.orders.signal(*job, signal);
    return answer(out);
  }
  if (id == batch_step) return refuse_with({RefusalCode::invalid_job_id, {}});
  wire::StepToNode message;
  wire::StepSignal& signal = *message.mutable_signal();
  signal.set_client(asker_.client);
  signal.set_number(request_.number());
  signal.set_uid(actor_.is_admin ? 0 : asker_.uid.value);
  signal.set_step(id);
  signal.set_signal(ask.signal());
  // The first step manager answers; where a whole heterogeneous job was named, the parts of the step in its other
  // components go with it.
  for (const Job* each : step_managers_of(*job, ask.step())) {
    message.set_job_key(each->key.value);
    message.set_attempt(each->attempt.value);
    const bool told = c_.steps.tell_step_manager(*each, message);
    if (!told && signal.client() != 0)
      return refuse_with(RefusalCode::nodes_busy, "the first node of the job, which keeps its steps, does not answer");
    if (signal.client() != 0) c_.steps.expect_answer(asker_.client, *each);
    signal.set_client(0);
  }
}

std::vector<const Job*> StepCommands::step_managers_of(const Job& job, const wire::StepName& name) const {
  std::vector<const Job*> out;
  if (job.is_het_leader() && name.job().tasks().empty())
    for (const JobKey key : whole_of(job))
      if (const Job& each = c_.commit.durable().job(key);
          each.state == JobState::running && find_running_step(c_.commit.durable(), each, name.step()))
        out.push_back(&each);
  if (out.empty()) out.push_back(&job);
  return out;
}

// ---- changing ----

void StepCommands::update(const wire::UpdateStep& ask) {
  const Job* job = job_of_step(ask.step());
  if (!job) return;
  if (!ask.step().has_step()) return refuse_with({RefusalCode::invalid_job_id, {}});
  const std::uint32_t id = ask.step().step();
  const auto step = find_running_step(c_.commit.durable(), *job, id);
  if (id == batch_step || (step && step->is_attempt()))
    return refuse_with(RefusalCode::not_supported,
                       "a script and the tasks of srun's own job have the time of their job: scontrol update JobId= "
                       "TimeLimit= changes it");
  wire::StepToNode message;
  message.set_job_key(job->key.value);
  message.set_attempt(job->attempt.value);
  wire::StepUpdate& update = *message.mutable_update();
  update.set_client(asker_.client);
  update.set_number(request_.number());
  update.set_uid(actor_.is_admin ? 0 : asker_.uid.value);
  update.set_step(id);
  update.set_time_limit_minutes(ask.time_limit_minutes());
  if (!c_.steps.tell_step_manager(*job, message))
    return refuse_with(RefusalCode::nodes_busy, "the first node of the job, which keeps its steps, does not answer");
  c_.steps.expect_answer(asker_.client, *job);  // the step manager answers
}

// ---- attaching ----

void StepCommands::attach(const wire::AttachStep& ask) {
  const Job* job = job_of_step(ask.step(), true);
  if (!job) return;
  if (!ask.step().has_step()) return refuse_with({RefusalCode::invalid_job_id, {}});
  const State& state = c_.commit.durable();
  const std::uint32_t id = ask.step().step();
  if (id == batch_step)
    return refuse_with(RefusalCode::not_supported, "a batch script writes to its files; there is nothing to attach to");
  const auto step = find_running_step(state, *job, id);
  if (!step) {
    const StepTally* tally = state.step_tallies.find(job->key);
    const bool was_there = tally && tally->attempt == job->attempt && id < tally->next_id;
    return was_there ? refuse_with(RefusalCode::already_done) : refuse_with({RefusalCode::invalid_job_id, {}});
  }
  wire::StepOrder order;
  order.set_job_key(job->key.value);
  order.set_attempt(job->attempt.value);
  if (!step->is_attempt()) order.set_step(id);
  *order.mutable_attach() = ask.peer();
  for (const NodeIndex node : nodes_of(*job, *step))
    if (const NodeLink* link = c_.links.find(node); link && link->manager)
      if (const std::string& name = state.node(node).def->name; !link->manager->tell_step(name, order))
        return refuse_with(RefusalCode::nodes_busy, "too much is on its way to node " + name);
  wire::StepView view;
  show_step(state, *job, *step, view);
  wire::Reply out = reply();
  out.mutable_attached()->set_tasks(view.tasks());
  out.mutable_attached()->set_node_count(view.node_count());
  out.mutable_attached()->set_nodes(view.nodes());
  out.mutable_attached()->set_uid(view.uid());
  answer(out);
}

// ---- telling ----

// What reaches a terminal must not steer it.
static std::string note_of(const std::string& text) {
  std::string note = shown_text(text);
  std::size_t kept = std::min<std::size_t>(note.size(), notice_bytes_max);
  while (kept > 0 && kept < note.size() && (note[kept] & 0xc0) == 0x80) --kept;  // no letter is cut in two
  note.resize(kept);
  return note;
}

// To the first node of each running step: one line for each, however many nodes it has.
void StepCommands::notify(const wire::NotifyJob& ask) {
  const Job* job = job_of_step(ask.step());
  if (!job) return;
  const State& state = c_.commit.durable();
  wire::StepOrder order;
  order.set_job_key(job->key.value);
  order.set_attempt(job->attempt.value);
  order.set_note(note_of(ask.text()));
  bool told = false;
  for (const RunningStep& step : running_steps(state, *job)) {
    if (ask.step().has_step() && ask.step().step() != step.id) continue;
    order.clear_step();
    if (!step.is_attempt()) order.set_step(step.id);
    const NodeIndex node = nodes_of(*job, step).front();
    const NodeLink* link = c_.links.find(node);
    if (!link || !link->manager) continue;
    told = true;
    if (const std::string& name = state.node(node).def->name; !link->manager->tell_step(name, order))
      return refuse_with(RefusalCode::nodes_busy, "too much is on its way to node " + name);
  }
  if (!told) return refuse_with(RefusalCode::invalid_job_id, "nothing of the job runs that could show a line");
  wire::Reply out = reply();
  out.mutable_done();
  answer(out);
}

// ---- measuring ----

// By its name or, as a command knows where it runs, by the name of its host (NodeHostname).
static std::optional<NodeIndex> node_or_host(const State& state, const std::string& name) {
  if (const auto found = state.find_node(name)) return found;
  for (const auto& [index, node] : state.nodes)
    if (const std::string& host = node->def->host_name; node->configured && host.substr(0, host.find('.')) == name)
      return index;
  return std::nullopt;
}

void StepCommands::sample(const wire::SampleSteps& ask) {
  const State& state = c_.commit.durable();
  Inquiry inquiry;
  inquiry.client = asker_.client;
  inquiry.user = asker_.uid;
  if (c_.inquiries.has_too_many(asker_.uid))
    return refuse_with(RefusalCode::disabled,
                       "nodes are asked for this user already; ask again when they have answered");
  inquiry.number = request_.number();
  std::optional<NodeIndex> only_node;
  if (!ask.node().empty()) {
    only_node = node_or_host(state, ask.node());
    if (!only_node)
      return refuse_with(RefusalCode::node_configuration_unavailable, "node " + ask.node() + " is not known");
  }
  const auto want = [&](const Job& job, const std::optional<std::uint32_t>& only) {
    const auto steps = running_steps(state, job);
    for (const RunningStep& step : steps) {
      if (only && *only != step.id) continue;
      bool anywhere = false;
      for (const NodeIndex node : nodes_of(job, step)) {
        if (only_node && node != *only_node) continue;
        anywhere = true;
        inquiry.awaited.insert({node, job.key, job.attempt, step.is_attempt() ? std::nullopt : std::optional{step.id}});
      }
      if (anywhere) show_step(state, job, step, *inquiry.answer.add_steps());
    }
    return steps.size();
  };
  if (ask.steps_size() == 0 && only_node)
    for (const JobKey key : state.node(*only_node).jobs)
      if (may_change(state.job(key), actor_)) want(state.job(key), std::nullopt);
  StepSelector selector(state);
  for (const wire::StepName& name : ask.steps()) {
    const auto selected = selector.select(name);
    if (!selected) return refuse_with(selected.error());
    for (const JobKey key : *selected) {
      if (!may_change(state.job(key), actor_)) return refuse_with({RefusalCode::access_denied, {}});
      selector.looked_at(want(state.job(key), name.has_step() ? std::optional{name.step()} : std::nullopt));
    }
    if (inquiry.awaited.size() > sample_targets_max) break;
  }
  if (inquiry.awaited.size() > sample_targets_max)
    return refuse_with(RefusalCode::not_supported, "too many steps at once; name fewer");
  c_.inquiries.begin(std::move(inquiry));
}

// ---- steps ----

const Job* StepCommands::job_for_steps(std::uint32_t id, bool as_owner) {
  const Job* job = c_.commit.durable().find_job(JobId{id});
  if (!job || !job->placement) return refuse_with({RefusalCode::invalid_job_id, {}}), nullptr;
  if (!may_change(*job, actor_)) return refuse_with({RefusalCode::access_denied, {}}), nullptr;
  if (as_owner && !may_act_as_owner(*job, actor_))
    return refuse_with(
               {RefusalCode::access_denied, {"only the owner of a job, root or SlurmUser may run or type in it"}}),
           nullptr;
  if (job->state == JobState::suspended) return refuse_with(RefusalCode::suspended), nullptr;
  if (job->state != JobState::running) return refuse_with(RefusalCode::already_done), nullptr;
  return job;
}

void StepCommands::create(const wire::CreateStep& ask) {
  const Job* job = refuses_sizes(ask.step(), ask.environment(), {}) ? nullptr : job_for_steps(ask.job_id(), true);
  if (!job) return;
  if (ask.component() == 0) return c_.steps.ask(asker_, request_.number(), *job, ask);
  // Named by the number of the whole, which is its first component's.
  if (!job->is_het_leader())
    return refuse_with(
        {RefusalCode::not_het_job,
         {"job " + std::to_string(ask.job_id()) + " has no component " + std::to_string(ask.component())}});
  if (ask.component() >= job->het->size)
    return refuse_with({RefusalCode::too_many_components,
                        {"--het-group=" + std::to_string(ask.component()) + ": the job has " +
                         std::to_string(job->het->size) + " components, counted from 0"}});
  if (const Job* component = job_for_steps(ask.job_id() + ask.component(), true))
    c_.steps.ask(asker_, request_.number(), *component, ask);
}

void StepCommands::end_allocation(const wire::EndAllocation& ask) {
  const Job* job = job_for_steps(ask.job_id());
  if (!job) return;
  if (!job->spec->allocation_only)
    return refuse_with(RefusalCode::not_supported, "the job was not made by salloc; scancel ends it");
  wire::StepToNode message;
  message.set_job_key(job->key.value);
  message.set_attempt(job->attempt.value);
  *message.mutable_end() = ask;
  if (!c_.steps.tell_step_manager(*job, message))
    return refuse_with(RefusalCode::nodes_busy, "the first node of the job does not answer; scancel ends it");
  wire::Reply out = reply();
  out.mutable_done();
  answer(out);
}

}  // namespace millrace
