// src/core/admission/submit_job.h - may this job enter the queue, and as what?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// What was asked, before defaults: zero and empty mean "not asked".
struct SubmitJob {
  JobSpec spec;                // owner, names, files, payloads; numbers as asked (0: not asked)
  std::string partition;
  std::string dependency, array;
  std::string required_nodes, excluded_nodes;  // hostlists
  std::optional<std::uint32_t> time_limit_minutes, priority;
  std::optional<bool> requeue;
  Time begin_at;
  bool hold = false;
  std::uint64_t script_bytes = 0;
};

struct Submission {
  JobId id;
  bool existed = false;        // the same submission key was seen before: nothing new happens
  std::vector<Event> events;
};

std::expected<Submission, Refusal> decide(const State& state, const SubmitJob& ask, const Actor& actor, Time now);

// The priority a job gets when it enters the queue, or is released.
std::uint32_t initial_priority(const State& state, JobKey key, std::int32_t nice);

// Node names as indexes; refuses unknown ones by name.
std::expected<std::vector<std::uint32_t>, Refusal> resolve_nodes(const State& state, const std::string& hostlist);

// Refuses a size that no set of the partition's nodes could ever hold, naming the largest node.
std::expected<void, Refusal> check_possible(const State& state, const JobSpec& spec);

}  // namespace millrace
