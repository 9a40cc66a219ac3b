// src/wire/step_busy.h - what clients ask of the step manager of a job while too much waits for it already.
#pragma once

#include <cstddef>
#include <optional>

#include "agent.pb.h"

namespace millrace {

// Clients send it as often as they like. What else a step manager is told is small, and is passed on however much
// waits.
bool is_from_client(const wire::StepToNode& message);

// What a request for a step, or the launch of one, takes in memory beside its bytes: each argument is an object.
std::size_t extra_memory_of(const wire::JobDescription& step);

// The answer in the step manager's stead: srun asks for its step again, a while later. Nothing: nobody waits for an
// answer.
std::optional<wire::StepFromNode> busy_answer(const wire::StepToNode& asked);

}  // namespace millrace
