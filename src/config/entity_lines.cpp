// src/config/entity_lines.cpp - see entity_lines.h; one row per key of a node or a partition.
#include "config/entity_lines.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/key_setters.h"
#include "core/model/withheld.h"

namespace millrace {

static std::unexpected<Error> wrong_value(std::string_view value, std::string_view right) {
  return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, " + std::string{right} + " would be right");
}

static Result<std::uint32_t> count(std::string_view value, std::int64_t least = 0) {
  const auto number = parse_integer(value);
  if (!number || *number < least || *number >= UINT32_MAX)
    return wrong_value(value, "a number of at least " + std::to_string(least));
  return static_cast<std::uint32_t>(*number);
}

static Result<std::uint32_t> count_or_unlimited(std::string_view value) {
  if (equals_ignoring_case(value, "unlimited") || equals_ignoring_case(value, "infinite") || value == "-1")
    return unlimited_count;
  return count(value);
}

static Result<Mebibytes> size(std::string_view value) {
  const auto memory = parse_memory(value);
  if (!memory) return wrong_value(value, "a size in MiB, as in 2000 or 4G");
  return *memory;
}

static Result<bool> yes_no(std::string_view value) {
  constexpr std::string_view words[] = {"yes", "no", "true", "false", "1", "0"};
  if (std::ranges::none_of(words, [&](std::string_view word) { return equals_ignoring_case(word, value); }))
    return wrong_value(value, "YES or NO");
  return setter::is_yes(value);
}

struct NodeKeyRow {
  using Draft = EntityReader::NodeDraft;
  std::string_view name;
  bool built;
  Result<void> (*set)(Draft&, std::string_view);
};

namespace {

using N = NodeKeyRow::Draft;
using P = PartitionKeyRow::Draft;
using Text = std::string_view;

template <auto field>
Result<void> node_text(N& n, Text v) {
  n.*field = std::string{v};
  return {};
}
template <auto field>
Result<void> node_count(N& n, Text v) {
  MR_TRY(n.*field, count(v, 1));
  return {};
}
template <auto field>
Result<void> inner_text(N& n, Text v) {
  n.node.*field = std::string{v};
  return {};
}
template <auto field>
Result<void> inner_size(N& n, Text v) {
  MR_TRY(n.node.*field, size(v));
  return {};
}

template <auto field>
Result<void> part_text(P& p, Text v) {
  p.partition.*field = std::string{v};
  return {};
}
template <auto field>
Result<void> part_flag(P& p, Text v) {
  MR_TRY(p.partition.*field, yes_no(v));
  return {};
}
template <auto field>
Result<void> part_count(P& p, Text v) {
  MR_TRY(p.partition.*field, count_or_unlimited(v));
  return {};
}
template <auto field>
Result<void> part_size(P& p, Text v) {
  if (equals_ignoring_case(v, "unlimited") || v == "0") {
    (p.partition.*field).reset();
    return {};
  }
  MR_TRY(p.partition.*field, size(v));
  return {};
}
template <auto field>
Result<void> part_time(P& p, Text v) {
  if (equals_ignoring_case(v, "none")) {
    (p.partition.*field).reset();
    return {};
  }
  const auto parsed = parse_duration(v);
  if (!parsed) return wrong_value(v, "a time, as in 30, 1:00:00, 1-00:00:00 or UNLIMITED");
  (p.partition.*field).reset();
  if (!parsed->unlimited) p.partition.*field = static_cast<std::uint32_t>((parsed->seconds + 59) / 60);
  return {};
}

Result<void> node_state(N& n, Text v) {
  struct Row {
    Text word;
    ConfiguredNodeState state;
  };
  constexpr Row words[] = {{"unknown", ConfiguredNodeState::unknown}, {"idle", ConfiguredNodeState::unknown},
                           {"down", ConfiguredNodeState::down},       {"drain", ConfiguredNodeState::drain},
                           {"fail", ConfiguredNodeState::fail},       {"failing", ConfiguredNodeState::fail},
                           {"future", ConfiguredNodeState::future},   {"cloud", ConfiguredNodeState::cloud}};
  for (const Row& row : words)
    if (equals_ignoring_case(row.word, v)) {
      n.node.state = row.state;
      return {};
    }
  return wrong_value(v, "UNKNOWN, DOWN, DRAIN, FAIL, FUTURE or CLOUD");
}

Result<void> part_state(P& p, Text v) {
  struct Row {
    Text word;
    ConfiguredPartitionState state;
  };
  constexpr Row words[] = {{"up", ConfiguredPartitionState::up},
                           {"down", ConfiguredPartitionState::down},
                           {"drain", ConfiguredPartitionState::drain},
                           {"inactive", ConfiguredPartitionState::inactive}};
  for (const Row& row : words)
    if (equals_ignoring_case(row.word, v)) {
      p.partition.state = row.state;
      return {};
    }
  return wrong_value(v, "UP, DOWN, DRAIN or INACTIVE");
}

Result<void> part_sharing(P& p, Text v) {
  const std::size_t colon = v.find(':');
  const std::string word = lower(v.substr(0, colon));
  if (word == "no")
    p.partition.sharing = Sharing::no;
  else if (word == "exclusive")
    p.partition.sharing = Sharing::exclusive;
  else if (word == "yes")
    p.partition.sharing = Sharing::yes;
  else if (word == "force")
    p.partition.sharing = Sharing::force;
  else
    return wrong_value(v, "NO, EXCLUSIVE, YES[:n] or FORCE[:n]");
  if (colon != Text::npos) {
    MR_TRY(p.partition.share_count, count(v.substr(colon + 1), 1));
  }
  return {};
}

// clang-format off
constexpr NodeKeyRow node_rows[] = {
    {"NodeHostname", true, node_text<&N::host_names>},
    {"NodeAddr", true, node_text<&N::addresses>},
    {"Port", true, node_text<&N::ports>},
    {"CPUs", true, node_count<&N::cpus>},
    {"Procs", true, node_count<&N::cpus>},
    {"Boards", true, node_count<&N::boards>},
    {"Sockets", true, node_count<&N::sockets>},
    {"SocketsPerBoard", true, node_count<&N::sockets_per_board>},
    {"CoresPerSocket", true, node_count<&N::cores>},
    {"ThreadsPerCore", true, node_count<&N::threads>},
    {"RealMemory", true, inner_size<&ConfiguredNode::memory>},
    {"TmpDisk", true, inner_size<&ConfiguredNode::tmp_disk>},
    {"Weight", true, [](N& n, Text v) -> Result<void> { MR_TRY(n.node.weight, count(v)); return {}; }},
    {"Feature", true, inner_text<&ConfiguredNode::features>},
    {"Features", true, inner_text<&ConfiguredNode::features>},
    {"Gres", true, inner_text<&ConfiguredNode::gres>},
    {"State", true, node_state},
    {"Reason", true, inner_text<&ConfiguredNode::reason>},
    {"BcastAddr", false, nullptr},
    {"CoreSpecCount", true, [](N& n, Text v) -> Result<void> { MR_TRY(n.core_spec, count(v)); return {}; }},
    {"CPUSpecList", true, node_text<&N::cpu_spec_list>},
    {"MemSpecLimit", true, inner_size<&ConfiguredNode::withheld_memory>}, {"CpuBind", false, nullptr}, {"GresConf", false, nullptr},
    {"RestrictedCoresPerGPU", false, nullptr},
    {"SuspendTime", true, [](N& n, Text v) -> Result<void> { MR_TRY(n.node.suspend_seconds, setter::suspend_seconds(v)); return {}; }}, {"Topology", false, nullptr},
    {"TRESWeights", false, nullptr}, {"Parameters", false, nullptr},
};

using CP = ConfiguredPartition;
constexpr PartitionKeyRow partition_rows[] = {
    {"Nodes", true, [](P& p, Text v) -> Result<void> { p.nodes = v; return {}; }},
    {"Default", true, part_flag<&CP::is_default>},
    {"State", true, part_state},
    {"MaxTime", true, part_time<&CP::max_time_minutes>},
    {"DefaultTime", true, part_time<&CP::default_time_minutes>},
    {"MaxNodes", true, part_count<&CP::max_nodes>},
    {"MinNodes", true, part_count<&CP::min_nodes>},
    {"MaxCPUsPerNode", true, part_count<&CP::max_cpus_per_node>},
    {"PriorityTier", true, part_count<&CP::priority_tier>},
    {"PriorityJobFactor", true, part_count<&CP::priority_job_factor>},
    {"Priority", true, [](P& p, Text v) -> Result<void> {
       MR_TRY(p.partition.priority_tier, count(v));
       p.partition.priority_job_factor = p.partition.priority_tier;
       return {};
     }},
    {"RootOnly", true, part_flag<&CP::root_only>},
    {"Hidden", true, part_flag<&CP::hidden>},
    {"DisableRootJobs", true, part_flag<&CP::disable_root_jobs>},
    {"OverSubscribe", true, part_sharing},
    {"Shared", true, part_sharing},
    {"DefMemPerCPU", true, part_size<&CP::default_memory_per_cpu>},
    {"DefMemPerNode", true, part_size<&CP::default_memory_per_node>},
    {"MaxMemPerCPU", true, part_size<&CP::max_memory_per_cpu>},
    {"MaxMemPerNode", true, part_size<&CP::max_memory_per_node>},
    {"AllowGroups", true, part_text<&CP::allow_groups>},
    {"AllowAccounts", true, part_text<&CP::allow_accounts>},
    {"AllowQos", true, part_text<&CP::allow_qos>},
    {"DenyAccounts", true, part_text<&CP::deny_accounts>},
    {"DenyQos", true, part_text<&CP::deny_qos>},
    {"AllocNodes", true, [](P& p, Text v) -> Result<void> {
       if (!equals_ignoring_case(v, "ALL")) MR_TRY_VOID(expand_hostlist(v));
       p.partition.alloc_nodes = v.empty() ? "ALL" : std::string{v};
       return {};
     }},
    {"GraceTime", true, [](P& p, Text v) -> Result<void> {
       const auto plain = parse_integer(v);
       const auto span = parse_duration(v);
       if (!plain && (!span || span->unlimited)) return wrong_value(v, "seconds, or a time like 0:30");
       p.partition.grace_seconds = static_cast<std::uint32_t>(plain ? *plain : span->seconds);
       return {};
     }},
    {"PreemptMode", true, [](P& p, Text v) -> Result<void> { MR_TRY(const setter::PreemptWords words, setter::read_preempt_mode(v)); p.partition.preempt_mode = words.priority ? PreemptMode::off : words.mode; return {}; }},
    {"MaxCPUsPerSocket", false, nullptr}, {"Alternate", false, nullptr}, {"CpuBind", false, nullptr},
    {"DefCpuPerGPU", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.default_cpus_per_gpu, count(v, 1)); return {}; }},
    {"DefMemPerGPU", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.default_memory_per_gpu, size(v)); return {}; }},
    {"JobDefaults", true, [](P& p, Text v) -> Result<void> { return setter::job_defaults(v, p.partition.default_cpus_per_gpu, p.partition.default_memory_per_gpu); }},
    {"Exclusive", true, [](P& p, Text v) -> Result<void> {
       if (equals_ignoring_case(v, "USER")) { p.partition.exclusive_user = true; return {}; }
       if (equals_ignoring_case(v, "NO")) {
         p.partition.exclusive_user = false;
         if (p.partition.sharing == Sharing::exclusive) p.partition.sharing = Sharing::no;
         return {};
       }
       if (equals_ignoring_case(v, "YES") || equals_ignoring_case(v, "NODE")) { p.partition.sharing = Sharing::exclusive; return {}; }
       return wrong_value(v, "NO, YES or USER");
     }},
    {"ExclusiveUser", true, part_flag<&CP::exclusive_user>}, {"ExclusiveTopo", false, nullptr},
    {"LLN", true, part_flag<&CP::least_loaded>},
    {"OverTimeLimit", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.over_time_minutes, setter::over_time_minutes(v)); return {}; }},
    {"PowerDownOnIdle", true, part_flag<&CP::power_down_on_idle>}, {"QOS", true, part_text<&CP::qos>},
    {"ReqResv", true, part_flag<&CP::require_reservation>}, {"SelectTypeParameters", false, nullptr},
    {"ResumeTimeout", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.resume_timeout_seconds, count(v, 1)); return {}; }},
    {"SuspendTime", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.suspend_seconds, setter::suspend_seconds(v)); return {}; }},
    {"SuspendTimeout", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.suspend_timeout_seconds, count(v, 1)); return {}; }}, {"Topology", false, nullptr},
    {"TRESBillingWeights", true, [](P& p, Text v) -> Result<void> { MR_TRY(p.partition.billing_weights, parse_tres_weights(v)); return {}; }},
};
// clang-format on

