// src/config/gres_conf.h - gres.conf and the Gres= of node lines: which generic resources a node has, near which cores,
// shared how.
#pragma once

#include <string>
#include <vector>

#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace {

// Fills ConfiguredNode::kinds of all nodes from their Gres= and from the lines of gres.conf. Errors say file and line.
void read_gres(const std::vector<ConfLine>& lines, Configuration& configuration, std::vector<std::string>& errors);

}  // namespace millrace
