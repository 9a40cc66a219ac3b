// src/cli/fronts/lsf_lists.h - jobs as LSF's bjobs prints them.
#pragma once

#include <string>
#include <string_view>

#include "millrace.pb.h"

namespace millrace {

std::string_view lsf_state(const wire::JobView& job);  // PEND, RUN, PSUSP, SSUSP, DONE, EXIT
std::string bjobs_header();
std::string bjobs_row(const wire::JobView& job, const std::string& user, bool wide);
std::string bjobs_long(const wire::JobView& job, const std::string& user);

}  // namespace millrace
