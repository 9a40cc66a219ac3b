// src/core/admission/job_selection.h - which job records a person means by 12, 12_3 or 12_[1-4].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct JobName {
  JobId id;
  std::string tasks;  // "", "3" or "[1-4,7]"
};

struct SelectedJob {
  JobKey key;
  std::optional<std::uint32_t> task;  // still inside the record of the array's rest: it must be split off first
};

// "12_3" as people write it.
std::string shown_name(const State& state, const Job& job);
std::string shown_name(const JobName& name);

// All records meant; for an array number the rest and every task. Refused when there is no such job.
std::expected<std::vector<SelectedJob>, Refusal> select_jobs(const State& state, const JobName& name);

// Splits the task off where needed; returns the key to act on and appends the event.
JobKey split_if_needed(const State& state, const SelectedJob& selected, Time now, std::vector<Event>& events);

bool may_change(const Job& job, const Actor& actor);

}  // namespace millrace
