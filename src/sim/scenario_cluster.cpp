// src/sim/scenario_cluster.cpp - see scenario_cluster.h.
#include "sim/scenario_cluster.h"

#include <algorithm>
#include <optional>

#include "base/hostlist.h"
#include "base/text.h"
#include "core/model/gres_text.h"
#include "sim/scenario_programs.h"
#include "sim/scenario_requests.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;

Result<void> read_nodes(const Words& words, std::vector<NodeDef>& nodes) {
  const auto count = words.size() >= 5 ? parse_integer(words[1]) : std::nullopt;
  const auto cpus = words.size() >= 5 ? parse_integer(words[3]) : std::nullopt;
  if (!count || !cpus || words[2] != "x") return fail(Errc::invalid, "expected: nodes 2 x 4 cpus [1000 mb]");
  const bool sized = words.size() >= 7 && words[6] == "mb";
  NodeDef def;
  def.cpus = Cpus{*cpus};
  def.memory = Mebibytes{(sized ? parse_integer(words[5]) : std::nullopt).value_or(1'000'000)};
  for (std::size_t i = sized ? 7 : 5; i < words.size(); ++i) {
    MR_TRY(const bool known, read_node_word(words[i], def));
    if (!known) return fail(Errc::invalid, "unknown node key '" + words[i] + "'");
  }
  MR_TRY_VOID(settle_node(def));
  for (std::int64_t i = 0; i < *count; ++i) {
    def.name = "n" + std::to_string(nodes.size());
    nodes.push_back(def);
  }
  return {};
}

Result<void> read_partition(const Words& words, std::vector<PartitionDef>& partitions) {
  if (words.size() < 3) return fail(Errc::invalid, "expected: partition NAME NODES [key=value]");
  PartitionDef def;
  def.name = words[1];
  MR_TRY(def.nodes, expand_hostlist(words[2]));
  for (std::size_t i = 3; i < words.size(); ++i) {
    const auto parts = split(words[i], '=');
    const auto value = static_cast<std::uint32_t>(parse_integer(parts.back()).value_or(0));
    if (words[i] == "preempt=off")
      def.preempt_mode = PreemptMode::off;
    else if (words[i] == "preempt=cancel")
      def.preempt_mode = PreemptMode::cancel;
    else if (words[i] == "preempt=suspend")
      def.preempt_mode = PreemptMode::suspend;
    else if (parts[0] == "share" || parts[0] == "force") {
      def.sharing = parts[0] == "share" ? CpuSharing::on_request : CpuSharing::forced;
      def.share_max = value;
    } else if (parts[0] == "grace")
      def.grace_seconds = value;
    else if (parts[0] == "max_time")
      def.max_time_minutes = value;
    else if (parts[0] == "over_time")
      def.over_time_minutes = parts.back() == "unlimited" ? unlimited : value;
    else if (parts[0] == "max_cpus_per_node")
      def.max_cpus_per_node = value;
    else if (words[i] == "least_loaded")
      def.least_loaded = true;
    else if (parts[0] == "tier")
      def.priority_tier = value;
    else if (parts[0] == "max_nodes")
      def.max_nodes = value;
    else if (parts[0] == "factor")
      def.priority_job_factor = value;
    else if (parts[0] == "qos")
      def.qos = parts.back();
    else if (words[i] == "state=down")
      def.availability = Availability::down;
    else if (words[i] == "power_down_on_idle")
      def.power_down_on_idle = true;
    else if (words[i] == "never_suspend")
      def.never_suspend = true;
    else if (words[i] == "exclusive_user")
      def.exclusive_user = true;
    else if (words[i] == "reservation_only")
      def.require_reservation = true;
    else if (parts[0] == "suspend")
      def.suspend_seconds = value;
    else if (parts[0] == "resume")
      def.resume_timeout_seconds = value;
    else
      return fail(Errc::invalid, "unknown partition key '" + words[i] + "'");
  }
  partitions.push_back(std::move(def));
  return {};
}

std::uint32_t* count_named(const std::string& name, Policy& policy) {
  return name == "max_nodes"       ? &policy.max_nodes
         : name == "max_requeues"  ? &policy.max_requeues
         : name == "requeue_delay" ? &policy.requeue_delay_seconds
                                   : nullptr;
}

}  // namespace

