// src/core/admission/cancel_job.h - end a job, put it back into the queue, hold it or let it go.
#pragma once

#include "core/admission/job_selection.h"

namespace millrace {

Decision decide_cancel(const State& state, const SelectedJob& which, const Actor& actor, Time now);
// `special_exit`: held, and shown in that state.
Decision decide_requeue(const State& state, const SelectedJob& which, bool hold, const Actor& actor, Time now,
                        bool special_exit = false);
// `as_user`: an administrator holds in the owner's way (scontrol uhold), so that the owner may release.
Decision decide_hold(const State& state, const SelectedJob& which, bool as_user, const Actor& actor, Time now);
Decision decide_release(const State& state, const SelectedJob& which, const Actor& actor, Time now);

}  // namespace millrace
