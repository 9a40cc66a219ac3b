// src/agent/prolog_epilog.cpp - see prolog_epilog.h.
#include "agent/prolog_epilog.h"

#include <algorithm>

#include "wire/limits.h"
#include "wire/program_environment.h"
#include "wire/step_busy.h"

namespace millrace {
namespace {

using Record = wire::ProgramRecord;
using Status = wire::AttemptStatus;

constexpr Duration look_again = milliseconds(20);
constexpr std::uint32_t terminated = 15;

Status status_of(AttemptName name, Status::State state) {
  Status status;
  status.set_job_key(name.job_key);
  status.set_attempt(name.attempt);
  if (name.is_step()) status.set_step(static_cast<std::uint32_t>(name.step));
  status.set_state(state);
  return status;
}

Status in_prolog(AttemptName name) {
  Status status = status_of(name, Status::RUNNING_NOW);
  status.set_in_prolog(true);
  return status;
}

std::size_t memory_of(const wire::LaunchPlan& plan) { return plan.ByteSizeLong() + extra_memory_of(plan.job()); }
std::size_t memory_of(const wire::StepToNode& message) {
  return message.ByteSizeLong() + extra_memory_of(message.request().ask().step());
}

// How it ended is known, and that it holds the node for a while longer.
Status exited_status(const Status& end) {
  Status status = end;
  status.set_state(Status::RUNNING_NOW);
  status.set_exited(true);
  status.set_suspended(false);
  return status;
}

Status end_of(AttemptName name, Status::End end, std::uint32_t signal, std::string problem, Time at) {
  Status status = status_of(name, Status::ENDED);
  status.set_end(end);
  status.set_exit_signal(signal);
  status.set_problem(std::move(problem));
  status.set_ended_at_us(at.value);
  return status;
}

}  // namespace

PrologEpilog::PrologEpilog(Loop& loop, Supervisors& inner, Programs& programs, ProgramJournal& journal,
                           ProgramSettings settings)
    : loop_(loop), inner_(inner), programs_(programs), journal_(journal), settings_(std::move(settings)) {}

PrologEpilog::~PrologEpilog() {
  for (auto& [name, care] : cares_) {
    loop_.cancel(care.timer);
    if (care.running != 0) programs_.kill(care.running);
  }
}

bool PrologEpilog::has_live_steps(AttemptName name) const {
  const auto first = live_steps_.upper_bound(name.whole());
  return first != live_steps_.end() && first->whole() == name.whole();
}

bool PrologEpilog::is_idle() const {
  return std::ranges::all_of(cares_, [](const auto& each) { return each.second.record.phase() == Record::DONE; });
}

// A journal that cannot be written costs no job: an agent after us finds the phase before and does it again.
void PrologEpilog::write(const Care& care) {
  if (const auto written = journal_.write(care.record); !written) settings_.log(written.error().story);
}

std::vector<Status> PrologEpilog::adopt(SupervisorObserver& observer) {
  std::map<AttemptName, Status> known;
  for (Status& status : inner_.adopt(*this)) known[name_of(status)] = std::move(status);
  observer_ = &observer;
  for (const auto& [name, status] : known)
    if (name.is_step() && status.state() != Status::ENDED) live_steps_.insert(name);
  for (Record& record : journal_.read()) {
    const AttemptName name{record.job_key(), record.attempt()};
    Care& care = cares_[name];
    care.record = std::move(record);
    const auto inside = known.find(name);
    if (care.record.phase() == Record::PROLOG && inside != known.end()) care.record.set_phase(Record::LAUNCHED);
    if (care.record.phase() == Record::LAUNCHED && inside != known.end() && inside->second.state() != Status::ENDED)
      continue;
    if (care.record.phase() == Record::LAUNCHED)
      *care.record.mutable_end() =
          inside != known.end()
              ? inside->second
              : end_of(name, Status::SUPERVISOR_LOST, 0, "the agent stopped before the supervisor began", loop_.now());
    switch (care.record.phase()) {
      case Record::PROLOG:
        known[name] = in_prolog(name);
        break;
      case Record::DONE:
        known[name] = care.record.end();
        continue;
      default:
        known[name] = exited_status(care.record.end());
        break;
    }
    care.timer = loop_.after(Duration{0}, [this, name] { take_up(name); });
  }
  std::vector<Status> out;
  for (auto& [name, status] : known) out.push_back(std::move(status));
  return out;
}

// Where an agent before us was stopped, once nothing of what it started is left.
void PrologEpilog::take_up(AttemptName name) {
  Care& care = cares_.at(name);
  care.timer = 0;
  if (!journal_.end_leftovers(name)) {
    care.timer = loop_.after(look_again, [this, name] { take_up(name); });
    return;
  }
  if (care.record.phase() == Record::PROLOG) return begin_phase(name, Record::PROLOG);
  if (care.record.phase() == Record::EPILOG) return begin_phase(name, Record::EPILOG);
  begin_epilog_if_alone(name);
}

void PrologEpilog::launch(const wire::LaunchPlan& plan, const wire::Credential& credential) {
  const AttemptName name = name_of(plan);
  if (name.is_step()) return launch_step(name, plan, credential);
  if (settings_.prolog.empty() && settings_.epilog.empty()) return inner_.launch(plan, credential);
  Care& care = cares_[name];
  care.record.set_job_key(name.job_key);
  care.record.set_attempt(name.attempt);
  *care.record.mutable_plan() = plan;
  *care.record.mutable_identity() = credential;
  begin_phase(name, Record::PROLOG);
}

void PrologEpilog::launch_step(AttemptName name, const wire::LaunchPlan& plan, const wire::Credential& credential) {
  const auto whole = cares_.find(name.whole());
  if (whole == cares_.end() || whole->second.record.phase() == Record::LAUNCHED) {
    live_steps_.insert(name);
    return inner_.launch(plan, credential);
  }
  Care& care = whole->second;
  if (care.record.phase() != Record::PROLOG)
    return observer_->attempt_changed(
        end_of(name, Status::LAUNCH_FAILED, 53, "the job is over on this node", loop_.now()));
  // Nothing is said of one that is too much: its step manager gives it again until it is.
  const std::size_t size = memory_of(plan);
  if (!care.steps.empty() &&
      (care.steps.size() >= step_manager_backlog_count_max || care.steps_bytes + size > step_manager_backlog_max))
    return;
  live_steps_.insert(name);
  care.steps_bytes += size;
  care.steps.emplace_back(plan, credential);
  observer_->attempt_changed(status_of(name, Status::RUNNING_NOW));
}

void PrologEpilog::begin_phase(AttemptName name, Record::Phase phase) {
  Care& care = cares_.at(name);
  care.record.set_phase(phase);
  care.left.clear();
  for (const std::string& pattern : phase == Record::PROLOG ? settings_.prolog : settings_.epilog)
    for (std::string& program : programs_.find(pattern)) care.left.push_back(std::move(program));
  if (!care.left.empty()) {
    write(care);
    observer_->attempt_changed(phase == Record::PROLOG ? in_prolog(name) : exited_status(care.record.end()));
  }
  run_next(name);
}

void PrologEpilog::run_next(AttemptName name) {
  Care& care = cares_.at(name);
  const bool prolog = care.record.phase() == Record::PROLOG;
  if (care.left.empty()) return prolog ? prolog_done(name) : epilog_done(name, false);
  ProgramRun run;
  run.program = care.left.front();
  care.left.erase(care.left.begin());
  run.environment = program_environment(prolog ? "prolog_slurmd" : "epilog_slurmd", care.record.plan(),
                                        care.record.identity(), prolog ? nullptr : &care.record.end());
  run.environment.push_back(journal_.mark_of(name));
  run.limit = prolog ? settings_.prolog_limit : settings_.epilog_limit;
  const std::string program = run.program;
  care.running = programs_.run(std::move(run),
                               [this, name, program](const ProgramEnd& end) { program_ended(name, program, end); });
}

void PrologEpilog::program_ended(AttemptName name, const std::string& program, const ProgramEnd& end) {
  Care& care = cares_.at(name);
  care.running = 0;
  if (end.went_well()) return run_next(name);
  const std::string words = describe(program, end);
  settings_.log("job " + std::to_string(care.record.plan().job_id()) + ": " + words);
  if (care.record.phase() == Record::EPILOG) return epilog_done(name, true);
  drop_steps(care, words);
  exited(name, end_of(name, Status::PROLOG_FAILED, 0, words, loop_.now()));
}

void PrologEpilog::prolog_done(AttemptName name) {
  Care& care = cares_.at(name);
  if (care.unwanted) {
    drop_steps(care, "the job is over");
    return exited(name, end_of(name, Status::EXITED, terminated, "", loop_.now()));
  }
  const wire::LaunchPlan plan = care.record.plan();
  const wire::Credential identity = care.record.identity();
  care.record.set_phase(Record::LAUNCHED);
  care.record.mutable_plan()->clear_script();
  care.record.mutable_plan()->clear_environment();
  const auto steps = std::exchange(care.steps, {});
  const auto for_step_manager = std::exchange(care.for_step_manager, {});
  care.steps_bytes = care.for_step_manager_bytes = 0;
  write(care);
  inner_.launch(plan, identity);
  for (const wire::StepToNode& message : for_step_manager) inner_.tell_step_manager(message);
  for (const auto& [step, credential] : steps) inner_.launch(step, credential);
}

void PrologEpilog::drop_steps(Care& care, const std::string& problem) {
  care.for_step_manager.clear();
  care.steps_bytes = care.for_step_manager_bytes = 0;
  for (const auto& [step, credential] : std::exchange(care.steps, {})) {
    live_steps_.erase(name_of(step));
    observer_->attempt_changed(end_of(name_of(step), Status::LAUNCH_FAILED, 53, problem, loop_.now()));
  }
}

void PrologEpilog::attempt_changed(const Status& status) {
  const AttemptName name = name_of(status);
  const bool ended = status.state() == Status::ENDED;
  if (name.is_step()) {
    if (ended) live_steps_.erase(name);
    observer_->attempt_changed(status);
    if (ended && cares_.contains(name.whole())) begin_epilog_if_alone(name.whole());
    return;
  }
  if (!ended || !cares_.contains(name)) return observer_->attempt_changed(status);
  exited(name, status);
}

void PrologEpilog::exited(AttemptName name, Status end) {
  Care& care = cares_.at(name);
  care.record.set_phase(Record::LAUNCHED);
  *care.record.mutable_end() = std::move(end);
  // Whoever hears of it ends the steps that are left.
  if (has_live_steps(name)) observer_->attempt_changed(exited_status(care.record.end()));
  begin_epilog_if_alone(name);
}

void PrologEpilog::begin_epilog_if_alone(AttemptName name) {
  const Care& care = cares_.at(name);
  if (care.record.phase() != Record::LAUNCHED || !care.record.has_end() || care.timer != 0 || has_live_steps(name))
    return;
  begin_phase(name, Record::EPILOG);
}

void PrologEpilog::epilog_done(AttemptName name, bool failed) {
  Care& care = cares_.at(name);
  care.left.clear();
  care.record.set_phase(Record::DONE);
  care.record.mutable_end()->set_epilog_failed(failed);
  write(care);
  const Status status = care.record.end();  // whoever hears of it may forget it at once
  observer_->attempt_changed(status);
}

void PrologEpilog::kill(const wire::Kill& kill) {
  const AttemptName name = name_of(kill);
  const auto care = cares_.find(name.whole());
  if (care == cares_.end()) return inner_.kill(kill);
  if (name.is_step()) {
    const auto queued =
        std::ranges::find_if(care->second.steps, [&](const auto& each) { return name_of(each.first) == name; });
    if (queued == care->second.steps.end()) return inner_.kill(kill);
    care->second.steps_bytes -= memory_of(queued->first);
    care->second.steps.erase(queued);
    live_steps_.erase(name);
    return observer_->attempt_changed(end_of(name, Status::EXITED, terminated, "", loop_.now()));
  }
  // A prolog that is stopped half way leaves a node nobody knows the state of: it goes on to its end, and nothing
  // follows it.
  if (care->second.record.phase() == Record::PROLOG)
    care->second.unwanted = true;
  else
    inner_.kill(kill);
}

void PrologEpilog::tell_step_manager(const wire::StepToNode& step) {
  const auto care = cares_.find({step.job_key(), step.attempt()});
  if (care == cares_.end() || care->second.record.phase() != Record::PROLOG) return inner_.tell_step_manager(step);
  keep_for_step_manager(care->second, step);
}

// A prolog may take its time, and users may ask for steps as fast as they like meanwhile.
void PrologEpilog::keep_for_step_manager(Care& care, const wire::StepToNode& message) {
  const auto replaces = [&](const wire::StepToNode& one) {
    if (message.has_request()) {  // the same srun asking again
      const std::string& secret = message.request().ask().step().stdio().secret();
      return !secret.empty() && one.has_request() && one.request().ask().step().stdio().secret() == secret;
    }
    return (message.has_end() && one.has_end()) || (message.has_lost() && one.has_lost());
  };
  const auto takes_back = [&](const wire::StepToNode& one) {
    return message.has_left() && one.has_request() && one.request().client() == message.left().client();
  };
  std::erase_if(care.for_step_manager, [&](const wire::StepToNode& one) {
    if (!replaces(one) && !takes_back(one)) return false;
    care.for_step_manager_bytes -= memory_of(one);
    return true;
  });
  if (message.has_left()) return;
  const std::size_t size = memory_of(message);
  if (is_from_client(message) && (care.for_step_manager.size() >= step_manager_backlog_count_max ||
                                  care.for_step_manager_bytes + size > step_manager_backlog_max)) {
    if (const auto answer = busy_answer(message)) observer_->step_manager_said(*answer);
    return;
  }
  care.for_step_manager_bytes += size;
  care.for_step_manager.push_back(message);
}

void PrologEpilog::forget(const wire::Forget& forget) {
  const AttemptName name = name_of(forget);
  if (!name.is_step() && cares_.erase(name) > 0) journal_.erase(name);
  inner_.forget(forget);
}

}  // namespace millrace
