// src/config/topology_conf.h - topology.conf: the switches or blocks that nodes hang on.
#pragma once

#include <string>
#include <vector>

#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace {

// Fills Configuration::topology as TopologyPlugin asks. Errors say file and line.
void read_topology(const std::vector<ConfLine>& lines, Configuration& configuration, std::vector<std::string>& errors);

}  // namespace millrace