bool has_feature(const ConfiguredNode& node, const std::string& feature) {
  const auto features = split(node.features, ',');
  return !feature.empty() && std::ranges::find(features, std::string_view{feature}) != features.end();
}

std::string place(const ConfLine& line) { return line.file + ":" + std::to_string(line.line); }

}  // namespace

bool PartitionKeyRow::asks_nothing(std::string_view value) const {
  if (name == "Alternate") return equals_ignoring_case(value, "NONE");  // anything else is a partition, even "all"
  return equals_ignoring_case(value, "ALL") || equals_ignoring_case(value, "UNLIMITED") ||
         equals_ignoring_case(value, "NO");
}

std::span<const PartitionKeyRow> partition_keys() { return partition_rows; }

void EntityReader::remark(const ConfLine& line, const std::string& key, std::vector<ConfigurationNote>& notes,
                          std::string text) {
  notes.push_back({key, line.file, line.line, std::move(text)});
}

bool EntityReader::take(const ConfLine& line, std::vector<std::string>& errors) {
  const std::string& first = line.pairs.front().key;
  Result<void> (EntityReader::*reader)(const ConfLine&) = nullptr;
  if (equals_ignoring_case(first, "NodeName")) reader = &EntityReader::take_nodes;
  if (equals_ignoring_case(first, "PartitionName")) reader = &EntityReader::take_partition;
  if (equals_ignoring_case(first, "NodeSet")) reader = &EntityReader::take_set;
  if (equals_ignoring_case(first, "DownNodes")) reader = &EntityReader::take_down;
  if (reader == nullptr) return false;
  if (const auto done = (this->*reader)(line); !done) errors.push_back(place(line) + ": " + done.error().story);
  return true;
}

