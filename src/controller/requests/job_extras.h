// src/controller/requests/job_extras.h - mail, words and the like of a job between the wire and the core.
#pragma once

#include "core/model/job_extras.h"
#include "job.pb.h"

namespace millrace {

constexpr const char* odd_mail_address =
    "--mail-user: this is no mail address; name or name@host, with commas between several, would be right";

// What is said changes `to`, the rest of it stays.
void read_extras(const wire::JobExtras& from, JobExtras& to);
void show_extras(const JobExtras& from, wire::JobExtras& to);

}  // namespace millrace
