// src/config/slurm_conf.h - reads slurm.conf into a Configuration, and says where it is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/conf_lines.h"
#include "config/configuration.h"
#include "config/plugstack_conf.h"

namespace millrace {

struct ConfigurationReport {
  Configuration configuration;
  std::vector<std::string> errors;  // "file:line: what was wrong, what would be right"; empty: it may be used
};

// The files beside slurm.conf that belong to it; empty: there is none.
struct CompanionLines {
  std::vector<ConfLine> gres, topology;
  std::vector<ConfLine> cgroup{}, container{};
  PlugStack plugins{};
};
// `lines` are those of slurm.conf itself.
Result<CompanionLines> read_companions(const std::string& path, const std::vector<ConfLine>& lines);

ConfigurationReport parse_configuration(const std::vector<ConfLine>& lines, const std::string& path,
                                        const CompanionLines& companions = {});
// As above from text, for tests and `millrace up`.
ConfigurationReport parse_configuration_text(std::string_view text, const std::string& path);
// Nodes that slurm.conf does not name: their names, and what a NodeName line would say of them.
Result<std::vector<ConfiguredNode>> configured_nodes(const std::string& names, const std::string& words);
// The file and what it includes; the first errors are the story. For daemons.
Result<Configuration> load_configuration(const std::string& path);

}  // namespace millrace