Result<void> EntityReader::take_nodes(const ConfLine& line) {
  const std::string& names = line.pairs.front().value;
  NodeDraft draft = node_default_;
  for (const ConfPair& pair : std::span{line.pairs}.subspan(1)) {
    const auto row =
        std::ranges::find_if(node_rows, [&](const NodeKeyRow& r) { return equals_ignoring_case(r.name, pair.key); });
    if (row == std::end(node_rows))
      remark(line, pair.key, out_.unknown, "unknown key of NodeName");
    else if (!row->built)
      remark(line, pair.key, out_.not_built, "not built yet");
    else {
      MR_TRY_VOID(in_context(row->set(draft, pair.value), "NodeName=" + names + " " + pair.key));
    }
  }
  if (names == "DEFAULT") {
    node_default_ = draft;
    return {};
  }
  MR_TRY_VOID(settle_cpus(draft, line));
  MR_TRY_VOID(in_context(settle_withheld(draft), "NodeName=" + names));
  return in_context(add_nodes(draft, names), "NodeName=" + names);
}

// What was left out follows from what was given; a number of CPUs that fits no level is put right, as Slurm does.
Result<void> EntityReader::settle_cpus(NodeDraft& draft, const ConfLine& line) {
  const std::uint32_t boards = std::max(draft.boards, 1u), cores = std::max(draft.cores, 1u),
                      threads = std::max(draft.threads, 1u);
  std::uint32_t sockets = draft.sockets;
  if (sockets == 0 && draft.sockets_per_board != 0) sockets = boards * draft.sockets_per_board;
  if (sockets == 0 && draft.cpus != 0) sockets = std::max(draft.cpus / (cores * threads), 1u);
  sockets = std::max(sockets, 1u);
  const std::uint64_t product = static_cast<std::uint64_t>(sockets) * cores * threads;
  if (product > UINT32_MAX) return fail(Errc::invalid, "more than 4 billion processors");
  std::uint32_t cpus = draft.cpus == 0 ? static_cast<std::uint32_t>(product) : draft.cpus;
  if (cpus != product && cpus != sockets * cores && cpus != sockets) {
    remark(line, "CPUs", out_.adjusted,
           "CPUs=" + std::to_string(cpus) + " fits neither sockets, cores nor threads; taken as " +
               std::to_string(product));
    cpus = static_cast<std::uint32_t>(product);
  }
  draft.node.boards = boards;
  draft.node.sockets = sockets;
  draft.node.cores_per_socket = cores;
  draft.node.threads_per_core = threads;
  draft.node.cpus = cpus;
  return {};
}

