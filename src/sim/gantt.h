// src/sim/gantt.h - a schedule as a picture (SVG): which job had which processors when, or, where that is too much, how
// many were busy.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/replay.h"

namespace millrace {

// A node, or the whole machine: so many processors under one label.
struct GanttRow {
  std::string label;
  std::int64_t processors = 0;
};

// Jobs with shares lie in the rows of their nodes, the others in the first row; within a row a job gets the lowest
// processors free at its start, as in a drawing by hand. More than a few thousand jobs become bands: busy processors by
// width of job, over time.
std::string gantt_svg(std::span<const ReplayedJob> jobs, const std::vector<GanttRow>& rows, const std::string& title);

}  // namespace millrace
