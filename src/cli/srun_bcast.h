// src/cli/srun_bcast.h - srun --bcast: the program is copied to the nodes of the job before it is started there.
#pragma once

#include "cli/submission.h"

namespace millrace {

// Does what sbcast does, in a process of its own. Afterwards `all` names the copy, and with --send-libs LD_LIBRARY_PATH
// the libraries beside it. The text of `copy` is what the words of `all` look at.
Result<void> broadcast_program(const Command& command, Submission& all, const ClientSettings& settings,
                               std::uint32_t job_id, std::string& copy);

}  // namespace millrace