Result<void> EntityReader::settle_withheld(NodeDraft& draft) {
  ConfiguredNode& node = draft.node;
  if (draft.core_spec > 0 && !draft.cpu_spec_list.empty())
    return fail(Errc::invalid, "CoreSpecCount and CPUSpecList exclude each other");
  NodeDef shape;
  shape.cpus = Cpus{node.cpus};
  shape.sockets = node.sockets;
  shape.cores_per_socket = node.cores_per_socket;
  shape.threads_per_core = node.threads_per_core;
  if (draft.core_spec > 0) {
    MR_TRY(node.withheld_cpus, in_context(last_cores(shape, draft.core_spec), "CoreSpecCount"));
  }
  if (!draft.cpu_spec_list.empty()) {
    MR_TRY(node.withheld_cpus, in_context(listed_cpus(shape, draft.cpu_spec_list), "CPUSpecList"));
  }
  if (node.withheld_memory.value > 0 && node.withheld_memory >= node.memory)
    return fail(Errc::invalid, "MemSpecLimit: " + std::to_string(node.withheld_memory.value) +
                                   " MiB is all of RealMemory=" + std::to_string(node.memory.value) +
                                   "; jobs need some");
  return {};
}

Result<void> EntityReader::add_nodes(const NodeDraft& draft, const std::string& names) {
  MR_TRY(const auto expanded, expand_hostlist(names));
  if (expanded.empty()) return fail(Errc::invalid, "names no node");
  const auto aligned = [&](const std::string& list, std::string_view what) -> Result<std::vector<std::string>> {
    if (list.empty()) return std::vector<std::string>{};
    MR_TRY(auto words, expand_hostlist(list));
    if (words.size() != 1 && words.size() != expanded.size())
      return fail(Errc::invalid, std::string{what} + " names " + std::to_string(words.size()) + " things for " +
                                     std::to_string(expanded.size()) + " nodes; one, or one for each, would be right");
    return words;
  };
  MR_TRY(const auto hosts, aligned(draft.host_names, "NodeHostname"));
  MR_TRY(const auto addresses, aligned(draft.addresses, "NodeAddr"));
  MR_TRY(const auto ports, aligned(draft.ports, "Port"));
  const auto pick = [](const std::vector<std::string>& words, std::size_t i) {
    return words[words.size() == 1 ? 0 : i];
  };
  for (std::size_t i = 0; i < expanded.size(); ++i) {
    ConfiguredNode node = draft.node;
    node.name = expanded[i];
    node.host_name = hosts.empty() ? node.name : pick(hosts, i);
    node.address = addresses.empty() ? node.host_name : pick(addresses, i);
    if (!ports.empty()) {
      const auto port = parse_integer(pick(ports, i));
      if (!port || *port < 1 || *port > 65535) return wrong_value(draft.ports, "a port, 1 to 65535");
      node.port = static_cast<std::uint16_t>(*port);
    }
    if (!node_index_.try_emplace(node.name, out_.nodes.size()).second)
      return fail(Errc::invalid, "node " + node.name + " was defined before; each node has one line");
    out_.nodes.push_back(std::move(node));
  }
  return {};
}

