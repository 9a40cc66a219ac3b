// src/controller/views/step_views.h - steps as people are shown them: those of the ledger, and those that follow from
// their job.
#pragma once

#include <optional>

#include "client.pb.h"
#include "core/ledger/state.h"

namespace millrace {

// One running step: of a batch job its script, of srun's own job its tasks (step 0), else one the step manager told of.
struct RunningStep {
  std::uint32_t id = 0;
  const Step* known = nullptr;                          // null: it follows from the job
  bool is_attempt() const { return known == nullptr; }  // its supervisor is that of the attempt
};

// In the order of their numbers, the script last.
std::vector<RunningStep> running_steps(const State& state, const Job& job);
std::optional<RunningStep> find_running_step(const State& state, const Job& job, std::uint32_t id);
// Where it runs; of the script the first node.
std::vector<NodeIndex> nodes_of(const Job& job, const RunningStep& step);

void show_step(const State& state, const Job& job, const RunningStep& step, wire::StepView& out);

}  // namespace millrace
