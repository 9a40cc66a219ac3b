// src/agent/leftovers.h - what a supervisor that was killed left running: finds it and ends it.
#pragma once

#include <string>
#include <vector>

#include "agent/spool_directory.h"

namespace millrace {

std::uint64_t start_time_of(pid_t pid);  // 0: no such process

// Processes that belong to the attempt: its recorded tasks, their sessions, whatever carries its directory in
// MILLRACE_ATTEMPT, and everything below those. Zombies do not count. A process that has left its session, cleaned its
// environment and lost its parents escapes; only a cgroup holds that one. So does one whose variable lies beyond what
// MarkerSearch reads; `cut_short`: how many processes had more. Only processes of the attempt's user and of the agent's
// own are searched, who begin what belongs to it; where no user is known, as with a prolog, those of everybody.
std::vector<pid_t> find_leftovers(const AttemptRecord& record, const std::string& attempt_directory,
                                  std::size_t* cut_short = nullptr);

// Of all attempts of this spool whose folders are gone: their supervisors, and whatever carries such a folder in
// MILLRACE_ATTEMPT.
std::vector<pid_t> find_strangers(const std::string& spool);

}  // namespace millrace
