// src/config/cgroup_conf.h - reads cgroup.conf, the limits that a node's jobs are held to.
#pragma once

#include <string>
#include <vector>

#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace {

// Every key of Slurm's is known; one that nobody knows is an error with its line, because a limit that is misspelt is
// none.
void read_cgroup_conf(const std::vector<ConfLine>& lines, Configuration& configuration,
                      std::vector<std::string>& errors);

}  // namespace millrace
