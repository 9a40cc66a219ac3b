// src/controller/loop/config_facts.cpp - see config_facts.h.
#include "controller/loop/config_facts.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/partition_words.h"
#include "config/slurm_conf.h"

namespace millrace {
namespace {

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> out;
  if (text.empty() || equals_ignoring_case(text, "ALL")) return out;
  for (const std::string_view word : split(text, ','))
    if (!trim(word).empty()) out.emplace_back(trim(word));
  return out;
}

NodeDef to_fact(const ConfiguredNode& from) {
  NodeDef to;
  to.name = from.name;
  to.address = from.address;
  to.host_name = from.host_name;
  to.features = from.features;
  to.gres = from.gres;
  to.port = from.port;
  to.cpus = Cpus{from.cpus};
  to.boards = from.boards;
  to.sockets = from.sockets;
  to.cores_per_socket = from.cores_per_socket;
  to.threads_per_core = from.threads_per_core;
  to.memory = from.memory;
  to.tmp_disk = from.tmp_disk;
  to.weight = from.weight;
  to.kinds = from.kinds;
  to.kind = from.state == ConfiguredNodeState::cloud    ? NodeKind::cloud
            : from.state == ConfiguredNodeState::future ? NodeKind::future
                                                        : NodeKind::normal;
  to.suspend_seconds = from.suspend_seconds;
  to.withheld_cpus = from.withheld_cpus;
  to.withheld_memory = from.withheld_memory;
  return to;
}

PartitionDef to_fact(const ConfiguredPartition& from, const GroupLookup& group) {
  PartitionDef to;
  to.name = from.name;
  to.nodes = from.nodes;
  to.allow_groups = list_of(from.allow_groups);
  for (const std::string& name : to.allow_groups)
    if (const auto gid = group(name)) to.allow_gids.push_back(*gid);
  to.allow_accounts = list_of(from.allow_accounts);
  to.deny_accounts = list_of(from.deny_accounts);
  to.is_default = from.is_default;
  to.root_only = from.root_only;
  to.hidden = from.hidden;
  to.exclusive = from.sharing == Sharing::exclusive;
  to.disable_root_jobs = from.disable_root_jobs;
  to.availability = static_cast<Availability>(from.state);
  to.max_time_minutes = from.max_time_minutes.value_or(unlimited);
  to.default_time_minutes = from.default_time_minutes.value_or(0);
  to.max_nodes = from.max_nodes;
  to.min_nodes = from.min_nodes;
  to.sharing = from.sharing == Sharing::yes     ? CpuSharing::on_request
               : from.sharing == Sharing::force ? CpuSharing::forced
                                                : CpuSharing::no;
  if (to.sharing != CpuSharing::no) to.share_max = from.share_count;
  to.priority_tier = from.priority_tier;
  to.preempt_mode = from.preempt_mode;
  to.grace_seconds = from.grace_seconds;
  to.priority_job_factor = from.priority_job_factor;
  to.default_memory_per_cpu = from.default_memory_per_cpu;
  to.default_memory_per_node = from.default_memory_per_node;
  to.max_memory_per_cpu = from.max_memory_per_cpu;
  to.max_memory_per_node = from.max_memory_per_node;
  to.qos = lower(from.qos);
  for (const std::string& name : list_of(from.allow_qos)) to.allow_qos.push_back(lower(name));
  for (const std::string& name : list_of(from.deny_qos)) to.deny_qos.push_back(lower(name));
  to.billing_weights = from.billing_weights;
  to.all_nodes = from.all_nodes;
  to.node_features = from.node_features;
  to.suspend_seconds = from.suspend_seconds;
  to.suspend_timeout_seconds = from.suspend_timeout_seconds;
  to.resume_timeout_seconds = from.resume_timeout_seconds;
  to.power_down_on_idle = from.power_down_on_idle;
  to.exclusive_user = from.exclusive_user;
  to.require_reservation = from.require_reservation;
  if (!equals_ignoring_case(from.alloc_nodes, "ALL"))
    if (auto hosts = expand_hostlist(from.alloc_nodes)) to.submit_hosts = *std::move(hosts);
  to.default_memory_per_gpu = from.default_memory_per_gpu.value;
  to.default_cpus_per_gpu = from.default_cpus_per_gpu;
  to.over_time_minutes = from.over_time_minutes;
  to.max_cpus_per_node = from.max_cpus_per_node;
  to.least_loaded = from.least_loaded;
  return to;
}

std::string words_of(const std::vector<std::string>& list, std::string_view for_none) {
  std::string out;
  for (const std::string& word : list) out += (out.empty() ? "" : ",") + word;
  return list.empty() ? std::string{for_none} : out;
}

// The other way, so that a change begins with what is there. Every field of to_fact is here (config_facts_test holds
// them together).
ConfiguredPartition from_fact(const PartitionDef& from) {
  ConfiguredPartition to;
  to.name = from.name;
  to.nodes = from.nodes;
  to.allow_groups = words_of(from.allow_groups, "ALL");
  to.allow_accounts = words_of(from.allow_accounts, "ALL");
  to.deny_accounts = words_of(from.deny_accounts, "");
  to.is_default = from.is_default;
  to.root_only = from.root_only;
  to.hidden = from.hidden;
  to.disable_root_jobs = from.disable_root_jobs;
  to.state = static_cast<ConfiguredPartitionState>(from.availability);
  if (from.max_time_minutes != unlimited) to.max_time_minutes = from.max_time_minutes;
  if (from.default_time_minutes != 0) to.default_time_minutes = from.default_time_minutes;
  to.max_nodes = from.max_nodes;
  to.min_nodes = from.min_nodes;
  to.sharing = from.exclusive                           ? Sharing::exclusive
               : from.sharing == CpuSharing::on_request ? Sharing::yes
               : from.sharing == CpuSharing::forced     ? Sharing::force
                                                        : Sharing::no;
  if (from.sharing != CpuSharing::no) to.share_count = from.share_max;
  to.priority_tier = from.priority_tier;
  to.preempt_mode = from.preempt_mode;
  to.grace_seconds = from.grace_seconds;
  to.priority_job_factor = from.priority_job_factor;
  to.default_memory_per_cpu = from.default_memory_per_cpu;
  to.default_memory_per_node = from.default_memory_per_node;
  to.max_memory_per_cpu = from.max_memory_per_cpu;
  to.max_memory_per_node = from.max_memory_per_node;
  to.qos = from.qos;
  to.allow_qos = words_of(from.allow_qos, "ALL");
  to.deny_qos = words_of(from.deny_qos, "");
  to.billing_weights = from.billing_weights;
  to.all_nodes = from.all_nodes;
  to.node_features = from.node_features;
  to.suspend_seconds = from.suspend_seconds;
  to.suspend_timeout_seconds = from.suspend_timeout_seconds;
  to.resume_timeout_seconds = from.resume_timeout_seconds;
  to.power_down_on_idle = from.power_down_on_idle;
  to.exclusive_user = from.exclusive_user;
  to.require_reservation = from.require_reservation;
  to.alloc_nodes = words_of(from.submit_hosts, "ALL");
  to.default_memory_per_gpu = Mebibytes{from.default_memory_per_gpu};
  to.default_cpus_per_gpu = from.default_cpus_per_gpu;
  to.over_time_minutes = from.over_time_minutes;
  to.max_cpus_per_node = from.max_cpus_per_node;
  to.least_loaded = from.least_loaded;
  return to;
}

CpuUnit to_fact(ConsumableUnit unit) {
  switch (unit) {
    case ConsumableUnit::cpu:
      return CpuUnit::cpu;
    case ConsumableUnit::core:
      return CpuUnit::core;
    case ConsumableUnit::socket:
      return CpuUnit::socket;
    case ConsumableUnit::whole_node:
      return CpuUnit::node;
  }
  return CpuUnit::cpu;
}

// Power saving: what holds for all, and who is excepted.
void add_power(const PowerSettings& from, ClusterConfigured& facts) {
  Policy& policy = facts.policy;
  policy.power.saving = !from.suspend_program.empty() && !from.resume_program.empty();
  policy.power.suspend_seconds = from.suspend_seconds;
  policy.power.suspend_timeout_seconds = from.suspend_timeout_seconds;
  policy.power.suspend_rate = from.suspend_rate;
  policy.power.resume_rate = from.resume_rate;
  policy.power.suspend_except = from.except_states;
  policy.power.show_cloud = from.show_cloud;
  for (const KeepUp& group : from.keep_up) {
    policy.power.keep_up.push_back(group.count);
    for (NodeDef& node : facts.nodes)
      if (node.keep_up == 0 && std::ranges::find(group.nodes, node.name) != group.nodes.end())
        node.keep_up = static_cast<std::uint32_t>(policy.power.keep_up.size());
  }
  for (PartitionDef& partition : facts.partitions)
    partition.never_suspend = std::ranges::find(from.except_partitions, partition.name) != from.except_partitions.end();
}

std::uint32_t in_seconds(Duration duration) { return static_cast<std::uint32_t>(duration.value / 1'000'000); }

}  // namespace

