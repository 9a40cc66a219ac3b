// src/step/attempt/note_texts.h - lines that a supervisor writes into a job's stderr, in Slurm's words.
#pragma once

#include <cstdint>
#include <string>

#include "agent.pb.h"

namespace millrace {

// The line of a kill as Slurm writes it into the job's stderr.
std::string kill_note(const wire::LaunchPlan& plan, wire::Kill::Why why, std::int64_t at_seconds);
// The line about memory shortage, likewise.
std::string oom_note(const wire::LaunchPlan& plan, std::uint64_t kills);

}  // namespace millrace
