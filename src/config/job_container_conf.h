// src/config/job_container_conf.h - reads job_container.conf: which folders a job has for itself.
#pragma once

#include <string>
#include <vector>

#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace {

void read_job_container_conf(const std::vector<ConfLine>& lines, Configuration& configuration,
                             std::vector<std::string>& errors);

// The settings of one node; nothing: its jobs share everything.
const ContainerSettings* container_of(const IsolationSettings& settings, const std::string& node);

}  // namespace millrace
