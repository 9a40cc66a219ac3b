// src/controller/step_requests.cpp - what people want of running steps: see them, signal them, attach to them, have
// them measured.
#include <algorithm>
#include <csignal>

#include "base/shown_text.h"
#include "controller/commands.h"
#include "controller/queries.h"
#include "controller/step_views.h"
#include "core/admission/cancel_job.h"

namespace millrace {
namespace {

constexpr Duration sample_patience = seconds(5);  // a node that has not answered by then is named as silent
constexpr std::size_t sample_targets_max = 20'000;
constexpr std::ptrdiff_t inquiries_max = 16;  // of one user at a time
constexpr std::size_t notice_bytes_max = 4096;
constexpr int rows_per_reply = 4000;

// How many it looked at.
std::size_t show_steps(const State& state, const wire::QuerySteps& ask, const Job& job,
                       const std::optional<std::uint32_t>& only, wire::Steps& out) {
  if (ask.has_uid() && job.spec->owner->uid.value != ask.uid()) return 0;
  const auto steps = running_steps(state, job);
  for (const RunningStep& step : steps)
    if (!only || *only == step.id) show_step(state, job, step, *out.add_steps());
  return steps.size();
}

// All that run.
struct StepWalk final : RowWalk {
  StepWalk(State s, wire::QuerySteps a, HiddenPartitions h, Time n)
      : state(std::move(s)), ask(std::move(a)), hidden(std::move(h)), now(n) {}
  State state;
  wire::QuerySteps ask;
  HiddenPartitions hidden;
  Time now;
  JobKey from;

  bool advance(std::string& encoded) override {
    wire::Reply reply;
    reply.mutable_steps()->set_now_us(now.value);
    auto it = state.active.lower_bound(from);
    for (; it != state.active.end() && reply.steps().steps_size() < rows_per_reply; ++it)
      if (const Job& job = state.job((*it).first); !hidden.hides(job))
        show_steps(state, ask, job, std::nullopt, *reply.mutable_steps());
    const bool more = it != state.active.end();
    if (more) from = (*it).first;
    reply.set_more(more);
    encoded = reply.SerializeAsString();
    return more;
  }
};

// Steps that one request names: each job once for each of its steps that is named, and once for all of them.
class StepSelector {
 public:
  explicit StepSelector(const State& state) : state_(state) {}
  std::expected<std::vector<JobKey>, Refusal> select(const wire::StepName& name) {
    if (is_exhausted()) return std::unexpected(JobSelector::refusal());
    const JobName job{JobId{name.job().job_id()}, name.job().tasks()};
    const auto step = name.has_step() ? std::optional{name.step()} : std::nullopt;
    auto selected = select_jobs(state_, job, looked_at_);
    if (!selected) return std::unexpected(selected.error());
    std::vector<JobKey> out;
    for (const SelectedJob& which : *selected)
      if (!which.task && given_.emplace(which.key, step).second) out.push_back(which.key);
    return out;
  }
  bool is_exhausted() const { return looked_at_ >= JobSelector::usual_most; }
  void looked_at(std::size_t steps) { looked_at_ += steps; }