Result<void> EntityReader::take_partition(const ConfLine& line) {
  const std::string& name = line.pairs.front().value;
  PartitionDraft draft = partition_default_;
  draft.partition.name = name;
  draft.file = line.file;
  draft.line = line.line;
  for (const ConfPair& pair : std::span{line.pairs}.subspan(1)) {
    const auto row = std::ranges::find_if(
        partition_rows, [&](const PartitionKeyRow& r) { return equals_ignoring_case(r.name, pair.key); });
    if (row == std::end(partition_rows))
      remark(line, pair.key, out_.unknown, "unknown key of PartitionName");
    else {
      if (row->set != nullptr)
        MR_TRY_VOID(in_context(row->set(draft, pair.value), "PartitionName=" + name + " " + pair.key));
      if ((!row->built && !row->asks_nothing(pair.value)) || setter::has_later_mode(pair))
        remark(line, pair.key, out_.not_built, "not built yet");
    }
  }
  if (name == "DEFAULT") {
    partition_default_ = draft;
    return {};
  }
  for (const PartitionDraft& other : partitions_)
    if (other.partition.name == name)
      return fail(Errc::invalid,
                  "partition " + name + " was defined before, in " + other.file + ":" + std::to_string(other.line));
  partitions_.push_back(std::move(draft));
  return {};
}

