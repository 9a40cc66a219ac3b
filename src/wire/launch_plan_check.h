// src/wire/launch_plan_check.h - what must hold of a launch plan before anything is made of it.
#pragma once

#include "base/result.h"

namespace millrace::wire {
class LaunchPlan;
}  // namespace millrace::wire

namespace millrace {

// Its lists are as long as it has nodes, its counts are such as can be: an agent refuses any other.
Result<void> check_plan(const wire::LaunchPlan& plan);

}  // namespace millrace
