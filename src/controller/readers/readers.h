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
#include "controller/readers/stored_bytes.h"
#include "controller/readers/trigger_reader.h"

namespace millrace {

class Readers final {
 public:
  Readers(const Context& context, ClientWatch::View view, SignalReader::SignalNodes signal_nodes)
      : completing(context.loop),
        clients(context, std::move(view)),
        triggers(context),
        programs_(context),
        power_(context),
        signals_(context, std::move(signal_nodes)),
        mails_(context),
        completions_(context),
        reservations_(context),
        crontabs_(context) {}
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

  // Those that are asked something, too.
  CompletingJobs completing;
  ClientWatch clients;
  TriggerReader triggers;
  StoredBytes stored;

 private:
  JobPrograms programs_;
  PowerReader power_;
  SignalReader signals_;
  MailReader mails_;
  CompletionReader completions_;
  ReservationReader reservations_;
  CrontabReader crontabs_;
  // Who tells of jobs that are gone looks before who has them come again.
  const std::array<Reader*, 11> all_{&stored, &completing,   &programs_,     &power_,    &clients, &signals_,
                                     &mails_, &completions_, &reservations_, &crontabs_, &triggers};
};

}  // namespace millrace
