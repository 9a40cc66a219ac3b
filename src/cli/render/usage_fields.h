// src/cli/render/usage_fields.h - what steps use, summed over their tasks, and the fields of sstat.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/render/field_table.h"
#include "client.pb.h"

namespace millrace {

// One measure over the tasks of a step: where it is largest and smallest.
struct UsageSpread {
  std::int64_t most = 0, least = 0, total = 0;
  std::string most_node, least_node;
  std::uint32_t most_task = 0, least_task = 0;
  std::uint32_t count = 0;
  void add(std::int64_t value, const std::string& node, std::uint32_t task);
  std::int64_t average() const { return count == 0 ? 0 : total / count; }
};

struct StepUse {
  const wire::StepView* step = nullptr;
  UsageSpread cpu_us, rss, vm, pages, read, written;
  UsageSpread gpu_busy, gpu_memory;  // over its nodes; a count of 0 where no gpu was looked at
  std::vector<std::uint32_t> pids;
  bool exact_numbers = false;  // --noconvert
};

// The samples of this step from all its nodes.
StepUse sum_up(const wire::StepView& step, const wire::StepSamples& samples);

std::span<const Field<StepUse>> usage_fields();
extern const char* const sstat_default_fields;
extern const char* const sstat_pid_fields;

}  // namespace millrace
