// src/config/configuration.cpp - see configuration.h.
#include "config/configuration.h"

#include <unistd.h>

#include <cstdlib>

namespace millrace {

std::string expand_node_path(const std::string& pattern, const std::string& node, const std::string& host) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'n')
      out += node;
    else if (next == 'h')
      out += host;
    else if (next == '%')
      out += '%';
    else {
      out += pattern[i];
      continue;
    }
    ++i;
  }
  return out;
}

std::string configuration_path() {
  if (const char* given = std::getenv("SLURM_CONF"); given != nullptr && *given != '\0') return given;
  constexpr const char* usual[] = {"/etc/slurm/slurm.conf", "/etc/millrace/slurm.conf"};
  for (const char* path : usual)
    if (access(path, R_OK) == 0) return path;
  return usual[0];
}

}  // namespace millrace
