// src/sim/scenario_requests.cpp - see scenario_requests.h.
#include "sim/scenario_requests.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "core/model/gres_text.h"
#include "core/model/withheld.h"

namespace millrace {

static NodeDef cores_settled(NodeDef def) {
  if (def.sockets * def.cores_per_socket * def.threads_per_core > 1)
    def.cpus = Cpus{static_cast<std::int64_t>(def.sockets) * def.cores_per_socket * def.threads_per_core};
  return def;
}

Result<bool> read_node_word(std::string_view word, NodeDef& def) {
  const std::size_t equals = word.find('=');
  if (word == "cloud" || word == "future") {
    def.kind = word == "cloud" ? NodeKind::cloud : NodeKind::future;
    return true;
  }
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  const auto number = parse_integer(value).value_or(0);
  const auto count = static_cast<std::uint32_t>(number);
  if (key == "gres") {
    def.gres = value;
    MR_TRY(def.kinds, parse_node_gres(value));
  } else if (key == "near") {  // near=0,0,1,1: the socket of each device of the first kind
    for (const std::string_view socket : split(value, ','))
      if (!def.kinds.empty()) def.kinds.front().near.push_back(1ULL << parse_integer(socket).value_or(0));
  } else if (key == "features")
    def.features = value;
  else if (key == "sockets")
    def.sockets = count;
  else if (key == "cores")
    def.cores_per_socket = count;
  else if (key == "threads")
    def.threads_per_core = count;
  else if (key == "tmp")
    def.tmp_disk = Mebibytes{number};
  else if (key == "weight")
    def.weight = count;
  else if (key == "suspend")
    def.suspend_seconds = count;
  else if (key == "keep_up")
    def.keep_up = count;
  else if (key == "keep_cores") {
    MR_TRY(def.withheld_cpus, last_cores(cores_settled(def), count));
  } else if (key == "keep_memory")
    def.withheld_memory = Mebibytes{number};
  else
    return false;
  return true;
}

bool read_node_change(std::string_view word, NodeModified& change, Time now) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "resume_after")
    change.resume_at = value == "never" ? Time{} : now + seconds(parse_integer(value).value_or(0));
  else if (key == "features")
    change.features = value;
  else if (key == "active")
    change.active_features = value;
  else if (key == "weight")
    change.weight = static_cast<std::uint32_t>(parse_integer(value).value_or(0));
  else
    return false;
  return true;
}

Result<void> settle_node(NodeDef& def) {
  def = cores_settled(def);
  return settle_kinds(def.kinds);
}