ClusterConfigured to_facts(const Configuration& configuration, const GroupLookup& group) {
  ClusterConfigured facts;
  for (const ConfiguredNode& node : configuration.nodes) facts.nodes.push_back(to_fact(node));
  for (const ConfiguredPartition& partition : configuration.partitions)
    facts.partitions.push_back(to_fact(partition, group));
  facts.keep = configuration.keep_partitions;
  if (configuration.disable_root_jobs)
    for (PartitionDef& partition : facts.partitions) partition.disable_root_jobs = true;
  Policy& policy = facts.policy;
  policy.first_job_id = configuration.first_job_id;
  policy.max_job_id = configuration.max_job_id;
  policy.max_job_count = configuration.max_job_count;
  policy.max_array_size = configuration.max_array_size;
  policy.kill_wait_seconds = in_seconds(configuration.kill_wait);
  policy.min_job_age_seconds = in_seconds(configuration.min_job_age);
  policy.keep_ended_seconds = in_seconds(configuration.keep_ended);
  policy.keep_ended_rows = configuration.keep_ended_rows;
  policy.requeue_delay_seconds = in_seconds(configuration.scheduler.requeue_delay);
  policy.max_script_bytes = static_cast<std::uint32_t>(configuration.scheduler.script_size_max);
  policy.return_to_service = configuration.return_to_service;
  const NodeLifeSettings& life = configuration.node_life;
  policy.node_programs = !life.prolog.empty() || !life.epilog.empty();
  policy.job_prolog = !life.controller_prolog.empty();
  policy.job_epilog = !life.controller_epilog.empty();
  policy.requeue_on_prolog_failure = life.requeue_on_prolog_failure;
  policy.hold_on_prolog_failure = life.hold_on_prolog_failure;
  policy.config_overrides = life.config_overrides;
  policy.resume_timeout_seconds = in_seconds(life.resume_timeout);
  add_power(configuration.power, facts);
  policy.max_nodes = std::max(configuration.max_node_count, static_cast<std::uint32_t>(facts.nodes.size()));
  policy.job_requeue = configuration.job_requeue;
  policy.memory_is_consumable = configuration.memory_is_consumable;
  policy.cpu_unit = to_fact(configuration.consumable);
  policy.licences = configuration.licences;
  facts.topology = configuration.topology;
  policy.backfill = configuration.backfill;
  policy.preempt_type = configuration.preempt_type;
  policy.preempt_mode = configuration.preempt_mode;
  policy.gang = configuration.gang;
  policy.time_slice_seconds = std::max(in_seconds(configuration.time_slice), 1u);
  policy.preempt_exempt_seconds = in_seconds(configuration.preempt_exempt);
  policy.schedule = configuration.scheduler.schedule;
  policy.predict_run_times = configuration.scheduler.predict_run_times;
  policy.basic_priority = !configuration.multifactor_priority;
  policy.priority = configuration.priority;
  policy.enforce = configuration.enforce;
  policy.tres = configuration.tres;
  const auto enforce = configuration.given.find("enforcepartlimits");
  policy.enforce_partition_limits =
      enforce != configuration.given.end() && !equals_ignoring_case(enforce->second, "NO") && !enforce->second.empty();
  policy.enforce_every_partition = policy.enforce_partition_limits && !equals_ignoring_case(enforce->second, "ANY");
  policy.kill_invalid_dependency = configuration.kill_invalid_dependency;
  policy.over_time_minutes = configuration.over_time_minutes;
  policy.least_loaded = configuration.least_loaded;
  policy.one_task_per_core = configuration.one_task_per_core;
  policy.enforce_gres_binding = configuration.enforce_gres_binding;
  policy.require_time_limit = configuration.require_time_limit;
  policy.all_partitions = configuration.all_partitions;
  policy.max_requeues = configuration.max_batch_requeue;
  policy.private_data = configuration.private_data;
  policy.track_wckeys = configuration.track_wckeys || (configuration.enforce & enforce_wckeys) != 0;
  policy.store_flags = configuration.store_flags;
  policy.requeue_exit = configuration.requeue_exit;
  policy.requeue_exit_hold = configuration.requeue_exit_hold;
  policy.default_memory_per_gpu = configuration.default_memory_per_gpu.value;
  policy.default_cpus_per_gpu = configuration.default_cpus_per_gpu;
  policy.default_memory_per_cpu = configuration.default_memory_per_cpu;
  policy.default_memory_per_node = configuration.default_memory_per_node;
  policy.max_memory_per_cpu = configuration.max_memory_per_cpu;
  policy.max_memory_per_node = configuration.max_memory_per_node;
  return facts;
}

