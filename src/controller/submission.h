// src/controller/submission.h - a job as a client describes it, as the request that admission decides on.
#pragma once

#include "core/admission/submit_het_job.h"
#include "millrace.pb.h"
#include "ports/identity.h"

namespace millrace {

// One, or the components of a heterogeneous job, the leader first.
std::vector<SubmitJob> to_submit_jobs(const wire::SubmitJob& ask, const UserIdentity& identity);

}  // namespace millrace
