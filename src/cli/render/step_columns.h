// src/cli/render/step_columns.h - the columns of squeue --steps, its order, and the record of scontrol show step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/format.h"
#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

struct StepContext {
  std::int64_t now_us = 0;
  std::string cluster;
  Names* names = nullptr;
};

struct StepRow {
  const wire::StepView* step = nullptr;
  const StepContext* context = nullptr;
};

std::span<const Column<StepRow>> step_columns();
extern const char* const squeue_steps_format;  // -o form

std::string shown_step_number(std::uint32_t step);   // 3, batch
std::string shown_step(const wire::StepView& step);  // 12.3, 12_1.batch, 12+1.0
std::string step_tres(const wire::StepView& step);   // cpu=2,mem=100M,node=1; empty where nothing was given out

void sort_steps(std::vector<StepRow>& rows, std::string_view keys, std::string& unknown);
std::string render_steps(const std::vector<StepRow>& rows, const Format<StepRow>& format, bool header);
std::string show_step_record(const wire::StepView& step, bool one_line);

}  // namespace millrace
