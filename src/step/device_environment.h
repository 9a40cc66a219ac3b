// src/step/device_environment.h - variables that tell a job's processes which devices and licences are theirs.
#pragma once

#include "step/environment.h"

namespace millrace {

// Devices of this node, and what was asked for them.
void add_devices(Environment& environment, const wire::LaunchPlan& plan);
// With gpus per task: those of this one.
void add_task_devices(Environment& environment, const wire::LaunchPlan& plan, std::uint32_t local_rank);

}  // namespace millrace
