// src/config/show_config.cpp - see show_config.h.
#include "config/show_config.h"

#include <set>

#include "base/text.h"
#include "config/key_setters.h"
#include "config/keys.h"

namespace millrace {
namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string in_minutes_or_time(std::string_view value) {
  const auto parsed = parse_duration(value);
  if (!parsed || parsed->unlimited) return "UNLIMITED";
  return format_duration(parsed->seconds);
}

std::string print_value(const ConfigKey& key, std::string value) {
  switch (key.kind) {
    case KeyKind::seconds:
      return value + " sec";
    case KeyKind::minutes:
      return parse_integer(value) ? value + " min" : "UNLIMITED";
    case KeyKind::microseconds:
      return value + " usec";
    case KeyKind::rate:
      return value + " nodes/min";
    case KeyKind::percent:
      return value + " percent";
    case KeyKind::flag:
      return setter::is_yes(value) ? "yes" : "no";
    case KeyKind::switch01:
      return setter::is_yes(value) ? "1" : "0";
    case KeyKind::duration:
      return in_minutes_or_time(value);
    case KeyKind::seconds_or_infinite:
      return parse_integer(value) && value != "-1" ? value + " sec" : "INFINITE";
    case KeyKind::upper:
      return upper(std::move(value));
    default:
      return value;
  }
}

std::string live_value(const ConfigKey& key, const Configuration& c, const LiveFacts& facts) {
  if (key.name == "BOOT_TIME") return facts.boot_time;
  if (key.name == "HASH_VAL") return "Match";
  if (key.name == "NEXT_JOB_ID") return std::to_string(facts.next_job_id);
  if (key.name == "SLURM_CONF") return c.path;
  if (key.name == "SLURM_VERSION") return facts.slurm_version;
  if (key.name == "MaxNodeCount") return std::to_string(std::max<std::size_t>(c.nodes.size(), c.max_node_count));
  return {};
}

bool several_agents_on_a_host(const Configuration& c) {
  std::set<std::string_view> hosts;
  for (const ConfiguredNode& node : c.nodes)
    if (!hosts.insert(node.host_name).second) return true;
  return false;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> show_config(const Configuration& c, const LiveFacts& facts) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto given = [&](const ConfigKey& key) -> std::string {
    const auto it = c.given.find(lower(key.name));
    return it == c.given.end() ? std::string{key.fallback} : it->second;
  };
  for (const ConfigKey& key : config_keys()) {
    if (!key.shown) continue;
    std::string name{key.name};
    if (key.kind == KeyKind::memory) {
      // One of each pair is shown: the limit per CPU where it is set, else the one per node.
      const bool per_cpu = name.ends_with("PerCPU");
      const bool cpu_set =
          name.starts_with("Def") ? c.default_memory_per_cpu.has_value() : c.max_memory_per_cpu.has_value();
      if (per_cpu != cpu_set) continue;
      const auto& size = name.starts_with("Def") ? (per_cpu ? c.default_memory_per_cpu : c.default_memory_per_node)
                                                 : (per_cpu ? c.max_memory_per_cpu : c.max_memory_per_node);
      out.emplace_back(std::move(name), size ? std::to_string(size->value) : "UNLIMITED");
    } else if (key.name == "MULTIPLE_SLURMD") {
      if (several_agents_on_a_host(c)) out.emplace_back(std::move(name), "yes");
    } else if (key.kind == KeyKind::live) {
      out.emplace_back(std::move(name), live_value(key, c, facts));
    } else if (key.kind == KeyKind::indexed) {
      for (std::size_t i = 0; i < c.controllers.size(); ++i)
        out.emplace_back(name + '[' + std::to_string(i) + ']',
                         c.controllers[i].host == c.controllers[i].address
                             ? c.controllers[i].host
                             : c.controllers[i].host + '(' + c.controllers[i].address + ')');
    } else if (key.kind == KeyKind::user) {
      const std::string user = given(key);
      out.emplace_back(std::move(name),
                       user + '(' + (user == "root" ? "0" : std::to_string(facts.slurm_user_uid)) + ')');
    } else if (key.name == "ClusterName") {
      out.emplace_back(std::move(name), c.cluster_name);
    } else {
      const std::string value = given(key);
      // Two keys have their own word for nothing.
      const char* nothing = key.name == "PriorityFlags" ? "" : key.name == "TaskPluginParam" ? "(null type)" : "(null)";
      out.emplace_back(std::move(name), value.empty() ? nothing : print_value(key, value));
    }
  }
  return out;
}

}  // namespace millrace
