// src/step/environment/device_environment.h - variables that tell a job's processes which devices and licences are
// theirs.
#pragma once

#include "step/environment/environment.h"

namespace millrace {

// Devices of this node, and what was asked for them. What libraries call the gpus: step/gpus.
void add_devices(Environment& environment, const wire::LaunchPlan& plan);

}  // namespace millrace
