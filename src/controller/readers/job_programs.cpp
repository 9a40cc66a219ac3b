// src/controller/readers/job_programs.cpp - see job_programs.h.
#include "controller/readers/job_programs.h"

#include "agent.pb.h"
#include "controller/readers/program_owner.h"
#include "core/admission/report_node.h"
#include "wire/program_environment.h"

namespace millrace {

// After a start; nothing is run before the epoch of this run is durable.
void JobPrograms::recovered(const State&) {
  c_.commit.when_durable([this] {
    std::vector<JobKey> waiting;
    for (const auto& [key, nothing] : c_.commit.durable().active)
      if (c_.commit.durable().job(key).program != JobProgram::none) waiting.push_back(key);
    for (const JobKey key : waiting) look_at(key);
  });
}

void JobPrograms::advanced(const Advance& step) {
  for (const JobKey key : step.changes.jobs) look_at(key);
}

void JobPrograms::look_at(JobKey key) {
  const Job* job = c_.commit.durable().find_job(key);
  const auto running = running_.find(key);
  if (running != running_.end()) {
    const Running& program = running->second;
    if (job && job->attempt == program.attempt && job->program == program.which) return;
    if (program.id != 0) c_.programs->kill(program.id);
    running_.erase(running);
  }
  if (!job || job->program == JobProgram::none) return;
  Running& program = running_[key];
  program.attempt = job->attempt;
  program.which = job->program;
  const SitePrograms site = c_.programs ? c_.hooks.site_programs() : SitePrograms{};
  for (const std::string& pattern : job->program == JobProgram::prolog ? site.prolog : site.epilog)
    for (std::string& path : c_.programs->find(pattern)) program.left.push_back(std::move(path));
  program.limit = job->program == JobProgram::prolog ? site.prolog_limit : site.epilog_limit;
  run_next(key);
}

void JobPrograms::run_next(JobKey key) {
  Running& program = running_.at(key);
  const Job* job = c_.commit.durable().find_job(key);
  if (!job || job->attempt != program.attempt || job->program != program.which) return look_at(key);
  if (program.left.empty()) return ended(key, false);
  const bool prolog = program.which == JobProgram::prolog;
  wire::AttemptStatus end;
  end.set_exit_code(job->exit_code);
  end.set_exit_signal(job->exit_signal);
  ProgramRun run;
  const std::string name = run.program = program.left.front();
  program.left.erase(program.left.begin());
  run.limit = program.limit;
  run.environment = program_environment(
      prolog ? "prolog_slurmctld" : "epilog_slurmctld",
      make_launch_plan(c_.commit.durable(), *job, job->placement->shares.front().node, c_.settings.cluster),
      program_owner(*job->spec->owner), prolog ? nullptr : &end);
  program.id = c_.programs->run(std::move(run), [this, key, name, id = job->id](const ProgramEnd& result) {
    running_.at(key).id = 0;
    if (result.went_well()) return run_next(key);
    c_.hooks.say("job " + std::to_string(id.value) + ": " + describe(name, result));
    ended(key, true);
  });
}

void JobPrograms::ended(JobKey key, bool failed) {
  c_.clock.look();
  const Running program = running_.at(key);
  // The entry stays until the fact is durable: until then nobody starts it again.
  auto events = decide_program_end(c_.commit.decided(), {key, program.attempt, program.which, failed, c_.loop.now()});
  if (events.empty() || !c_.commit.happen(std::move(events))) running_.erase(key);
}

}  // namespace millrace
