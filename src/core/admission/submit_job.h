// src/core/admission/submit_job.h - may this job enter the queue, and as what?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/admission/possible.h"
#include "core/admission/refusal.h"
#include "core/admission/resource_wishes.h"
#include "core/ledger/state.h"

namespace millrace {

// What was asked, before defaults: zero and empty mean "not asked".
struct SubmitJob {
  JobSpec spec;           // owner, names, files, payloads; numbers as asked (0: not asked)
  std::string partition;  // one, or several with commas
  std::string dependency, array;
  std::string required_nodes, excluded_nodes;  // hostlists
  std::optional<std::uint32_t> time_limit_minutes, priority;
  std::optional<bool> requeue;
  Time begin_at;
  bool hold = false;
  std::uint64_t script_bytes = 0;
  ResourceWishes wishes{};
};

struct DecidedSubmission {
  JobId id;
  bool existed = false;  // the same submission key was seen before: nothing new happens
  std::vector<Event> events;
};

std::expected<DecidedSubmission, Refusal> decide(const State& state, const SubmitJob& ask, const Actor& actor,
                                                 Time now);

// Of a list of sizes (-N 1,3-7:2) the least is one that holds the nodes named and has no node without a task; without a
// list nothing happens.
std::expected<void, Refusal> complete_counts(JobSpec& spec);

// The priority a job gets when it enters the queue, or is released.
std::uint32_t initial_priority(const State& state, JobKey key, std::int32_t nice);

// Node names as indexes; refuses unknown ones by name.
std::expected<std::vector<std::uint32_t>, Refusal> resolve_nodes(const State& state, const std::string& hostlist);
// None may be in both lists.
std::expected<void, Refusal> check_named_nodes(const State& state, const std::vector<std::uint32_t>& required,
                                               const std::vector<std::uint32_t>& excluded);

// "a,b": the first is the job's own, the others are as good; empty: the default.
std::expected<std::vector<PartitionIndex>, Refusal> find_partitions(const State& state, const std::string& names);
void set_partitions(JobSpec& spec, const std::vector<PartitionIndex>& partitions);
// Of several partitions those that have all the nodes the job must have; the first stays if none has.
std::vector<PartitionIndex> with_nodes(const State& state, const std::vector<PartitionIndex>& partitions,
                                       const std::vector<std::uint32_t>& required);

// --time-min and --deadline against the limit and the earliest start.
std::expected<void, Refusal> check_times(const ResourceRequest& request, std::uint32_t limit_minutes, Time begin_at,
                                         Time now);

}  // namespace millrace
