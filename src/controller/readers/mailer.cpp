// src/controller/readers/mailer.cpp - see mailer.h.
#include "controller/readers/mailer.h"

namespace millrace {

void Mailer::send(OutgoingMail mail) {
  if (!programs_ || mail.program.empty()) return;
  if (waiting_.size() >= waiting_max) {
    if (dropped_++ % waiting_max == 0)
      say_("mail: " + std::to_string(waiting_max) + " are waiting for " + mail.program + "; newer ones are not sent");
    return;
  }
  waiting_.push_back(std::move(mail));
  run_next();
}

void Mailer::run_next() {
  while (running_ < at_a_time && !waiting_.empty()) {
    OutgoingMail mail = std::move(waiting_.front());
    waiting_.pop_front();
    ProgramRun run;
    run.program = mail.program;
    run.arguments = {"-s", mail.subject, mail.recipient};
    run.environment = std::move(mail.environment);
    run.limit = seconds(limit_seconds);
    ++running_;
    programs_->run(std::move(run),
                   [this, program = std::move(mail.program), to = std::move(mail.recipient)](const ProgramEnd& end) {
                     --running_;
                     // The first ones tell what is wrong; a broken program must not fill the log.
                     if (!end.went_well() && (failed_++ < 10 || failed_ % 1000 == 0))
                       say_("mail to " + to + ": " + describe(program, end));
                     run_next();
                   });
  }
}

}  // namespace millrace
