// src/controller/job_programs.cpp - PrologSlurmctld and EpilogSlurmctld: what the controller runs for a job before it
// is launched and after it is gone.
#include <algorithm>

#include "agent.pb.h"
#include "controller/controller.h"
#include "core/admission/report_node.h"
#include "wire/program_environment.h"

namespace millrace {
namespace {

wire::Credential identity_of(const Owner& owner) {
  wire::Credential out;
  out.set_uid(owner.uid.value);
  out.set_gid(owner.gid.value);
  out.set_user_name(owner.user_name);
  return out;
}

}  // namespace

// What has to be run is in the ledger, so that a controller after a crash runs it again; what nobody waits for any more
// is killed.
void Controller::see_to_programs(JobKey key) {
  const Job* job = commit_.durable().find_job(key);
  const auto running = running_programs_.find(key);
  if (running != running_programs_.end()) {
    const RunningProgram& program = running->second;
    if (job && job->attempt == program.attempt && job->program == program.which) return;
    if (program.id != 0) programs_->kill(program.id);
    running_programs_.erase(running);
  }
  if (!job || job->program == JobProgram::none) return;
  RunningProgram& program = running_programs_[key];
  program.attempt = job->attempt;
  program.which = job->program;
  const SitePrograms site = programs_ ? hooks_.site_programs() : SitePrograms{};
  for (const std::string& pattern : job->program == JobProgram::prolog ? site.prolog : site.epilog)
    for (std::string& path : programs_->find(pattern)) program.left.push_back(std::move(path));
  program.limit = job->program == JobProgram::prolog ? site.prolog_limit : site.epilog_limit;
  run_next_program(key);
}

void Controller::run_next_program(JobKey key) {
  RunningProgram& program = running_programs_.at(key);
  const Job* job = commit_.durable().find_job(key);
  if (!job || job->attempt != program.attempt || job->program != program.which) return see_to_programs(key);
  if (program.left.empty()) return program_ended(key, false);
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
      make_launch_plan(commit_.durable(), *job, job->placement->shares.front().node, settings_.cluster),
      identity_of(*job->spec->owner), prolog ? nullptr : &end);
  program.id = programs_->run(std::move(run), [this, key, name, id = job->id](const ProgramEnd& ended) {
    running_programs_.at(key).id = 0;
    if (ended.went_well()) return run_next_program(key);
    hooks_.say("job " + std::to_string(id.value) + ": " + describe(name, ended));
    program_ended(key, true);
  });
}

void Controller::program_ended(JobKey key, bool failed) {
  see_clock();
  const RunningProgram program = running_programs_.at(key);
  // The entry stays until the fact is durable: until then nobody starts it again.
  auto events = decide_program_end(commit_.decided(), {key, program.attempt, program.which, failed, loop_.now()});
  if (events.empty() || !commit_.happen(std::move(events))) running_programs_.erase(key);
}

// By the program of the site, which gets what the other programs for this job get, and what this mail is about.
void Controller::send_mails(const std::vector<JobMail>& mails) {
  if (mails.empty() || !programs_) return;
  const SitePrograms site = hooks_.site_programs();
  for (const JobMail& mail : mails) {
    const Job* job = commit_.durable().find_job(mail.key);
    if (!job || site.mail.empty()) continue;
    if (!is_mail_address(mail_recipient(*job->spec, site.mail_domain)))
      continue;  // a name of the name service that no mail program should see
    OutgoingMail out{site.mail, mail_recipient(*job->spec, site.mail_domain), mail.subject, mail.variables};
    const Owner& owner = *job->spec->owner;
    if (job->placement) {
      const wire::LaunchPlan plan =
          make_launch_plan(commit_.durable(), *job, job->placement->shares.front().node, settings_.cluster);
      for (std::string& entry : program_environment("mail", plan, identity_of(owner), nullptr))
        out.environment.push_back(std::move(entry));
    } else {
      for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
               {"SLURM_CLUSTER_NAME", settings_.cluster.cluster_name},
               {"SLURM_JOB_ID", std::to_string(job->id.value)},
               {"SLURM_JOBID", std::to_string(job->id.value)},
               {"SLURM_JOB_NAME", job->spec->name},
               {"SLURM_JOB_USER", owner.user_name},
               {"SLURM_JOB_UID", std::to_string(owner.uid.value)},
               {"SLURM_JOB_WORK_DIR", job->spec->work_dir}})
        out.environment.push_back(std::string{name} + "=" + value);
    }
    out.environment.push_back("PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin");
    mailer_.send(std::move(out));
  }
}

void Controller::see_to_all_programs() {
  std::vector<JobKey> waiting;
  for (const auto& [key, nothing] : commit_.durable().active)
    if (commit_.durable().job(key).program != JobProgram::none) waiting.push_back(key);
  for (const JobKey key : waiting) see_to_programs(key);
}

}  // namespace millrace
