// src/config/suggestions.h - what somebody who knows Millrace would say about a configuration that has no errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/configuration.h"

namespace millrace {

// The host the file is looked at on; tests have their own.
struct HostLooks {
  std::function<bool(const std::string& path)> is_executable;
  std::function<bool(const std::string& path)> exists;
  std::function<bool(const std::string& user)> has_user;
};
HostLooks this_host();

// One sentence or two each, in the order in which an administrator would care.
std::vector<std::string> suggestions(const Configuration& configuration, const HostLooks& host);

}  // namespace millrace
