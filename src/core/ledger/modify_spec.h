// src/core/ledger/modify_spec.h - what `scontrol update job` changes in a request.
#pragma once

#include "core/ledger/event.h"

namespace millrace {

void modify_spec(JobSpec& spec, const JobModified& e);

}  // namespace millrace
