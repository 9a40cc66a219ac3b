// src/controller/views/job_times.h - when a job started and ended, or is expected to, as commands show it.
#pragma once

#include "controller/views/views.h"

namespace millrace {

struct JobTimes {
  Time start, end;  // not set: nobody knows
};
JobTimes times_of(const ReadView& snapshot, const Job& job);

}  // namespace millrace
