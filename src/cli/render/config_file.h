// src/cli/render/config_file.h - the running configuration as a slurm.conf that could be started from.
#pragma once

#include <string>

#include "client.pb.h"

namespace millrace {

std::string config_file_text(const wire::Config& config, const wire::Nodes& nodes, const wire::Partitions& partitions);

}  // namespace millrace