Result<bool> read_cluster_line(const Words& words, ScenarioCluster cluster) {
  Policy& policy = cluster.policy;
  if (words[0] == "policy") {
    const auto schedule = words.size() > 1 ? find_schedule(words[1]) : std::nullopt;
    policy.backfill = schedule || (words.size() > 1 && words[1] == "backfill");
    policy.schedule = schedule.value_or(Schedule::conservative);
    policy.predict_run_times = schedule == Schedule::guarded;
  } else if (words[0] == "depth" && words.size() > 1) {
    cluster.depth = static_cast<std::uint32_t>(parse_integer(words[1]).value_or(500));
  } else if (words[0] == "preempt" && words.size() > 2) {
    policy.preempt_type = words[1] == "qos" ? PreemptType::qos : PreemptType::partition;
    policy.preempt_mode = words[2] == "requeue"   ? PreemptMode::requeue
                          : words[2] == "cancel"  ? PreemptMode::cancel
                          : words[2] == "suspend" ? PreemptMode::suspend
                                                  : PreemptMode::off;
    policy.gang = policy.gang || policy.preempt_mode == PreemptMode::suspend;
    if (words.size() > 3)
      policy.preempt_exempt_seconds = static_cast<std::uint32_t>(parse_integer(words[3]).value_or(0));
  } else if (std::uint32_t* count = count_named(words[0], policy); count && words.size() > 1) {
    *count = static_cast<std::uint32_t>(parse_integer(words[1]).value_or(0));
  } else if (words[0] == "requeue_exit" && words.size() > 1) {
    auto& codes = words.size() > 2 && words[2] == "hold" ? policy.requeue_exit_hold : policy.requeue_exit;
    codes.push_back(static_cast<std::uint32_t>(parse_integer(words[1]).value_or(0)));
  } else if (words[0] == "over_time" && words.size() > 1) {
    policy.over_time_minutes =
        words[1] == "unlimited" ? unlimited : static_cast<std::uint32_t>(parse_integer(words[1]).value_or(0));
  } else if (words[0] == "rules") {
    for (const std::string_view word : std::span{words}.subspan(1)) {
      if (word == "all_partitions")
        policy.all_partitions = true;
      else if (word == "require_time_limit")
        policy.require_time_limit = true;
      else if (word == "one_task_per_core")
        policy.one_task_per_core = true;
      else if (word == "least_loaded")
        policy.least_loaded = true;
      else
        return fail(Errc::invalid, "unknown rule '" + std::string{word} + "'");
    }
  } else if (words[0] == "kill_invalid_depend") {
    policy.kill_invalid_dependency = true;
  } else if (words[0] == "keep" && words.size() > 2) {
    policy.min_job_age_seconds = static_cast<std::uint32_t>(parse_integer(words[1]).value_or(300));
    policy.keep_ended_seconds = static_cast<std::uint32_t>(parse_integer(words[2]).value_or(0));
    policy.keep_ended_rows = words.size() > 3 ? static_cast<std::uint32_t>(parse_integer(words[3]).value_or(100)) : 100;
  } else if (words[0] == "power") {
    MR_TRY_VOID(read_power_line(words, policy, cluster.power));
  } else if (words[0] == "programs") {
    MR_TRY_VOID(read_programs_line(words, policy));
  } else if (words[0] == "gang") {
    policy.gang = true;
    if (words.size() > 1) policy.time_slice_seconds = static_cast<std::uint32_t>(parse_integer(words[1]).value_or(30));
  } else if (words[0] == "memory") {
    policy.memory_is_consumable = words.size() > 1 && words[1] == "on";
  } else if (words[0] == "unit" && words.size() > 1) {
    policy.cpu_unit = words[1] == "core"     ? CpuUnit::core
                      : words[1] == "socket" ? CpuUnit::socket
                      : words[1] == "node"   ? CpuUnit::node
                                             : CpuUnit::cpu;
  } else if (words[0] == "licences" && words.size() > 1) {
    MR_TRY(LicenceList list, parse_licences(words[1]));
    std::ranges::sort(list.asks, {}, &LicenceAsk::name);
    policy.licences = std::move(list.asks);
  } else if ((words[0] == "block" || words[0] == "switch") && words.size() > 2) {
    cluster.topology.blocks = cluster.topology.blocks || words[0] == "block";
    MR_TRY_VOID(read_switch(words[1], words[2], cluster.topology));
  } else if (words[0] == "nodes") {
    MR_TRY_VOID(read_nodes(words, cluster.nodes));
  } else if (words[0] == "partition") {
    MR_TRY_VOID(read_partition(words, cluster.partitions));
  } else {
    return false;
  }
  return true;
}

}  // namespace millrace
