// src/sim/sim_script.cpp - see sim_script.h.
#include "sim/sim_script.h"

#include "core/model/step.h"

namespace millrace {
namespace {

constexpr Duration ask_again_after = seconds(5);

}  // namespace

SimSruns::State SimSruns::of(const std::string& secret) const {
  const auto found = states_.find(secret);
  return found == states_.end() ? State::gone : found->second;
}

void SimSruns::set(const std::string& secret, State state) {
  if (state == State::gone)
    states_.erase(secret);
  else
    states_[secret] = state;
}

SimScript::SimScript(SimWorld& world, SimSruns& sruns, const wire::LaunchPlan& plan, const wire::Credential& identity,
                     Outside outside)
    : world_(world),
      all_sruns_(sruns),
      process_(world),
      outside_(std::move(outside)),
      job_key_(plan.job_key()),
      attempt_(plan.attempt()),
      uid_(identity.uid()),
      nodes_(static_cast<std::uint32_t>(plan.cpus_per_node_size())),
      sruns_left_(world.random.below(6)),
      manager_(plan, identity, *this, log_) {
  begin_srun();
}

SimScript::~SimScript() {
  for (const Srun& srun : sruns_) all_sruns_.set(srun.request.ask().step().stdio().secret(), SimSruns::State::gone);
}

// One after the other or beside each other, on one node or on more, some with a wish that few have.
void SimScript::begin_srun() {
  if (sruns_left_ == 0) return;
  --sruns_left_;
  process_.after(Duration{static_cast<std::int64_t>(1 + world_.random.below(4'000'000))}, [this] {
    Srun& srun = sruns_.emplace_back();
    srun.waited_for = world_.random.chance(2, 3);
    wire::StepRequest& request = srun.request;
    request.set_client(sruns_.size() - 1);
    request.set_uid(uid_);
    wire::CreateStep& ask = *request.mutable_ask();
    ask.set_overlap(world_.random.chance(1, 2));
    ask.set_exact(world_.random.chance(1, 2));
    ask.set_recorded(world_.random.chance(1, 2));
    ask.set_prepare(world_.random.chance(1, 6));
    wire::JobDescription& step = *ask.mutable_step();
    step.set_name("step of srun " + std::to_string(request.client()));
    step.add_arguments("program");
    step.mutable_stdio()->set_secret(all_sruns_.new_secret());
    const auto nodes = static_cast<std::uint32_t>(1 + world_.random.below(nodes_));
    step.set_min_nodes(nodes);
    step.set_max_nodes(nodes);
    step.set_tasks(nodes);
    if (world_.random.chance(1, 2)) step.mutable_extras()->set_no_kill(true);
    if (world_.random.chance(1, 20)) step.set_time_limit_minutes(1);
    all_sruns_.set(step.stdio().secret(), SimSruns::State::asks);
    ask_again(sruns_.size() - 1);
    begin_srun();
  });
}

bool SimScript::waits_for_steps() const {
  return std::ranges::any_of(sruns_, [](const Srun& srun) { return srun.waited_for && !srun.over; });
}

std::string SimScript::waits_for() const {
  std::string out;
  for (const Srun& srun : sruns_)
    if (!srun.over)
      out += "; srun " + std::to_string(srun.request.client()) +
             (srun.step ? " with step " + std::to_string(*srun.step) : " without a step");
  for (const wire::StepFact& fact : unheard()) out += "; fact of step " + std::to_string(fact.id()) + " not heard";
  return out;
}

void SimScript::ask(std::size_t which) {
  wire::StepRequest& request = sruns_[which].request;
  request.set_number(request.number() + 1);
  if (outside_.answer_is_lost()) return;
  wire::StepToNode message;
  message.set_job_key(job_key_);
  message.set_attempt(attempt_);
  *message.mutable_request() = request;
  hear(message);
}

void SimScript::ask_again(std::size_t which) {
  if (sruns_[which].over) return;
  ask(which);
  process_.after(ask_again_after, [this, which] { ask_again(which); });
}

void SimScript::send(const wire::StepFromNode& message) {
  process_.post([this, message] {
    if (!message.has_reply()) {
      outside_.send(message);
    } else if (!outside_.answer_is_lost()) {
      hear_reply(message.reply());
    }
  });
}

Result<void> SimScript::write_step(std::uint32_t id) {
  MR_ASSERT(!records_.contains(id));
  records_[id].job_key = job_key_;
  records_[id].attempt = attempt_;
  return {};
}

void SimScript::hear_reply(const wire::StepReply& reply) {
  if (reply.client() >= sruns_.size()) return;  // somebody with an order
  const auto which = static_cast<std::size_t>(reply.client());
  if (sruns_[which].over || reply.number() != sruns_[which].request.number()) return;
  if (reply.has_failure()) srun_is_over(which);
  if (reply.has_news() && !reply.news().ask_again()) hear_news(which, reply.news());
  look_again();
}

void SimScript::hear_news(std::size_t which, const wire::StepNews& news) {
  Srun& srun = sruns_[which];
  switch (news.kind()) {
    case wire::StepNews::CREATED:
      // One srun, one step; what was only prepared may have been given up and prepared anew meanwhile.
      MR_ASSERT(!srun.step || *srun.step == news.step_id() || news.prepared());
      if (!srun.step && world_.random.chance(1, 8))
        process_.after(Duration{static_cast<std::int64_t>(world_.random.below(3'000'000))},
                       [this, step = news.step_id()] { somebody_wants_something(step); });
      srun.step = news.step_id();
      if (news.prepared()) return join_parts(which, news);
      all_sruns_.set(srun.request.ask().step().stdio().secret(), SimSruns::State::ready);
      return;
    case wire::StepNews::ENDED:
      records_.at(news.step_id()).end_told_at = world_.now();
      return srun_is_over(which);
    default:
      return;
  }
}

// As if a part in another component were there, too. Some never come to that.
void SimScript::join_parts(std::size_t which, const wire::StepNews& prepared) {
  wire::CreateStep& ask = *sruns_[which].request.mutable_ask();
  if (world_.random.chance(1, 4)) return srun_is_over(which);
  if (ask.has_part() || world_.random.chance(1, 4)) return;
  wire::PartOfStep& part = *ask.mutable_part();
  part.set_first_task(1);
  part.set_first_node(1);
  part.set_nodes("elsewhere," + prepared.nodes());
  part.add_tasks_per_node(1);
  part.add_cpus_per_node(1);
  part.mutable_tasks_per_node()->MergeFrom(prepared.tasks_per_node());
  part.mutable_cpus_per_node()->MergeFrom(prepared.cpus_per_node());
  part.set_tasks(1 + prepared.tasks());
  part.set_step_id(prepared.step_id());
  process_.after(milliseconds(100), [this, which] { this->ask(which); });
}

void SimScript::srun_is_over(std::size_t which) {
  sruns_[which].over = true;
  all_sruns_.set(sruns_[which].request.ask().step().stdio().secret(), SimSruns::State::gone);
  wire::StepToNode left;
  left.mutable_left()->set_client(which);
  hear(left);
}

// scancel JOB.STEP, or scontrol update StepId=.
void SimScript::somebody_wants_something(std::uint32_t step) {
  constexpr std::uint64_t nobody = UINT64_MAX;
  wire::StepToNode message;
  if (world_.random.chance(1, 2)) {
    message.mutable_signal()->set_client(nobody);
    message.mutable_signal()->set_uid(uid_);
    message.mutable_signal()->set_step(step);
  } else {
    message.mutable_update()->set_client(nobody);
    message.mutable_update()->set_uid(uid_);
    message.mutable_update()->set_step(step);
    message.mutable_update()->set_time_limit_minutes(100 + step);
  }
  hear(message);
}

void SimScript::look_at_facts() {
  for (wire::StepFact& fact : manager_.unheard_facts()) records_.at(fact.id()).fact = std::move(fact);
}

void SimScript::hear(const wire::StepToNode& message) {
  if (!message.has_facts_heard()) {
    manager_.hear(message);
    return look_again();
  }
  look_at_facts();
  std::map<std::uint32_t, bool> before;
  for (const wire::StepFact& fact : manager_.unheard_facts()) before.emplace(fact.id(), fact.ended());
  manager_.hear(message);
  for (const wire::StepFact& fact : manager_.unheard_facts()) before.erase(fact.id());
  for (const auto& [id, ended] : before) {  // no longer told by us: the log answers for it
    records_.at(id).start_heard = true;
    records_.at(id).end_heard = ended;
  }
  look_again();
}

void SimScript::agent_is_back() {
  manager_.agent_is_back();
  look_again();
}

void SimScript::suspend(bool suspended) {
  manager_.suspend(suspended);
  look_again();
}

void SimScript::close() {
  manager_.close();
  look_again();
}

void SimScript::end() {
  sruns_left_ = 0;
  for (Srun& srun : sruns_) {
    srun.over = true;
    all_sruns_.set(srun.request.ask().step().stdio().secret(), SimSruns::State::gone);
  }
  manager_.end();
  look_again();
}

// After everything that the manager heard or did: when it is to be called next may be another time now.
void SimScript::look_again() {
  look_at_facts();
  process_.cancel(std::exchange(due_timer_, 0));
  if (const std::int64_t due = manager_.due_us(); due != INT64_MAX)
    due_timer_ = process_.after(std::max(Time{due} - world_.now(), Duration{0}), [this] {
      due_timer_ = 0;
      manager_.on_time();
      look_again();
    });
  if (std::exchange(tells_change_, true)) return;
  process_.post([this] {
    tells_change_ = false;
    outside_.changed();
  });
}

std::vector<StepRecord> SimScript::records() const {
  std::vector<StepRecord> out;
  for (const auto& [id, record] : records_) out.push_back(record);
  return out;
}

}  // namespace millrace
