// src/controller/readers/job_mail.h - which mails are due for a job: what became of it since it was last looked at.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct JobMail {
  JobKey key;
  MailType type{};
  bool whole_array = false;
  std::string subject;                 // "Slurm Job_id=5 Name=x Ended, Run time 00:00:05, COMPLETED, ExitCode 0"
  std::vector<std::string> variables;  // NAME=value: of the mail's own
};

// Remembers what jobs with --mail-type were like. What is true when it first sees them is old news: a controller that
// starts sends nothing, so that a mail is sent at most once, and not at all where the controller dies between the fact
// and the mail.
class JobMails {
 public:
  void remember(const State& state, Time now);
  std::vector<JobMail> look(const State& state, JobKey key, Time now);
  // Those whose time limit comes near.
  std::vector<JobMail> time_passed(const State& state, Time now);

 private:
  struct Seen {
    Attempt attempt;
    bool begun = false, ended = false, never = false;
    std::uint32_t told = 0;  // of the time limit
  };
  struct SeenArray {
    bool begun = false, ended = false;
  };
  void look_at_array(const State& state, const Job& job, bool began, bool ended, Time now, std::vector<JobMail>& out);
  void look_at_clock(const Job& job, Seen& seen, Time now, const State& state, std::vector<JobMail>& out);
  std::map<JobKey, Seen> seen_;
  std::map<JobKey, SeenArray> arrays_;
};

// Who gets it: the named one, else the owner; with the site's domain where the name has none.
std::string mail_recipient(const JobSpec& spec, const std::string& domain);

}  // namespace millrace
