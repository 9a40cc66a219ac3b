// src/controller/requests/submission.h - a job as a client describes it, as the request that admission decides on.
#pragma once

#include "client.pb.h"
#include "core/admission/submit_het_job.h"
#include "ports/identity.h"

namespace millrace {

// One, or the components of a heterogeneous job, the leader first.
std::vector<SubmitJob> to_submit_jobs(const wire::SubmitJob& ask, const UserIdentity& identity);

struct SiteAllows {
  bool spec_resources = false;  // AllowSpecResourcesUsage
  bool reboots = false;         // there is a RebootProgram
};
// What the site does not allow is left out; what needs whole nodes gets them. What the user should know of that.
std::vector<std::string> settle_extras(std::vector<SubmitJob>& jobs, const SiteAllows& site);

}  // namespace millrace
