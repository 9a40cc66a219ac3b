// src/controller/readers/mail_reader.h - sends the mails that jobs asked for, by the program of the site.
#pragma once

#include <vector>

#include "controller/readers/job_mail.h"
#include "controller/readers/mailer.h"
#include "controller/readers/reader.h"

namespace millrace {

class MailReader final : public Reader {
 public:
  explicit MailReader(const Context& context) : c_(context), mailer_(context.programs, context.hooks.say) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;
  void time(Time now) override;

 private:
  void send(const std::vector<JobMail>& mails);

  const Context& c_;
  JobMails due_;
  Mailer mailer_;
};

}  // namespace millrace
