// src/controller/requests/step_selector.h - the jobs whose steps one request names.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "client.pb.h"
#include "core/admission/job_selection.h"

namespace millrace {

// Each job once for each of its steps that is named, and once for all of them.
class StepSelector {
 public:
  explicit StepSelector(const State& state) : state_(state) {}
  std::expected<std::vector<JobKey>, Refusal> select(const wire::StepName& name) {
    if (is_exhausted()) return std::unexpected(JobSelector::refusal());
    const JobName job{JobId{name.job().job_id()}, name.job().tasks()};
    const auto step = name.has_step() ? std::optional{name.step()} : std::nullopt;
    auto selected = select_jobs(state_, job, looked_at_);
    if (!selected) return std::unexpected(selected.error());
    std::vector<JobKey> out;
    for (const SelectedJob& which : *selected)
      if (!which.task && given_.emplace(which.key, step).second) out.push_back(which.key);
    return out;
  }
  bool is_exhausted() const { return looked_at_ >= JobSelector::usual_most; }
  void looked_at(std::size_t steps) { looked_at_ += steps; }

 private:
  const State& state_;
  std::uint64_t looked_at_ = 0;
  std::set<std::pair<JobKey, std::optional<std::uint32_t>>> given_;
};

}  // namespace millrace
