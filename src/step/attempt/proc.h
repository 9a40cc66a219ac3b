// src/step/attempt/proc.h - processes as /proc shows them: who descends from whom, and when one began.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Field 22 of /proc/PID/stat, in clock ticks since boot: with the pid it names a process, because pids are used again.
// 0: no such process.
std::uint64_t start_time(pid_t pid);

// Everything below `root` at this moment, nearest first; processes may come and go while we look, so whoever needs them
// all gone asks until the answer is empty.
std::vector<pid_t> descendants(pid_t root);

// By a signal; also one that is gone or a zombie, and one that waits in the kernel for a stopped child it vforked: it
// stops before it could do anything else.
bool is_stopped(pid_t pid);

// What a process has used, with the children it has waited for; memory is that of now.
struct ProcessUsage {
  std::int64_t user_us = 0, system_us = 0, rss_bytes = 0, vm_bytes = 0, read_bytes = 0, written_bytes = 0,
               page_faults = 0;
};
// All zero where it is gone or not ours to see.
ProcessUsage process_usage(pid_t pid);

// Whole content of a small file; empty when it cannot be read.
std::string read_small_file(const char* path);

}  // namespace millrace