Result<void> EntityReader::take_set(const ConfLine& line) {
  ConfiguredNodeSet set{line.pairs.front().value, {}, {}};
  for (const ConfPair& pair : line.pairs) {
    if (equals_ignoring_case(pair.key, "Feature")) set.feature = pair.value;
    if (equals_ignoring_case(pair.key, "Nodes")) set.nodes = pair.value;
  }
  if (set.feature.empty() && set.nodes.empty())
    return fail(Errc::invalid, "NodeSet=" + set.name + " needs Feature= or Nodes=");
  out_.node_sets.push_back(std::move(set));
  return {};
}

Result<void> EntityReader::take_down(const ConfLine& line) {
  down_.push_back(line);
  return {};
}

Result<std::vector<std::string>> EntityReader::resolve(const std::string& list) const {
  std::vector<std::string> out;
  std::set<std::string, std::less<>> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) out.push_back(name);
  };
  if (list.empty()) return out;
  MR_TRY(const auto words, expand_hostlist(list));
  for (const std::string& word : words) {
    const auto set = std::ranges::find(out_.node_sets, word, &ConfiguredNodeSet::name);
    if (word == "ALL") {
      for (const ConfiguredNode& node : out_.nodes) add(node.name);
    } else if (set != out_.node_sets.end()) {
      MR_TRY(const auto members, expand_hostlist(set->nodes));
      for (const std::string& name : members) {
        if (!node_index_.contains(name))
          return fail(Errc::invalid, "node " + name + " of NodeSet=" + word + " is not defined by any NodeName line");
        add(name);
      }
      for (const ConfiguredNode& node : out_.nodes)
        if (has_feature(node, set->feature)) add(node.name);
    } else if (node_index_.contains(word)) {
      add(word);
    } else {
      return fail(Errc::invalid, "node " + word + " is not defined by any NodeName line");
    }
  }
  return out;
}

void EntityReader::finish(std::vector<std::string>& errors) {
  for (ConfiguredNode& node : out_.nodes)
    if (node.port == 0) node.port = out_.agent_port;
  bool has_default = false;
  for (PartitionDraft& draft : partitions_) {
    const std::string where = draft.file + ":" + std::to_string(draft.line) + ": PartitionName=" + draft.partition.name;
    auto nodes = resolve(draft.nodes);
    if (!nodes) {
      errors.push_back(where + " Nodes: " + nodes.error().story);
      continue;
    }
    // The last one that says it is the default is.
    if (draft.partition.is_default && has_default)
      for (ConfiguredPartition& other : out_.partitions) other.is_default = false;
    has_default = has_default || draft.partition.is_default;
    draft.partition.nodes = std::move(*nodes);
    if (const auto words = expand_hostlist(draft.nodes))
      for (const std::string& word : *words) {
        draft.partition.all_nodes = draft.partition.all_nodes || word == "ALL";
        if (const auto set = std::ranges::find(out_.node_sets, word, &ConfiguredNodeSet::name);
            set != out_.node_sets.end() && !set->feature.empty())
          draft.partition.node_features.push_back(set->feature);
      }
    out_.partitions.push_back(std::move(draft.partition));
  }
  for (const ConfLine& line : down_) {
    N draft;
    draft.node.state = ConfiguredNodeState::down;
    for (const ConfPair& pair : line.pairs) {
      if (equals_ignoring_case(pair.key, "Reason")) draft.node.reason = pair.value;
      if (!equals_ignoring_case(pair.key, "State")) continue;
      if (const auto state = node_state(draft, pair.value); !state)
        errors.push_back(place(line) + ": DownNodes State: " + state.error().story);
    }
    const auto names = resolve(line.pairs.front().value);
    if (!names) errors.push_back(place(line) + ": DownNodes: " + names.error().story);
    if (!names) continue;
    for (const std::string& name : *names) {
      ConfiguredNode& node = out_.nodes[node_index_.find(name)->second];
      node.state = draft.node.state;
      node.reason = draft.node.reason;
    }
  }
}

}  // namespace millrace