bool read_wish(std::string_view key, const std::string& value, ResourceWishes& wishes) {
  const auto number = parse_integer(value).value_or(0);
  const auto count = static_cast<std::uint32_t>(number);
  struct TextRow {
    std::string_view key;
    std::optional<std::string> ResourceWishes::* field;
  };
  constexpr TextRow texts[] = {
      {"gres", &ResourceWishes::gres},
      {"gpus", &ResourceWishes::gpus},
      {"gpus_node", &ResourceWishes::gpus_per_node},
      {"gpus_task", &ResourceWishes::gpus_per_task},
      {"gpus_socket", &ResourceWishes::gpus_per_socket},
      {"constraint", &ResourceWishes::features},
      {"prefer", &ResourceWishes::prefer},
      {"licences", &ResourceWishes::licences},
      {"dist", &ResourceWishes::distribution},
      {"gres_flags", &ResourceWishes::gres_flags},
      {"reservation", &ResourceWishes::reservation},
      {"task_nodes", &ResourceWishes::task_nodes},
      {"tres_task", &ResourceWishes::tres_per_task},
  };
  struct CountRow {
    std::string_view key;
    std::optional<std::uint32_t> ResourceWishes::* field;
  };
  constexpr CountRow counts[] = {
      {"cpus_gpu", &ResourceWishes::cpus_per_gpu},    {"per_socket", &ResourceWishes::tasks_per_socket},
      {"per_core", &ResourceWishes::tasks_per_core},  {"per_gpu", &ResourceWishes::tasks_per_gpu},
      {"sockets", &ResourceWishes::sockets_per_node}, {"cores", &ResourceWishes::cores_per_socket},
      {"threads", &ResourceWishes::threads_per_core}, {"switches", &ResourceWishes::switches},
      {"segment", &ResourceWishes::segment},
  };
  for (const TextRow& row : texts)
    if (row.key == key) return (wishes.*row.field = value), true;
  for (const CountRow& row : counts)
    if (row.key == key) return (wishes.*row.field = count), true;
  if (key == "deadline")
    wishes.deadline = Time{(number + 1'000'000) * 1'000'000};
  else if (key == "time_min")
    wishes.time_min_minutes = static_cast<std::uint32_t>((number + 59) / 60);
  else if (key == "mem_gpu")
    wishes.memory_per_gpu = number;
  else if (key == "tmp")
    wishes.tmp_disk = number;
  else if (key == "contiguous")
    wishes.contiguous = true;
  else if (key == "use_min_nodes")
    wishes.use_min_nodes = true;
  else if (key == "spread_segments")
    wishes.spread_segments = true;
  else if (key == "consolidate_segments")
    wishes.consolidate_segments = true;
  else if (key == "spread")
    wishes.spread_job = true;
  else if (key == "exclusive_user")
    wishes.exclusive_user = true;
  else if (key == "switches_wait")
    wishes.switches_wait_seconds = count;
  else
    return false;
  return true;
}

Result<Reserve> read_reservation(std::span<const std::string> words, Time now) {
  Reserve ask;
  ask.name = words[1];
  for (const std::string& word : words.subspan(2)) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const std::int64_t number = parse_integer(value).value_or(0);
    if (key == "start")
      ask.start = at_second(number);
    else if (key == "in")
      ask.start = now + seconds(number);
    else if (key == "end")
      ask.end = at_second(number);
    else if (key == "for")
      ask.duration = seconds(number);
    else if (key == "nodes")
      ask.nodes = value;
    else if (key == "count")
      ask.node_count = static_cast<std::uint32_t>(number);
    else if (key == "partition")
      ask.partition = value;
    else if (key == "users")
      ask.users = value;
    else if (key == "accounts")
      ask.accounts = value;
    else if (key == "flags")
      ask.flags = value;
    else if (key == "licences")
      ask.licences = value;
    else if (key == "features")
      ask.features = value;
    else if (key == "delay")
      ask.max_start_delay_seconds = static_cast<std::uint32_t>(number);
    else if (key == "nodes+")
      ask.nodes = value, ask.nodes_op = '+';
    else if (key == "nodes-")
      ask.nodes = value, ask.nodes_op = '-';
    else if (key == "users+")
      ask.users = value, ask.users_op = '+';
    else if (key == "users-")
      ask.users = value, ask.users_op = '-';
    else if (key == "flags-")
      ask.flags = value, ask.flags_op = '-';
    else if (key == "count+")
      ask.node_count_change = static_cast<std::int32_t>(number);
    else if (key == "count-")
      ask.node_count_change = -static_cast<std::int32_t>(number);
    else if (key == "skip")
      ask.skip = true;
    else
      return fail(Errc::invalid, "unknown reservation key '" + key + "'");
  }
  return ask;
}

Result<void> read_switch(const std::string& name, const std::string& below, Topology& topology) {
  MR_TRY(auto names, expand_hostlist(below));
  SwitchDef def;
  def.name = name;
  const auto is_switch = [&](const std::string& word) {
    return std::ranges::find(topology.switches, word, &SwitchDef::name) != topology.switches.end();
  };
  (std::ranges::all_of(names, is_switch) ? def.switches : def.nodes) = std::move(names);
  topology.switches.push_back(std::move(def));
  return {};
}

}  // namespace millrace
