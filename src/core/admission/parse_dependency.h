// src/core/admission/parse_dependency.h - afterok:12:13,afterany:14_2 as a user types it, resolved against the jobs we
// know.
#pragma once

#include <string_view>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

constexpr std::size_t dependencies_most = 1000;  // of one job

std::expected<Dependencies, Refusal> parse_dependencies(const State& state, std::string_view text);

}  // namespace millrace
