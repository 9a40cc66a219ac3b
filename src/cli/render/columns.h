// src/cli/render/columns.h - the columns of squeue, one row each, and its views, order and filters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/format.h"
#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

struct JobContext {
  std::int64_t now_us = 0;
  std::string cluster;
  Names* names = nullptr;
  bool expand_patterns = false;  // of file names
};

struct JobRow {
  const wire::JobView* job = nullptr;
  std::optional<std::uint32_t> task;  // with -r: this task of an array that is one record
  const JobContext* context = nullptr;
};

std::span<const Column<JobRow>> job_columns();
bool needs_only_brief(const Format<JobRow>& format);

extern const char* const squeue_default_format;
extern const char* const squeue_long_format;
extern const char* const squeue_start_format;  // -o form
extern const char* const squeue_state_format;  // -o form

// -S: letters of columns, '-' before one reverses it. Stable, so the controller's order decides ties.
// Letters that name no order are returned in `unknown`.
void sort_jobs(std::vector<JobRow>& rows, std::string_view keys, std::string& unknown);
// The letters whose order needs nothing but a brief answer.
bool sort_needs_only_brief(std::string_view keys);

// The whole answer as one text: header and rows.
std::string render_jobs(const std::vector<JobRow>& rows, const Format<JobRow>& format, bool header);

}  // namespace millrace
