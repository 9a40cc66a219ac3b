// src/config/reread.cpp - see reread.h.
#include "config/reread.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace millrace {
namespace {

struct FixedKey {
  std::string_view key;
  bool of_controller, of_agent;
};

constexpr FixedKey fixed_keys[] = {
    {"AuthInfo", true, true},
    {"AuthType", true, true},
    {"ClusterName", true, true},
    {"JobContainerType", false, true},
    {"NamespaceType", false, true},
    {"ProctrackType", false, true},
    {"SlurmctldAddr", true, true},
    {"SlurmctldHost", true, true},
    {"SlurmctldPidFile", true, false},
    {"SlurmctldPort", true, true},
    {"SlurmdPidFile", false, true},
    {"SlurmdSpoolDir", false, true},
    {"SlurmUser", true, false},
    {"StateSaveLocation", true, false},
    {"TaskPlugin", false, true},
    {"TaskPluginParam", false, true},
    {"TmpFS", false, true},
};

std::string_view value_of(const Configuration& configuration, std::string_view key) {
  const auto it = configuration.given.find(lower(key));
  return it == configuration.given.end() ? std::string_view{} : std::string_view{it->second};
}

}  // namespace

std::vector<std::string> wait_for_restart(const Configuration& running, const Configuration& fresh, Daemon daemon,
                                          const std::string& node) {
  std::vector<std::string> out;
  for (const FixedKey& row : fixed_keys)
    if ((daemon == Daemon::controller ? row.of_controller : row.of_agent) &&
        value_of(running, row.key) != value_of(fresh, row.key))
      out.emplace_back(row.key);
  if (daemon == Daemon::controller) return out;
  if (!(running.isolation == fresh.isolation)) out.emplace_back("cgroup.conf or job_container.conf");
  const auto mine = [&](const Configuration& c) { return std::ranges::find(c.nodes, node, &ConfiguredNode::name); };
  const auto before = mine(running), now = mine(fresh);
  if (before == running.nodes.end()) return out;  // a relay, or a node that slurm.conf never named
  if (now == fresh.nodes.end())
    out.push_back("the line of node " + node + ", which is gone");
  else if (before->kinds != now->kinds || before->detect != now->detect || before->cpus != now->cpus ||
           before->memory != now->memory)
    out.push_back("the resources of node " + node);
  return out;
}

}  // namespace millrace
