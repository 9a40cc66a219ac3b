// src/controller/readers/readers.h - all readers, in the order in which they are called.
#pragma once

#include <array>

#include "controller/readers/client_watch.h"
#include "controller/readers/completing_jobs.h"
#include "controller/readers/completion_reader.h"
#include "controller/readers/crontab_reader.h"
#include "controller/readers/job_programs.h"
#include "controller/readers/mail_reader.h"
#include "controller/readers/power_reader.h"
#include "controller/readers/reservation_reader.h"
#include "controller/readers/signal_reader.h"
#include "controller/readers/trigger_reader.h"

namespace millrace {

class Readers final {
 public:
  Readers(ReaderContext context, Clients& clients, ClientWatch::View view, SignalReader::SignalNodes signal_nodes)
      : context_(std::move(context)),
        completing(context_.loop),
        clients(context_, clients, std::move(view)),
        signals_(context_, std::move(signal_nodes)) {}
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  void recovered(const State& state) {
    for (Reader* reader : all_) reader->recovered(state);
  }
  void advanced(const Advance& step) {
    for (Reader* reader : all_) reader->advanced(step);
  }
  void time(Time now) {
    for (Reader* reader : all_) reader->time(now);
  }
  void clock_set(Duration by) {
    for (Reader* reader : all_) reader->clock_set(by);
  }

 private:
  const ReaderContext context_;

 public:  // those that are asked something, too
  CompletingJobs completing;
  ClientWatch clients;
  TriggerReader triggers{context_};

 private:
  JobPrograms programs_{context_};
  PowerReader power_{context_};
  SignalReader signals_;
  MailReader mails_{context_};
  CompletionReader completions_{context_};
  ReservationReader reservations_{context_};
  CrontabReader crontabs_{context_};
  // Who tells of jobs that are gone looks before who has them come again.
  const std::array<Reader*, 10> all_{&completing, &programs_,    &power_,        &clients,   &signals_,
                                     &mails_,     &completions_, &reservations_, &crontabs_, &triggers};
};

}  // namespace millrace
