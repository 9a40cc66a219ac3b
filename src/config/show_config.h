// src/config/show_config.h - the configuration in the order and words of `scontrol show config`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/configuration.h"

namespace millrace {

// What only the running controller knows.
struct LiveFacts {
  std::string boot_time;  // as it is to be printed
  std::uint32_t next_job_id = 1;
  std::uint32_t slurm_user_uid = 0;
  std::string slurm_version;  // the Slurm whose behaviour is kept
};

std::vector<std::pair<std::string, std::string>> show_config(const Configuration& configuration,
                                                             const LiveFacts& facts);

}  // namespace millrace
