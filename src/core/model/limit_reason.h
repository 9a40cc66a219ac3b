// src/core/model/limit_reason.h - which limit keeps a job waiting, as a Reason, and Slurm's word for each.
#pragma once

#include <string_view>

#include "core/model/job_state.h"

namespace millrace {

// Whose limit it is.
enum class LimitScope : std::uint8_t { association, qos };

// What is limited. Those before grp_jobs are counted by resource, the others are plain numbers.
enum class LimitKind : std::uint8_t {
  grp_tres,
  grp_tres_mins,
  grp_tres_run_mins,
  max_tres_per_job,
  max_tres_per_node,
  max_tres_mins_per_job,
  max_tres_per_user,
  max_tres_per_account,
  max_run_mins_per_user,
  max_run_mins_per_account,
  min_tres_per_job,
  grp_jobs,
  grp_submit,
  grp_wall,
  max_jobs,
  max_submit,
  max_wall,
  max_jobs_per_account,
  max_submit_per_account,
};
constexpr std::size_t limit_kinds = 19;
constexpr bool counts_resources(LimitKind kind) { return kind < LimitKind::grp_jobs; }

// As sacctmgr writes it: GrpTRES, MaxJobs; of a QOS MaxJobsPU.
std::string_view limit_name(LimitScope scope, LimitKind kind);

// `tres`: the name of the resource, for kinds counted by resource.
Reason limit_reason(LimitScope scope, LimitKind kind, std::string_view tres = {});
bool is_limit(Reason reason);
const char* limit_word(Reason reason);

}  // namespace millrace
