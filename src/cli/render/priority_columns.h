// src/cli/render/priority_columns.h - the columns of sprio, one row each.
#pragma once

#include <span>
#include <string>

#include "cli/render/format.h"
#include "client.pb.h"

namespace millrace {

// A job, or with no job the weights themselves.
struct PriorityRow {
  const wire::PriorityView* job = nullptr;
  const wire::Priorities* all = nullptr;
};

std::span<const Column<PriorityRow>> priority_columns();
extern const char* const sprio_long_format;
// The columns of the factors that have a weight; `norm`: as parts of one.
std::string sprio_format(const wire::Priorities& all, bool norm);
// -1, 0, 1 by the column's value, numbers as numbers.
bool sprio_less(const PriorityRow& a, const PriorityRow& b, char letter);

}  // namespace millrace
