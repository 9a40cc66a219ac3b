// src/cli/compat/lsf_lists.h - jobs as LSF's bjobs prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client.pb.h"

namespace millrace {

// A job, or one task of an array that is one record here: LSF has a row for each.
struct LsfRow {
  const wire::JobView* job = nullptr;
  std::optional<std::uint32_t> task;
  std::string user;
  std::int64_t now_us = 0;
};
std::vector<LsfRow> lsf_rows(const wire::JobView& job, const std::string& user, std::int64_t now_us);

std::string_view lsf_state(const wire::JobView& job);  // PEND, RUN, PSUSP, SSUSP, DONE, EXIT
std::string lsf_number(const LsfRow& row);             // 12, of an array 12[3]: as messages have it
std::string lsf_job_name(const LsfRow& row);           // of an array name[3]
std::string bjobs_header();
std::string bjobs_row(const LsfRow& row, bool wide);
std::string bjobs_long(const LsfRow& row);
std::string bjobs_counts(std::span<const LsfRow> rows);  // -sum
std::string bjobs_arrays(std::span<const LsfRow> rows);  // -A

// bjobs -o: "jobid:8 stat queue delimiter='^'".
struct LsfField {
  std::string_view name;
  int width;
  std::string (*value)(const LsfRow& row);
};
std::span<const LsfField> lsf_fields();
struct LsfColumn {
  const LsfField* field = nullptr;
  int width = 0;  // below 0: to the right
};
struct LsfFormat {
  std::vector<LsfColumn> columns;
  std::string delimiter;  // empty: columns have widths
};
Result<LsfFormat> parse_lsf_format(std::string_view text);
std::string render_lsf(const LsfFormat& format, std::span<const LsfRow> rows, bool header);
std::string render_lsf_json(const LsfFormat& format, std::span<const LsfRow> rows);

}  // namespace millrace
