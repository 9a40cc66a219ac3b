// src/core/admission/parse_dependency.h - afterok:12:13,afterany:14_2 as a user types it, resolved against the jobs we
// know.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

constexpr std::size_t dependencies_most = 1000;  // of one job

std::expected<Dependencies, Refusal> parse_dependencies(const State& state, std::string_view text);

// Each job that is waited for and each that waits for it is one of these.
struct DependencyLimits {
  std::uint64_t of_user = 200'000;   // of jobs that are not over
  std::uint64_t in_all = 1'000'000;  // of the cluster; jobs with a few may wait whatever there is
};
constexpr std::uint64_t dependencies_few = 8;

// Whether jobs of this user may wait for so many more: each takes memory, and each end looks at all who waited for it.
std::expected<void, Refusal> check_dependency_room(const State& state, UserId uid, std::uint64_t more,
                                                   const DependencyLimits& limits = {});

}  // namespace millrace
