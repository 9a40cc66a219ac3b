// src/controller/submission.h - a job as a client describes it, as the request that admission decides on.
#pragma once

#include "core/admission/submit_job.h"
#include "millrace.pb.h"
#include "ports/identity.h"

namespace millrace {

SubmitJob to_submit_job(const wire::SubmitJob& ask, const UserIdentity& identity);

}  // namespace millrace
