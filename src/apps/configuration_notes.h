// src/apps/configuration_notes.h - what a daemon says of its configuration when it has read it.
#pragma once

#include <string>
#include <vector>

#include "config/configuration.h"

namespace millrace {

std::vector<std::string> controller_notes(const Configuration& configuration);
std::vector<std::string> agent_notes(const Configuration& configuration);

}  // namespace millrace
