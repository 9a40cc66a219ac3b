// src/core/admission/job_selection.h - which job records a person means by 12, 12_3, 12_[1-4] or 12+1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct JobName {
  JobId id;
  std::string tasks;  // "", "3" or "[1-4,7]"; "+1": a component of a heterogeneous job
};

struct SelectedJob {
  JobKey key;
  std::optional<std::uint32_t> task;  // still inside the record of the array's rest: it must be split off first
  bool component =
      false;  // of a heterogeneous job this component alone; else the number of the leader named all of them
};

// "12_3" as people write it.
std::string shown_name(const State& state, const Job& job);
std::string shown_name(const JobName& name);

// All records meant; for an array number the rest and every task, for the number of a heterogeneous job its components,
// the leader first. Refused when there is no such job.
std::expected<std::vector<SelectedJob>, Refusal> select_jobs(const State& state, const JobName& name);

// The number of the record with this key (a SLUID names it), also of one that is over and known to accounting alone.
std::optional<JobId> number_of(const State& state, JobKey key);

// Splits the task off where needed; returns the key to act on and appends the event.
JobKey split_if_needed(const State& state, const SelectedJob& selected, Time now, std::vector<Event>& events);

bool may_change(const Job& job, const Actor& actor);
// Whether it may run something as the job's owner, or have the owner's processes write where it says: the owner, root
// and SlurmUser, and nobody who only manages the job.
bool may_act_as_owner(const Job& job, const Actor& actor);

// What is done to a heterogeneous job as a whole is done by its leader's event; its other components refuse it, which
// counts only where the leader does.
inline bool follows_leader(const Job& job, const SelectedJob& which) { return job.is_component() && !which.component; }

}  // namespace millrace