 private:
  const State& state_;
  std::uint64_t looked_at_ = 0;
  std::set<std::pair<JobKey, std::optional<std::uint32_t>>> given_;
};

}  // namespace

// ---- seeing ----

void Queries::steps(wire::QuerySteps ask, HiddenPartitions hidden) {
  const State& state = c_.commit_.durable();
  privacy().narrow(ask);
  if (ask.steps_size() == 0) {
    return ask_long(
        [&c = c_, ask, hidden] { return std::make_unique<StepWalk>(c.commit_.durable(), ask, hidden, c.loop_.now()); },
        hidden.any());
  }
  wire::Reply out = reply();
  wire::Steps& steps = *out.mutable_steps();
  steps.set_now_us(c_.loop_.now().value);
  StepSelector selector(state);
  for (const wire::StepName& name : ask.steps()) {
    const auto selected = selector.select(name);
    if (!selected && selector.is_exhausted()) return refuse(selected.error());
    const bool is_there = selected && (selected->empty() || privacy().sees(state.job(selected->front())));
    if (!is_there) steps.set_missing(steps.missing() + 1);
    if (!is_there) continue;
    for (const JobKey key : *selected)
      selector.looked_at(
          show_steps(state, ask, state.job(key), name.has_step() ? std::optional{name.step()} : std::nullopt, steps));
  }
  c_.clients_.reply(asker_.client, out);
}

// ---- signalling ----

// The one running job a step is named with; null: refused.
const Job* Commands::job_of_step(const wire::StepName& name, bool as_owner) {
  const State& state = c_.commit_.durable();
  const auto selected = select_jobs(state, {JobId{name.job().job_id()}, name.job().tasks()});
  if (!selected) return refuse_with(selected.error()), nullptr;
  const SelectedJob& first = selected->front();
  const bool one = selected->size() == 1 || state.job(first.key).het;
  if (!one || first.task) return refuse_with({RefusalCode::invalid_job_id, {}}), nullptr;
  return job_for_steps(state.job(first.key).id.value, as_owner);
}

void Commands::signal_step(const wire::SignalStep& ask) {
  const Job* job = job_of_step(ask.step());
  if (!job) return;
  if (!ask.step().has_step()) return refuse_with({RefusalCode::invalid_job_id, {}});
  const std::uint32_t id = ask.step().step();
  const auto step = find_running_step(c_.commit_.durable(), *job, id);
  wire::Reply out = reply();
  out.mutable_done();
  if (step && step->is_attempt()) {
    const bool ends = ask.signal() == 0 || ask.signal() == SIGKILL;
    if (ends && id != batch_step) {  // with its only step srun's own job ends
      auto decision = decide_cancel(c_.commit_.decided(), {job->key, std::nullopt}, actor_, c_.loop_.now());
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
    c_.signal_nodes(*job, signal);
    return answer(std::move(out));
  }
  if (id == batch_step) return refuse_with({RefusalCode::invalid_job_id, {}});
  wire::StepToNode message;
  wire::StepSignal& signal = *message.mutable_signal();
  signal.set_client(asker_.client);
  signal.set_number(request_.number());
  signal.set_uid(actor_.is_admin ? 0 : asker_.uid.value);
  signal.set_step(id);
  signal.set_signal(ask.signal());
  // The first keeper answers; where a whole heterogeneous job was named, the parts of the step in its other components
  // go with it.
  for (const Job* each : keepers_of(*job, ask.step())) {
    message.set_job_key(each->key.value);
    message.set_attempt(each->attempt.value);
    const bool told = c_.tell_keeper(*each, message);
    if (!told && signal.client() != 0)
      return refuse_with(RefusalCode::nodes_busy, "the first node of the job, which keeps its steps, does not answer");
    if (signal.client() != 0) c_.step_clients_[asker_.client].insert({each->key, each->attempt});
    signal.set_client(0);
  }
}

std::vector<const Job*> Commands::keepers_of(const Job& job, const wire::StepName& name) const {
  std::vector<const Job*> out;
  if (job.is_het_leader() && name.job().tasks().empty())
    for (const JobKey key : whole_of(job))
      if (const Job& each = c_.commit_.durable().job(key);
          each.state == JobState::running && find_running_step(c_.commit_.durable(), each, name.step()))
        out.push_back(&each);
  if (out.empty()) out.push_back(&job);
  return out;
}

// ---- changing ----

void Commands::update_step(const wire::UpdateStep& ask) {
  const Job* job = job_of_step(ask.step());
  if (!job) return;
  if (!ask.step().has_step()) return refuse_with({RefusalCode::invalid_job_id, {}});
  const std::uint32_t id = ask.step().step();
  const auto step = find_running_step(c_.commit_.durable(), *job, id);
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
  if (!c_.tell_keeper(*job, message))
    return refuse_with(RefusalCode::nodes_busy, "the first node of the job, which keeps its steps, does not answer");
  c_.step_clients_[asker_.client].insert({job->key, job->attempt});  // the keeper answers
}

// ---- attaching ----

void Commands::attach_step(const wire::AttachStep& ask) {
  const Job* job = job_of_step(ask.step(), true);
  if (!job) return;
  if (!ask.step().has_step()) return refuse_with({RefusalCode::invalid_job_id, {}});
  const State& state = c_.commit_.durable();
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
    if (const auto link = c_.links_.find(node); link != c_.links_.end() && link->second.manager)
      if (const std::string& name = state.node(node).def->name; !link->second.manager->tell_step(name, order))
        return refuse_with(RefusalCode::nodes_busy, "too much is on its way to node " + name);
  wire::StepView view;
  show_step(state, *job, *step, view);
  wire::Reply out = reply();
  out.mutable_attached()->set_tasks(view.tasks());
  out.mutable_attached()->set_node_count(view.node_count());
  out.mutable_attached()->set_nodes(view.nodes());
  out.mutable_attached()->set_uid(view.uid());
  answer(std::move(out));
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
void Commands::notify_job(const wire::NotifyJob& ask) {
  const Job* job = job_of_step(ask.step());
  if (!job) return;
  const State& state = c_.commit_.durable();
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
    const auto link = c_.links_.find(node);
    if (link == c_.links_.end() || !link->second.manager) continue;
    told = true;
    if (const std::string& name = state.node(node).def->name; !link->second.manager->tell_step(name, order))
      return refuse_with(RefusalCode::nodes_busy, "too much is on its way to node " + name);
  }
  if (!told) return refuse_with(RefusalCode::invalid_job_id, "nothing of the job runs that could show a line");
  wire::Reply out = reply();
  out.mutable_done();
  answer(std::move(out));
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

void Commands::sample_steps(const wire::SampleSteps& ask) {
  const State& state = c_.commit_.durable();
  Controller::Inquiry inquiry;
  inquiry.client = asker_.client;
  inquiry.user = asker_.uid;
  if (std::ranges::count(c_.inquiries_, asker_.uid, [](const auto& one) { return one.second.user; }) >= inquiries_max)
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
  c_.inquire(std::move(inquiry));
}

void Controller::inquire(Inquiry inquiry) {
  const std::uint64_t id = ++last_inquiry_;
  const auto [at, fresh] = inquiries_.emplace(id, std::move(inquiry));
  MR_ASSERT(fresh);
  std::erase_if(at->second.awaited, [&](const SampleTarget& target) {
    const auto link = links_.find(target.node);
    const std::string& name = commit_.durable().node(target.node).def->name;
    if (link == links_.end() || !link->second.manager || !link->second.reported) {
      at->second.answer.add_silent_nodes(name);
      return true;
    }
    wire::StepOrder order;
    order.set_job_key(target.key.value);
    order.set_attempt(target.attempt.value);
    if (target.step) order.set_step(*target.step);
    order.set_inquiry(id);
    if (link->second.manager->tell_step(name, order)) return false;
    at->second.answer.add_silent_nodes(name);
    return true;
  });
  if (at->second.awaited.empty()) return answer_inquiry(id);
  at->second.timer = loop_.after(sample_patience, [this, id] { answer_inquiry(id); });
}

void Controller::step_sampled(ResourceManager& by, const std::string& name, const wire::StepSample& sample) {
  const auto node = own_node(by, name);
  const auto found = inquiries_.find(sample.inquiry());
  if (!node || found == inquiries_.end()) return;
  const SampleTarget target{*node, JobKey{sample.job_key()}, Attempt{sample.attempt()},
                            sample.has_step() ? std::optional{sample.step()} : std::nullopt};
  if (found->second.awaited.erase(target) == 0) return;  // not asked, or heard already
  const Job* job = commit_.durable().find_job(target.key);
  if (job) {
    wire::StepSample& kept = *found->second.answer.add_samples();
    kept = sample;
    kept.set_node(name);
    kept.set_job_id(job->id.value);
    kept.set_batch(!target.step && job->spec->is_batch());
  }
  if (found->second.awaited.empty()) answer_inquiry(found->first);
}

void Controller::answer_inquiry(std::uint64_t id) {
  const auto found = inquiries_.find(id);
  if (found == inquiries_.end()) return;
  Inquiry inquiry = std::move(found->second);
  inquiries_.erase(found);
  if (inquiry.timer != 0) loop_.cancel(inquiry.timer);
  std::set<std::string> silent(inquiry.answer.silent_nodes().begin(), inquiry.answer.silent_nodes().end());
  for (const SampleTarget& target : inquiry.awaited) silent.insert(commit_.durable().node(target.node).def->name);
  inquiry.answer.clear_silent_nodes();
  for (const std::string& name : silent) inquiry.answer.add_silent_nodes(name);
  wire::Reply reply;
  reply.set_number(inquiry.number);
  *reply.mutable_step_samples() = std::move(inquiry.answer);
  clients_.reply(inquiry.client, reply);
}

}  // namespace millrace
