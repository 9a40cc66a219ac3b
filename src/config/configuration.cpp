// src/config/configuration.cpp - see configuration.h.
#include "config/configuration.h"

#include <unistd.h>

#include <algorithm>
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

static bool may_be_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool is_cluster_name(std::string_view name) {
  return !name.empty() && name.size() <= cluster_name_max && name[0] != '.' &&
         std::ranges::all_of(name, may_be_in_name);
}

std::string default_socket_path(std::string_view cluster_name) {
  std::string folder{cluster_name.substr(0, cluster_name_max)};
  // No daemon takes such a name; a command may meet one in a file it only skims.
  for (char& c : folder)
    if (!may_be_in_name(c)) c = '_';
  if (folder.empty() || folder[0] == '.') folder.insert(0, "_");
  return "/run/millrace/" + folder + "/controller.sock";
}

std::string configuration_path() {
  if (const char* given = std::getenv("SLURM_CONF"); given != nullptr && *given != '\0') return given;
  constexpr const char* usual[] = {"/etc/slurm/slurm.conf", "/etc/millrace/slurm.conf"};
  for (const char* path : usual)
    if (access(path, R_OK) == 0) return path;
  return usual[0];
}

}  // namespace millrace