// Which nodes a list means now: names, node sets and ALL.
static Result<void> add_nodes(const State& state, const std::vector<ConfiguredNodeSet>& sets, const std::string& list,
                              ConfiguredPartition& to) {
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(to.nodes, name) == to.nodes.end()) to.nodes.push_back(name);
  };
  if (list.empty()) return {};
  MR_TRY(const auto words, expand_hostlist(list));
  for (const std::string& word : words) {
    const auto set = std::ranges::find(sets, word, &ConfiguredNodeSet::name);
    if (word == "ALL") to.all_nodes = true;
    if (set != sets.end() && !set->feature.empty()) to.node_features.push_back(set->feature);
    if (word != "ALL" && set == sets.end()) add(word);
    if (set != sets.end() && !set->nodes.empty()) {
      MR_TRY(const auto members, expand_hostlist(set->nodes));
      for (const std::string& name : members) add(name);
    }
    for (const auto& [index, node] : state.nodes) {
      const auto features = split(node->def->features, ',');
      const bool has_feature = set != sets.end() && !set->feature.empty() &&
                               std::ranges::find(features, std::string_view{set->feature}) != features.end();
      if (node->configured && (word == "ALL" || has_feature)) add(node->def->name);
    }
  }
  return {};
}

Result<PartitionDef> partition_from_words(const State& state, const std::string& name,
                                          const std::vector<std::string>& words, const SitePartitions& site) {
  const auto known = state.find_partition(name);
  ConfiguredPartition partition;
  if (known)
    partition = from_fact(state.partition(*known).def);
  else
    partition.disable_root_jobs = site.disable_root_jobs;
  partition.name = name;
  for (const std::string& text : words) {
    MR_TRY(const PartitionWord word, read_partition_word(text));
    if (word.key != "Nodes") {
      MR_TRY_VOID(set_partition_word(partition, word));
      continue;
    }
    if (word.op == '-') {
      // Those that came by themselves count as named from now on.
      if (known)
        for (const NodeIndex index : state.partition(*known).nodes)
          MR_TRY_VOID(add_nodes(state, {}, state.node(index).def->name, partition));
      ConfiguredPartition leaving;
      MR_TRY_VOID(add_nodes(state, site.node_sets, word.value, leaving));
      for (const std::string& each : leaving.nodes)
        if (std::erase(partition.nodes, each) == 0)
          return fail(Errc::invalid, "node " + each + " is not in partition " + name);
    }
    if (word.op != '+') partition.all_nodes = false, partition.node_features.clear();
    if (word.op == '=') partition.nodes.clear();
    if (word.op != '-') MR_TRY_VOID(add_nodes(state, site.node_sets, word.value, partition));
  }
  PartitionDef def = to_fact(partition, site.group);
  if (known) def.never_suspend = state.partition(*known).def.never_suspend;
  return def;
}

Result<std::vector<NodeDef>> nodes_from_words(const std::string& names, const std::string& words) {
  MR_TRY(const auto nodes, configured_nodes(names, words));
  std::vector<NodeDef> out;
  for (const ConfiguredNode& node : nodes) out.push_back(to_fact(node));
  return out;
}

}  // namespace millrace
