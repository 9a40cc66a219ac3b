// src/core/admission/modify_job.h - scontrol update job: what may be changed, by whom, and when.
#pragma once

#include <functional>

#include "core/admission/job_selection.h"
#include "core/admission/resource_wishes.h"

namespace millrace {

struct ModifyJob {
  JobModified
      change;  // key and time are filled in by the decision; nodes, partition and dependencies come from the texts
  std::optional<std::int64_t> time_limit_change_minutes;
  std::optional<std::string> partition, dependency, required_nodes, excluded_nodes, qos;
  ResourceWishes wishes{};
  std::function<void(JobExtras&)> extras{};  // what it makes of those the job has
  bool admin_words = false;                  // ... what only an administrator may say among them
  bool reset_accrue = false;                 // its age begins anew
  std::optional<std::uint32_t> min_cpus{};   // in all, at least
  std::optional<Time> end_at{};              // of a running job: its limit follows
};

Decision decide_modify(const State& state, const SelectedJob& which, const ModifyJob& ask, const Actor& actor,
                       Time now);

}  // namespace millrace
