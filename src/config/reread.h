// src/config/reread.h - what of a changed configuration a running daemon cannot take up.
#pragma once

#include <string>
#include <vector>

#include "config/configuration.h"

namespace millrace {

enum class Daemon : std::uint8_t { controller, agent };

// Names of what has changed and takes effect when the daemon starts again. `node` is the agent's own.
std::vector<std::string> wait_for_restart(const Configuration& running, const Configuration& fresh, Daemon daemon,
                                          const std::string& node = {});

}  // namespace millrace
