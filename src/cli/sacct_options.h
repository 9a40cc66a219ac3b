// src/cli/sacct_options.h - the options of sacct, as they were given.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/console.h"
#include "cli/options/option.h"
#include "cli/render/data_document.h"
#include "cli/render/field_table.h"

namespace millrace {

struct SacctDraft {
  Asked asked;
  std::string jobs, users, accounts, partitions, names, states, nodes, qos, groups, clusters, constraints, reasons,
      associations, flags, wckeys;
  std::optional<std::string> format, start, end, limit_least, limit_most, node_range, cpu_range;
  std::string delimiter = "|";
  bool all_users = false, only_jobs = false, brief = false, long_form = false, help_format = false, help_state = false,
       help_reason = false, truncate = false, exact = false;
  bool every_run = false, scripts = false, environments = false, completion = false;
  std::optional<std::string> file;
  std::optional<bool> whole_het;  // not said: all components for the leader's number, one for any other
  char unit = 0;
  TableStyle style;
  std::optional<DataWish> data;  // --json, --yaml
};

std::span<const Option<SacctDraft>> sacct_options();

}  // namespace millrace
