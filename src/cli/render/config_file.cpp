// src/cli/render/config_file.cpp - see config_file.h.
#include "cli/render/config_file.h"

#include <algorithm>

#include "base/text.h"
#include "cli/render/node_words.h"
#include "cli/render/text_forms.h"
#include "config/keys.h"

namespace millrace {
namespace {

// What `scontrol show config` prints, as the file has it: units and numbers of users are for people.
std::string file_value(const ConfigKey& key, std::string_view shown) {
  switch (key.kind) {
    case KeyKind::seconds:
    case KeyKind::minutes:
    case KeyKind::microseconds:
    case KeyKind::seconds_or_infinite:
    case KeyKind::rate:
    case KeyKind::percent:
      return std::string{shown.substr(0, shown.find_first_of(" %"))};
    case KeyKind::user:
      return std::string{shown.substr(0, shown.find('('))};
    default:
      return std::string{shown};
  }
}

std::string node_line(const wire::NodeView& node) {
  std::string out = "NodeName=" + node.name();
  if (!node.address().empty() && node.address() != node.name()) out += " NodeAddr=" + node.address();
  if (!node.host_name().empty() && node.host_name() != node.name()) out += " NodeHostname=" + node.host_name();
  if (node.port() != 0) out += " Port=" + std::to_string(node.port());
  out += " CPUs=" + std::to_string(node.cpus()) + " Boards=" + std::to_string(std::max(node.boards(), 1u)) +
         " SocketsPerBoard=" + std::to_string(std::max(node.sockets(), 1u) / std::max(node.boards(), 1u)) +
         " CoresPerSocket=" + std::to_string(std::max(node.cores_per_socket(), 1u)) +
         " ThreadsPerCore=" + std::to_string(std::max(node.threads_per_core(), 1u)) +
         " RealMemory=" + std::to_string(node.memory_mib()) + " TmpDisk=" + std::to_string(node.tmp_disk_mib()) +
         " Weight=" + std::to_string(node.weight());
  if (!node.features().empty()) out += " Feature=" + node.features();
  if (!node.gres().empty()) out += " Gres=" + node.gres();
  if (node.withheld_cores() != 0) out += " CPUSpecList=" + node.withheld_cpu_list();
  if (node.withheld_memory_mib() != 0) out += " MemSpecLimit=" + std::to_string(node.withheld_memory_mib());
  if (node.cloud())
    out += " State=CLOUD";
  else if (node.base() == wire::NodeView::FUTURE)
    out += " State=FUTURE";
  return out + '\n';
}

std::string partition_line(const wire::PartitionView& p) {
  std::string out = "PartitionName=" + p.name() + " Nodes=" + (p.nodes().empty() ? "\"\"" : p.nodes()) +
                    " Default=" + (p.is_default() ? "YES" : "NO") + " MaxTime=" + format_limit(p.max_time_minutes()) +
                    " State=" + std::string{partition_state(p)};
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) out += ' ' + std::string{key} + '=' + value;
  };
  if (p.default_time_minutes() != 0) add("DefaultTime", format_limit(p.default_time_minutes()));
  if (p.max_nodes() != UINT32_MAX && p.max_nodes() != 0) add("MaxNodes", std::to_string(p.max_nodes()));
  if (p.min_nodes() != 0) add("MinNodes", std::to_string(p.min_nodes()));
  if (p.priority_tier() != 1) add("PriorityTier", std::to_string(p.priority_tier()));
  if (p.priority_job_factor() != 1) add("PriorityJobFactor", std::to_string(p.priority_job_factor()));
  if (p.has_over_time_minutes())
    add("OverTimeLimit", p.over_time_minutes() == UINT32_MAX ? "UNLIMITED" : std::to_string(p.over_time_minutes()));
  if (p.has_max_cpus_per_node()) add("MaxCPUsPerNode", std::to_string(p.max_cpus_per_node()));
  if (p.least_loaded()) add("LLN", "YES");
  if (p.hidden()) add("Hidden", "YES");
  if (p.root_only()) add("RootOnly", "YES");
  if (p.disable_root_jobs()) add("DisableRootJobs", "YES");
  if (p.exclusive() || (!p.sharing().empty() && p.sharing() != "NO"))
    add("OverSubscribe", p.exclusive() ? "EXCLUSIVE" : p.sharing());
  if (p.has_default_memory_per_cpu_mib()) add("DefMemPerCPU", std::to_string(p.default_memory_per_cpu_mib()));
  if (p.has_default_memory_per_node_mib()) add("DefMemPerNode", std::to_string(p.default_memory_per_node_mib()));
  if (p.has_max_memory_per_cpu_mib()) add("MaxMemPerCPU", std::to_string(p.max_memory_per_cpu_mib()));
  if (p.has_max_memory_per_node_mib()) add("MaxMemPerNode", std::to_string(p.max_memory_per_node_mib()));
  add("AllowGroups", p.allow_groups() == "ALL" ? "" : p.allow_groups());
  add("AllowAccounts", p.allow_accounts() == "ALL" ? "" : p.allow_accounts());
  add("DenyAccounts", p.deny_accounts());
  add("AllocNodes", p.submit_hosts());
  if (p.exclusive_user()) add("ExclusiveUser", "YES");
  if (p.require_reservation()) add("ReqResv", "YES");
  add("JobDefaults", p.job_defaults());
  add("AllowQos", p.allow_qos() == "ALL" ? "" : p.allow_qos());
  add("DenyQos", p.deny_qos());
  add("QOS", p.qos());
  add("TRESBillingWeights", p.billing_weights());
  if (p.grace_seconds() != 0) add("GraceTime", std::to_string(p.grace_seconds()));
  return out + '\n';
}

}  // namespace

std::string config_file_text(const wire::Config& config, const wire::Nodes& nodes, const wire::Partitions& partitions) {
  std::string out = "# written by scontrol write config at " + format_time(config.now_us(), "an unknown time") + "\n";
  for (const auto& entry : config.entries()) {
    const ConfigKey* key = find_config_key(std::string_view{entry.key()}.substr(0, entry.key().find('[')));
    if (key == nullptr || key->kind == KeyKind::live || entry.value().starts_with("(null") || entry.value().empty())
      continue;
    const std::string value = file_value(*key, entry.value());
    // What is as it would be without a line needs none; it is as likely to be a word that only a listing has.
    if (equals_ignoring_case(value, key->fallback)) continue;
    out += std::string{key->name} + '=' + value + '\n';
  }
  for (const wire::NodeView& node : nodes.nodes()) out += node_line(node);
  for (const wire::PartitionView& partition : partitions.partitions()) out += partition_line(partition);
  return out;
}

}  // namespace millrace
