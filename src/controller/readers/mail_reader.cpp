// src/controller/readers/mail_reader.cpp - see mail_reader.h.
#include "controller/readers/mail_reader.h"

#include "agent.pb.h"
#include "controller/loop/launch_plan.h"
#include "controller/readers/program_owner.h"
#include "core/model/job_extras.h"
#include "wire/program_environment.h"

namespace millrace {

void MailReader::recovered(const State& state) { due_.remember(state, c_.loop.now()); }

void MailReader::advanced(const Advance& step) {
  for (const JobKey key : step.changes.jobs) send(due_.look(step.now, key, c_.loop.now()));
}

void MailReader::time(Time now) { send(due_.time_passed(c_.commit.durable(), now)); }

// By the program of the site, which gets what the other programs for this job get, and what this mail is about.
void MailReader::send(const std::vector<JobMail>& mails) {
  if (mails.empty() || !c_.programs) return;
  const SitePrograms site = c_.hooks.site_programs();
  for (const JobMail& mail : mails) {
    const Job* job = c_.commit.durable().find_job(mail.key);
    if (!job || site.mail.empty()) continue;
    if (!is_mail_address(mail_recipient(*job->spec, site.mail_domain)))
      continue;  // a name of the name service that no mail program should see
    OutgoingMail out{site.mail, mail_recipient(*job->spec, site.mail_domain), mail.subject, mail.variables};
    const Owner& owner = *job->spec->owner;
    if (job->placement) {
      const wire::LaunchPlan plan =
          make_launch_plan(c_.commit.durable(), *job, job->placement->shares.front().node, c_.settings.cluster);
      for (std::string& entry : program_environment("mail", plan, program_owner(owner), nullptr))
        out.environment.push_back(std::move(entry));
    } else {
      for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
               {"SLURM_CLUSTER_NAME", c_.settings.cluster.cluster_name},
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

}  // namespace millrace
