// src/config/plugstack_conf.h - reads plugstack.conf: which SPANK plugins a site has, and with which arguments.
#pragma once

#include <string>
#include <vector>

#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace {

struct PlugStackLine {
  std::string file;
  int line = 0;
  bool required = false;
  std::string plugin;  // a path, or a name that is looked for in PluginDir
  std::vector<std::string> arguments;
};

struct PlugStack {
  std::vector<PlugStackLine> lines;
  std::vector<ConfigurationNote> problems;
};

// The file that PlugStackConfig names, or plugstack.conf beside slurm.conf, with what it includes; nothing where there
// is none.
PlugStack read_plugstack(const std::vector<ConfLine>& slurm_conf, const std::string& slurm_conf_path);
PlugStack parse_plugstack(std::string_view text, const std::string& path);

// Into the notes of the configuration: nothing here depends on plugins yet, so that nothing in the file keeps a daemon
// from starting.
void take_plugstack(const PlugStack& stack, Configuration& configuration);

}  // namespace millrace
