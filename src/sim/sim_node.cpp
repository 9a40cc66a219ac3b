// src/sim/sim_node.cpp - see sim_node.h.
#include "sim/sim_node.h"

namespace millrace {

SimNode::SimNode(SimWorld& world, SimNetwork& network, SimSruns& sruns, std::string name, std::uint32_t cpus, Work work,
                 bool programs)
    : world_(world),
      network_(network),
      sruns_(sruns),
      name_(std::move(name)),
      cpus_(cpus),
      work_(std::move(work)),
      with_programs_(programs) {}

SimNode::~SimNode() {
  kill_agent();
  for (auto& [key, attempt] : spool_) world_.cancel(attempt.end_event);
  for (auto& [name, step] : step_spool_) world_.cancel(step.event);
}

void SimNode::start_agent() {
  if (agent_) return;
  process_ = std::make_unique<SimProcess>(world_, &clock_off_);
  for (const std::size_t record : std::exchange(strangers_, {})) history_[record].ended_at = world_.now();
  for (const std::size_t record : std::exchange(strange_steps_, {})) step_runs_[record].ended_at = world_.now();
  dialer_ = std::make_unique<SimDialer>(network_, name_);
  AgentSettings settings;
  settings.node = name_;
  settings.boot_id = name_ + "-boot" + std::to_string(boot_);
  settings.spool_id = name_ + "-spool" + std::to_string(spool_number_);
  settings.version = "sim";
  settings.first_session = ++sessions_ * 1'000'000;
  settings.highest_epoch = epoch_;
  settings.heartbeat = seconds(1);
  AgentHooks hooks;
  hooks.epoch_rose = [this](std::uint64_t epoch) { epoch_ = epoch; };
  // Not at once, and by nobody who dies with it. Told twice it boots twice, unless it has gone down in between.
  hooks.reboot = [this] {
    world_.at(world_.now() + milliseconds(200), [this, boot = boot_] {
      if (boot != boot_) return;
      ++reboots_;
      crash();
      world_.at(world_.now() + seconds(3), [this] { start_agent(); });
    });
  };
  if (with_programs_) {
    ProgramJournal& journal = *this;
    Supervisors& inner = *this;
    programs_ = std::make_unique<SimPrograms>(world_, *process_, program_history_);
    prolog_epilog_ = std::make_unique<PrologEpilog>(*process_, inner, *programs_, journal,
                                                    ProgramSettings{{"prolog", "prolog2"}, {"epilog"}, {}, {}});
  }
  Supervisors& supervisors = prolog_epilog_ ? static_cast<Supervisors&>(*prolog_epilog_) : *this;
  Measurements& measurements = *this;
  agent_ = std::make_unique<Agent>(*process_, *dialer_, supervisors, measurements, settings, hooks);
  agent_->start();
}

void SimNode::kill_agent() {
  observer_ = nullptr;
  agent_.reset();
  prolog_epilog_.reset();
  programs_.reset();
  dialer_.reset();
  process_.reset();
}

void SimNode::crash() {
  kill_agent();
  for (auto& [key, attempt] : spool_) {
    world_.cancel(attempt.end_event);
    end_script(attempt);
    if (attempt.launched && !history_[attempt.record].ended_at.is_set())
      history_[attempt.record].ended_at = world_.now();
  }
  for (const std::size_t record : strangers_) history_[record].ended_at = world_.now();
  lose_steps(false);
  spool_.clear();
  strangers_.clear();
  journal_.clear();
  crashes_.push_back(world_.now());
  ++boot_;
  ++spool_number_;
}

void SimNode::lose_spool() {
  kill_agent();
  for (auto& [key, attempt] : spool_) {
    world_.cancel(attempt.end_event);
    end_script(attempt);
    if (attempt.launched && !history_[attempt.record].ended_at.is_set()) strangers_.push_back(attempt.record);
  }
  lose_steps(true);
  spool_.clear();
  journal_.clear();
  crashes_.push_back(world_.now());
  ++spool_number_;
}

void SimNode::kill_a_supervisor() {
  for (auto& [key, attempt] : spool_) {
    if (attempt.status.state() != wire::AttemptStatus::RUNNING_NOW) continue;
    if (world_.random.chance(1, 2)) continue;
    const AttemptKey chosen = key;
    return end(chosen, wire::AttemptStatus::SUPERVISOR_LOST, 0, 9, false);
  }
  for (const auto& [name, step] : step_spool_)
    if (step.status.state() == wire::AttemptStatus::RUNNING_NOW)
      return end_step(AttemptName{name}, wire::AttemptStatus::SUPERVISOR_LOST, 0, 9, false);
}

bool SimNode::runs(const AttemptKey& attempt) const {
  const auto it = spool_.find(attempt);
  return it != spool_.end() && it->second.status.state() == wire::AttemptStatus::RUNNING_NOW;
}

std::size_t SimNode::running() const {
  std::size_t count = 0;
  for (const auto& [key, attempt] : spool_) count += attempt.status.state() == wire::AttemptStatus::RUNNING_NOW ? 1 : 0;
  for (const auto& [name, step] : step_spool_) count += step.status.state() == wire::AttemptStatus::RUNNING_NOW ? 1 : 0;
  return count;
}

std::string SimNode::what_runs() const {
  std::string out;
  for (const auto& [key, attempt] : spool_)
    if (attempt.status.state() == wire::AttemptStatus::RUNNING_NOW)
      out += "\n  " + name_ + ": job key " + std::to_string(key.first) + " attempt " + std::to_string(key.second) +
             (attempt.status.suspended() ? ", suspended" : "") + (attempt.work_done ? ", work done" : "") +
             (attempt.over ? ", over" : "") + (attempt.script ? attempt.script->waits_for() : "");
  for (const auto& [name, step] : step_spool_)
    if (step.status.state() == wire::AttemptStatus::RUNNING_NOW)
      out += "\n  " + name_ + ": step " + text_of(name) + (step.begun ? ", begun" : ", not begun") +
             (step.status.suspended() ? ", suspended" : "");
  return out;
}

std::vector<wire::AttemptStatus> SimNode::adopt(SupervisorObserver& observer) {
  observer_ = &observer;
  std::vector<wire::AttemptStatus> out;
  for (const auto& [key, attempt] : spool_) out.push_back(attempt.status);
  for (const auto& [name, step] : step_spool_) out.push_back(step.status);
  for (auto& [key, attempt] : spool_)
    if (attempt.script) attempt.script->agent_is_back();
  return out;
}

void SimNode::launch(const wire::LaunchPlan& plan, const wire::Credential& identity) {
  if (plan.has_step()) return launch_step(plan);
  const AttemptKey key{plan.job_key(), plan.attempt()};
  MR_ASSERT(!spool_.contains(key));
  Attempt& attempt = spool_[key];
  attempt.status.set_job_key(key.first);
  attempt.status.set_attempt(key.second);
  attempt.status.set_state(wire::AttemptStatus::RUNNING_NOW);
  // It holds the node for a script that runs elsewhere; of a further component of a heterogeneous job it keeps the
  // steps.
  const bool holds = plan.job().allocation_only() || (plan.node_position() != 0 && !plan.job().interactive());
  if (holds) {
    holders_.push_back({name_, key, world_.now(), {}, 0, false});
    begin_script(plan, identity, attempt);
    if (observer_) observer_->attempt_changed(attempt.status);
    return;
  }
  const auto [takes, code] = work_(key);
  attempt.launched = true;
  attempt.record = history_.size();
  history_.push_back({name_, key, world_.now(), {}, 0, false});
  attempt.exit_code = code;
  attempt.work_left = takes;
  begin_script(plan, identity, attempt);
  go_on(key, attempt);
  if (observer_) observer_->attempt_changed(attempt.status);
}

// Some jobs have steps; the step manager is where their first node is.
void SimNode::begin_script(const wire::LaunchPlan& plan, const wire::Credential& identity, Attempt& attempt) {
  if (plan.node_position() != 0 || !world_.random.chance(1, 3)) return;
  const AttemptKey key{plan.job_key(), plan.attempt()};
  SimScript::Outside outside;
  outside.send = [this](const wire::StepFromNode& message) {
    if (observer_) observer_->step_manager_said(message);
    return observer_ != nullptr;
  };
  outside.changed = [this, key] { look_at_script(key); };
  outside.answer_is_lost = [this] {
    return !observer_ || (network_.faults.lost_per_1000 != 0 && world_.random.chance(1, 10));
  };
  attempt.script = std::make_unique<SimScript>(world_, sruns_, plan, identity, std::move(outside));
}

void SimNode::go_on(const AttemptKey& key, Attempt& attempt) {
  attempt.works_until = world_.now() + attempt.work_left;
  attempt.end_event = world_.at(attempt.works_until, [this, key] {
    spool_.at(key).end_event = 0;
    spool_.at(key).work_done = true;
    look_at_script(key);
  });
}

// It ends when its work is done and every srun that it waits for is over, and its attempt when its steps have ended.
void SimNode::look_at_script(const AttemptKey& key) {
  Attempt& attempt = spool_.at(key);
  if (attempt.status.state() == wire::AttemptStatus::ENDED) return;
  const bool waits = attempt.script && attempt.script->waits_for_steps();
  if (!attempt.over && attempt.work_done && !waits && !attempt.status.suspended()) return script_is_over(key, 0, true);
  if (attempt.over && (!attempt.script || attempt.script->is_over()))
    end(key, wire::AttemptStatus::EXITED, attempt.whole ? attempt.exit_code : 0, attempt.signal, attempt.whole);
}

void SimNode::script_is_over(const AttemptKey& key, std::uint32_t signal, bool whole) {
  Attempt& attempt = spool_.at(key);
  attempt.over = true;
  attempt.signal = signal;
  attempt.whole = whole;
  if (attempt.script) attempt.script->end();
  look_at_script(key);
}

void SimNode::suspend(const wire::Suspend& suspend) {
  if (suspend.has_step()) return suspend_step(name_of(suspend), suspend.suspended());
  const AttemptKey key{suspend.job_key(), suspend.attempt()};
  if (!runs(key)) return;
  Attempt& attempt = spool_[key];
  if (attempt.killed || attempt.status.suspended() == suspend.suspended()) return;
  attempt.status.set_suspended(suspend.suspended());
  if (attempt.script) attempt.script->suspend(suspend.suspended());
  if (!attempt.launched || attempt.over || attempt.work_done) {
  } else if (suspend.suspended()) {
    world_.cancel(attempt.end_event);
    attempt.end_event = 0;
    attempt.work_left = attempt.works_until - world_.now();
  } else {
    go_on(key, attempt);
  }
  if (observer_) observer_->attempt_changed(attempt.status);
}

bool SimNode::is_suspended(const AttemptKey& key) const {
  const auto it = spool_.find(key);
  return it != spool_.end() && it->second.status.suspended();
}

void SimNode::tell_step_manager(const wire::StepToNode& message) {
  const auto it = spool_.find({message.job_key(), message.attempt()});
  if (it != spool_.end() && it->second.script) it->second.script->hear(message);
}

void SimNode::end_script(Attempt& attempt) {
  if (!attempt.script) return;
  for (StepRecord& record : attempt.script->records()) past_steps_.push_back(std::move(record));
  attempt.script.reset();
}

std::vector<StepRecord> SimNode::steps() const {
  std::vector<StepRecord> out = past_steps_;
  for (const auto& [key, attempt] : spool_)
    if (attempt.script)
      for (StepRecord& record : attempt.script->records()) out.push_back(std::move(record));
  return out;
}

void SimNode::kill(const wire::Kill& kill) {
  if (kill.has_step()) return kill_step(name_of(kill));
  const AttemptKey key{kill.job_key(), kill.attempt()};
  if (!runs(key)) return;
  Attempt& attempt = spool_[key];
  attempt.killed = true;
  attempt.status.set_suspended(false);
  if (attempt.script) attempt.script->close();
  if (attempt.over) return;
  // It takes the TERM, or only the KILL that follows.
  world_.cancel(attempt.end_event);
  attempt.end_event =
      world_.at(world_.now() + Duration{static_cast<std::int64_t>(world_.random.below(3'000'000))}, [this, key] {
        spool_.at(key).end_event = 0;
        script_is_over(key, 15, false);
      });
}

void SimNode::forget(const wire::Forget& forget) {
  if (const auto step = step_spool_.find(name_of(forget)); step != step_spool_.end()) {
    if (step->second.status.state() == wire::AttemptStatus::ENDED) step_spool_.erase(step);
    return;
  }
  if (forget.has_step()) return;
  const auto it = spool_.find({forget.job_key(), forget.attempt()});
  if (it != spool_.end() && it->second.status.state() == wire::AttemptStatus::ENDED) spool_.erase(it);
}

void SimNode::end(const AttemptKey& key, wire::AttemptStatus::End how, std::uint32_t code, std::uint32_t signal,
                  bool whole) {
  Attempt& attempt = spool_.at(key);
  if (attempt.status.state() == wire::AttemptStatus::ENDED) return;
  world_.cancel(attempt.end_event);
  attempt.end_event = 0;
  attempt.status.set_state(wire::AttemptStatus::ENDED);
  attempt.status.set_end(how);
  attempt.status.set_exit_code(code);
  attempt.status.set_exit_signal(signal);
  // What was not yet heard goes with the end; one that was lost has nothing more to say.
  if (attempt.script && how != wire::AttemptStatus::SUPERVISOR_LOST)
    for (wire::StepFact& fact : attempt.script->unheard()) *attempt.status.add_steps() = std::move(fact);
  end_script(attempt);
  if (attempt.launched) {
    RunRecord& record = history_[attempt.record];
    record.ended_at = world_.now();
    record.exit_code = code;
    record.whole = whole;
  }
  const wire::AttemptStatus status = attempt.status;  // the observer may forget it at once
  if (observer_) observer_->attempt_changed(status);
}

std::vector<wire::ProgramRecord> SimNode::read() {
  std::vector<wire::ProgramRecord> out;
  for (const auto& [name, record] : journal_) out.push_back(record);
  return out;
}

Result<void> SimNode::write(const wire::ProgramRecord& record) {
  journal_[{record.job_key(), record.attempt()}] = record;
  return {};
}

wire::Telemetry SimNode::telemetry() {
  wire::Telemetry out;
  out.set_measured_at_us((world_.now() + clock_off_).value);
  return out;
}

wire::Inventory SimNode::inventory() {
  wire::Inventory out;
  out.set_cpus(cpus_);
  out.set_memory_mib(1'000'000);
  return out;
}

}  // namespace millrace
