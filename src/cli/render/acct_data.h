// src/cli/render/acct_data.h - jobs and steps as sacct --json and --yaml have them.
#pragma once

#include <span>

#include "cli/render/acct_fields.h"
#include "cli/render/data_tree.h"

namespace millrace {

std::span<const DataField<AcctRow>> acct_job_data();  // without its steps
std::span<const DataField<AcctRow>> acct_step_data();
// Rows of a job and, after it, of its steps.
DataList acct_data(const std::vector<AcctRow>& rows);

}  // namespace millrace
