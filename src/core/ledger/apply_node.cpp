// src/core/ledger/apply_node.cpp - see apply_node.h.
#include "core/ledger/apply_node.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "core/ledger/apply_clock.h"
#include "core/ledger/apply_partition.h"
#include "core/ledger/apply_power.h"
#include "core/model/node_use.h"

namespace millrace {
namespace {

// The kinds of a node changed under the jobs on it: what they hold is found again by name.
void move_shares(State& state, NodeIndex index, const NodeDef& before, const NodeDef& after) {
  const std::vector<JobKey> jobs = state.node(index).jobs;
  NodeUse use;
  std::array<std::int64_t, gres_kinds_max> used{};
  for (const JobKey key : jobs) {
    const bool holds_cpus = state.job(key).holds_cpus();
    Placement& placement = state.edit_job(key).placement.edit();
    for (NodeShare& share : placement.shares) {
      if (share.node != index || share.released || !share.detail) continue;
      share.detail = SharedValue(moved(*share.detail, before, after));
      if (holds_cpus) add_cpus(use, share);
      add_devices(use, after, share);
      for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) used[slot] += share.detail->gres[slot];
    }
  }
  Node& node = state.edit_node(index);
  node.use = std::move(use);
  node.used_gres = used;
}

// What the configuration says of a node, and what the node itself said: where its devices are, near to what, and which
// are out of order.
NodeDef completed(NodeDef def, const Node& node) {
  for (NodeGres& kind : def.kinds) {
    const auto is_same = [&](const auto& other) { return other.name == kind.name && other.type == kind.type; };
    if (node.inventory)
      if (const auto found = std::ranges::find_if(node.inventory->devices, is_same);
          found != node.inventory->devices.end()) {
        kind.files = found->files;
        kind.near =
            static_cast<std::int64_t>(found->near.size()) == kind.count ? found->near : std::vector<std::uint64_t>{};
        kind.links = static_cast<std::int64_t>(found->links.size()) == kind.count * kind.count
                         ? found->links
                         : std::vector<std::uint32_t>{};
        kind.countable_only = false;
      }
    kind.out_of_order = 0;
    for (const DeviceTrouble& trouble : node.troubles)
      if (is_same(trouble) && trouble.device < kind.count && trouble.device < devices_max)
        kind.out_of_order |= 1ULL << trouble.device;
  }
  return def;
}

void complete(State& state, NodeIndex index, const NodeDef& configured) {
  const Node& now = state.node(index);
  NodeDef def = completed(configured, now);
  if (*now.def == def) return;
  const SharedValue<NodeDef> before = now.def;
  state.edit_node(index).def = SharedValue(std::move(def));
  const NodeDef& after = *state.node(index).def;
  if (before->kinds != after.kinds && !now.jobs.empty()) move_shares(state, index, *before, after);
}

// Lighter ones first, of those the ones that are on, then the ones that will be soon.
void sort_by_weight(const State& state, Partition& partition) {
  const auto rank = [](const Node& node) { return node.is_on() ? 0 : node.power.state == Power::coming_up ? 1 : 2; };
  std::ranges::sort(partition.nodes, {}, [&](NodeIndex index) {
    const Node& node = state.node(index);
    return std::tuple{node.def->weight, rank(node), index};
  });
}

void set_resume(State& state, NodeIndex index, Time at) {
  const Time before = state.node(index).resume_at;
  if (before == at) return;
  const auto key = [&](Time due) { return DeadlineKey{due, JobKey{index.value}, DeadlineKind::node_resume}; };
  if (before.is_set()) state.deadlines.erase(key(before));
  state.edit_node(index).resume_at = at;
  if (at.is_set()) state.deadlines.set(key(at), {});
}

bool has_one_of(const NodeDef& def, const std::vector<std::string>& features) {
  const auto has = split(def.features, ',');
  return std::ranges::any_of(features, [&](const std::string& feature) {
    return std::ranges::find(has, std::string_view{feature}) != has.end();
  });
}

// One that is in a cloud is there for jobs from the beginning, only not powered up.
void begin_powered_down(Node& node) {
  node.condition = NodeCondition::up;
  node.power = {.state = Power::off};
}

// What it is has changed in the configuration.
void change_kind(Node& node, NodeKind before) {
  const NodeKind now = node.def->kind;
  if (now == NodeKind::cloud && !node.inventory && node.condition == NodeCondition::unknown) begin_powered_down(node);
  if (now == NodeKind::future && before != NodeKind::future && node.jobs.empty()) {
    node.future = true;
    node.power = {};
    node.condition = NodeCondition::unknown;
  }
  if (now != NodeKind::future) node.future = false;
}

}  // namespace

bool is_out_of_service(const Node& node) {
  return node.configured && !node.future && (node.condition == NodeCondition::down || node.drain || node.fail);
}

void forget_resume(State& state, NodeIndex index) {
  if (!is_out_of_service(state.node(index))) set_resume(state, index, Time{});
}

void sort_partitions(State& state) {
  for (Partition& partition : state.partitions.edit()) sort_by_weight(state, partition);
}

void fill_partitions(State& state) {
  std::map<std::string, NodeIndex, std::less<>> known;
  for (const auto& [index, node] : state.nodes)
    if (node->configured) known.emplace(node->def->name, index);
  for (Partition& partition : state.partitions.edit()) {
    if (!partition.configured) continue;
    partition.nodes.clear();
    for (const std::string& name : partition.def.nodes)
      if (const auto found = known.find(name); found != known.end() && !state.node(found->second).future)
        partition.nodes.push_back(found->second);
    for (const auto& [index, node] : state.nodes) {
      const bool taken = node->configured && node->def->kind == NodeKind::dynamic &&
                         (partition.def.all_nodes || has_one_of(*node->def, partition.def.node_features));
      if (taken && std::ranges::find(partition.nodes, index) == partition.nodes.end()) partition.nodes.push_back(index);
    }
    sort_by_weight(state, partition);
  }
}

// With another MinJobAge what has ended is forgotten at other times.
static void renew_forget_times(State& state) {
  std::vector<DeadlineKey> old;
  for (const auto& [due, nothing] : state.deadlines)
    if (due.kind == DeadlineKind::forget) old.push_back(due);
  for (const DeadlineKey& due : old) {
    state.deadlines.erase(due);
    state.deadlines.set({forget_time(state, state.job(due.key)), due.key, DeadlineKind::forget}, {});
  }
}

// Nodes and partitions keep their index for as long as their name is known: jobs and history refer to it.
void configure(State& state, const ClusterConfigured& e) {
  std::map<std::string, NodeIndex, std::less<>> known;
  std::uint32_t next = 0;
  std::vector<NodeIndex> all;
  for (const auto& [index, node] : state.nodes) {
    known.emplace(node->def->name, index);
    all.push_back(index);
    next = index.value + 1;
  }
  for (const NodeIndex index : all)
    if (const Node& node = state.node(index); node.configured && node.def->kind != NodeKind::dynamic)
      state.edit_node(index).configured = false;
  for (const NodeDef& def : e.nodes) {
    const auto it = known.find(def.name);
    if (it == known.end()) {
      Node node;
      node.def = SharedValue(def);
      node.future = def.kind == NodeKind::future;
      if (def.kind == NodeKind::cloud) begin_powered_down(node);
      known.emplace(def.name, NodeIndex{next});
      state.nodes.set(NodeIndex{next}, SharedValue(std::move(node)));
      ++next;
    } else {
      state.edit_node(it->second).configured = true;
      const NodeKind before = state.node(it->second).def->kind;
      complete(state, it->second, def);
      change_kind(state.edit_node(it->second), before);
    }
  }
  for (const NodeIndex index : all) forget_resume(state, index);
  configure_partitions(state, e);
  fill_partitions(state);
  const bool other_age = e.policy.min_job_age_seconds != state.policy->min_job_age_seconds;
  state.policy = SharedValue(e.policy);
  if (other_age) renew_forget_times(state);
  if (!(state.topology->facts() == e.topology) || !e.topology.empty())
    state.topology = SharedValue(SwitchTree(e.topology, known));
  sort_queue(state);
}

namespace {

void drain_for(Node& node, const std::string& problem, Time at) {
  if (problem.empty() || node.drain) return;
  node.drain = true;
  node.reason = problem;
  node.reason_at = at;
  node.reason_by = UserId{0};
}

void end_reboot(Node& node) {
  node.reboot = Reboot::none;
  node.after_reboot = AfterReboot::as_before;
  node.drained_for_reboot = false;
  node.reboot_due = Time{};
}

// It was told to boot, and did.
void come_back(State& state, Node& node, const NodeRegistered& e) {
  const AfterReboot then = node.after_reboot;
  const bool was_down = node.condition == NodeCondition::down;
  const bool stays_down =
      then == AfterReboot::down || (then == AfterReboot::as_before && was_down && !node.down_for_silence);
  end_reboot(node);
  node.condition = stays_down ? NodeCondition::down : NodeCondition::up;
  node.down_for_silence = false;
  if (then == AfterReboot::resume) node.drain = node.fail = false;
  if (!stays_down && !node.drain && !node.fail) node.reason.clear();
  drain_for(node, e.problem, e.at);
  for (const JobKey key : std::vector(node.jobs)) note_boot(state, key, e.at);
}

// An agent that was started says what its command line told it; until the next start others may say otherwise.
void take_words_of_agent(Node& node, const NodeRegistered& e) {
  const bool same =
      node.inventory && node.boot_id == e.boot_id && node.inventory->agent_started_at == e.inventory.agent_started_at;
  if (same) return;
  const auto take = [](std::string& to, const std::string& said) {
    if (!said.empty()) to = said;
  };
  take(node.instance_id, e.inventory.instance_id);
  take(node.instance_type, e.inventory.instance_type);
  take(node.extra, e.inventory.extra);
}

}  // namespace

void register_node(State& state, const NodeRegistered& e) {
  take_words_of_agent(state.edit_node(e.node), e);
  if (!e.spool_id.empty()) state.edit_node(e.node).spool_id = e.spool_id;
  if (register_without_power(state, e)) {
    complete(state, e.node, *state.node(e.node).def);
    return drain_for(state.edit_node(e.node), e.problem, e.at);
  }
  Node& node = state.edit_node(e.node);
  const bool rebooted = !node.boot_id.empty() && node.boot_id != e.boot_id;
  if (node.condition != NodeCondition::up && state.policy->power.saving)
    node.last_busy = e.at;  // from now on it is idle
  const std::uint32_t rule = state.policy->return_to_service;
  begin_boot(node, e.boot_id);
  node.inventory = SharedValue(e.inventory);
  complete(state, e.node, *node.def);
  if (rebooted && node.reboot == Reboot::issued) return come_back(state, node, e);
  const bool was_down = node.condition == NodeCondition::down;
  if (!was_down && rebooted && rule != 2) {
    node.condition = NodeCondition::down;
    node.down_for_silence = false;
    node.reason = "Node unexpectedly rebooted";
    node.reason_at = e.at;
    node.reason_by = UserId{0};
  } else if (!was_down || rule == 2 || (rule == 1 && node.down_for_silence && !rebooted)) {
    node.condition = NodeCondition::up;
    node.down_for_silence = false;
    if (was_down && !node.drain && !node.fail) node.reason.clear();
  }
  drain_for(node, e.problem, e.at);
}

void judge_devices(State& state, const DevicesJudged& e) {
  state.edit_node(e.node).troubles = e.troubles;
  complete(state, e.node, *state.node(e.node).def);
}

void lose_node(State& state, const NodeLost& e) {
  Node& node = state.edit_node(e.node);
  if (node.condition == NodeCondition::down) return;
  node.condition = NodeCondition::down;
  node.down_for_silence = true;
  if (node.reason.empty()) {
    node.reason = "Not responding";
    node.reason_at = e.at;
    node.reason_by = UserId{0};
  }
}

void change_node(State& state, const NodeStateChanged& e) {
  Node& node = state.edit_node(e.node);
  const bool was_future = node.future;
  const Power power_before = node.power.state;
  const bool was_ready = node.is_ready();
  take_over(node, e.order);
  switch (e.order) {
    case NodeOrder::drain:
      node.drain = true;
      break;
    case NodeOrder::undrain:
      node.drain = false;
      break;
    case NodeOrder::fail:
      node.fail = true;
      break;
    case NodeOrder::reboot:
    case NodeOrder::reboot_asap:
      node.reboot = Reboot::requested;
      node.after_reboot = e.after_reboot;
      node.drained_for_reboot = e.order == NodeOrder::reboot_asap;
      break;
    case NodeOrder::reboot_issued:
      node.reboot = Reboot::issued;
      node.reboot_due = e.due;
      break;
    case NodeOrder::cancel_reboot:
      end_reboot(node);
      break;
    case NodeOrder::down:
      if (node.reboot == Reboot::issued) end_reboot(node);
      if (node.power.state == Power::coming_up) node.power = {.state = Power::off};  // whoever wanted it has given up
      node.condition = NodeCondition::down;
      node.down_for_silence = false;
      break;
    case NodeOrder::resume:
      node.drain = node.fail = false;
      node.down_for_silence = false;
      if (node.reboot != Reboot::requested) end_reboot(node);
      node.power.down_wanted = node.power.closed = false;
      // One that never registered has still to do so.
      node.condition = node.inventory || !node.is_on() ? NodeCondition::up : NodeCondition::unknown;
      node.future = false;
      break;
    case NodeOrder::future:
      node.future = true;
      node.condition = NodeCondition::unknown;
      node.inventory = {};
      node.boot_id.clear();
      node.spool_id.clear();
      break;
    case NodeOrder::reason_only:
      break;
  }
  if (!e.reason.empty()) {
    node.reason = e.reason;
    node.reason_by = e.by;
    node.reason_at = e.at;
  } else if (e.order == NodeOrder::resume ||
             (e.order == NodeOrder::undrain && !node.fail && node.condition != NodeCondition::down)) {
    node.reason.clear();
  } else if (e.order == NodeOrder::cancel_reboot && node.is_usable()) {
    node.reason.clear();
  }
  forget_resume(state, e.node);
  if (node.future != was_future) fill_partitions(state);
  if (state.node(e.node).power.state != power_before) sort_partitions(state);
  if (state.node(e.node).is_ready() != was_ready)
    for (const JobKey key : std::vector(state.node(e.node).jobs)) note_boot(state, key, e.at);
}

void create_node(State& state, const NodeCreated& e) {
  std::uint32_t next = 0;
  std::optional<NodeIndex> index;
  for (const auto& [each, node] : state.nodes) {
    next = each.value + 1;
    if (node->def->name == e.def.name) index = each;
  }
  MR_ASSERT(!index || !state.node(*index).configured);
  Node node;  // of one of that name that was deleted before nothing is left
  node.def = SharedValue(e.def);
  if (node.def->kind == NodeKind::cloud) begin_powered_down(node);
  node.def.edit().kind = NodeKind::dynamic;
  state.nodes.set(index.value_or(NodeIndex{next}), SharedValue(std::move(node)));
  fill_partitions(state);
}

void delete_node(State& state, const NodeDeleted& e) {
  set_resume(state, e.node, Time{});
  Node& node = state.edit_node(e.node);
  MR_ASSERT(node.jobs.empty());
  Node left;
  left.def = node.def;
  left.configured = false;
  node = std::move(left);
  fill_partitions(state);
}

void modify_node(State& state, const NodeModified& e) {
  Node& node = state.edit_node(e.node);
  if (e.comment) node.comment = *e.comment;
  if (e.extra) node.extra = *e.extra;
  if (e.address) node.def.edit().address = *e.address;
  if (e.host_name) node.def.edit().host_name = *e.host_name;
  if (e.instance_id) node.instance_id = *e.instance_id;
  if (e.instance_type) node.instance_type = *e.instance_type;
  if (e.resume_at) set_resume(state, e.node, *e.resume_at);
  if (!e.features && !e.active_features && !e.weight) return;
  NodeDef& def = node.def.edit();
  if (e.features) def.features = *e.features;
  if (e.features || e.active_features)
    def.active_features = e.active_features == def.features ? std::nullopt : e.active_features;
  if (e.weight) def.weight = *e.weight;
  // Also where the order stays: that the partitions are others is how a plan hears of it.
  if (e.features && node.def->kind == NodeKind::dynamic) fill_partitions(state);
  sort_partitions(state);
}

namespace {

// False: one of them has a job that it may not share with. A CPU that is shared counts once.
bool add_cpus_of(Node& node, const Job& job, const NodeShare& share) {
  if (!job.placement->shared || !share.detail) {
    node.used_cpus += share.cpus;
    return add_cpus(node.use, share);
  }
  const std::int64_t before = count_bits(node.use.cpus);
  add_cpus(node.use, share);
  node.used_cpus += Cpus{count_bits(node.use.cpus) - before};
  return true;
}

bool add_to_node(Node& node, const Job& job, const NodeShare& share) {
  bool fresh = true;
  if (job.holds_cpus()) fresh = add_cpus_of(node, job, share);
  node.used_memory += share.memory;
  if (share.detail)
    for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) node.used_gres[slot] += share.detail->gres[slot];
  fresh = add_devices(node.use, *node.def, share) && fresh;
  if (job.state == JobState::suspended) ++node.suspended;
  node.jobs.insert(std::ranges::lower_bound(node.jobs, job.key), job.key);
  return fresh;
}

void check_room(const State& state, const Node& node) {
  MR_ASSERT(node.used_cpus <= node.def->cpus);
  if (state.policy->memory_is_consumable) MR_ASSERT(node.used_memory <= node.def->memory);
}

}  // namespace

void add_share(Node& node, const Job& job, const NodeShare& share) { add_to_node(node, job, share); }

void take_share(State& state, const NodeShare& share, JobKey job, Time at) {
  Node& node = state.edit_node(share.node);
  node.last_busy = at;
  const bool given_out_once = add_to_node(node, state.job(job), share);
  MR_ASSERT(given_out_once);
  check_room(state, node);
}

void take_cpus(State& state, const Job& job, const NodeShare& share) {
  Node& node = state.edit_node(share.node);
  const bool given_out_once = add_cpus_of(node, job, share);
  MR_ASSERT(given_out_once);
  check_room(state, node);
}

void give_back_cpus(State& state, const Job& job, const NodeShare& share) {
  Node& node = state.edit_node(share.node);
  if (!job.placement->shared || !share.detail) {
    node.used_cpus -= share.cpus;
    if (share.detail) remove_cpus(node.use, share.detail->cpus);
  } else {
    CpuBits gone = share.detail->cpus;  // but for those that others are on
    for (const JobKey key : node.jobs) {
      const Job& other = state.job(key);
      if (key == job.key || !other.holds_cpus()) continue;
      for (const NodeShare& theirs : other.placement->shares)
        if (theirs.node == share.node && !theirs.released && theirs.detail)
          for (std::size_t i = 0; i < gone.size() && i < theirs.detail->cpus.size(); ++i)
            gone[i] &= ~theirs.detail->cpus[i];
    }
    remove_cpus(node.use, gone);
    node.used_cpus -= Cpus{count_bits(gone)};
  }
  MR_ASSERT(node.used_cpus >= Cpus{0});
}

void give_back_share(State& state, const NodeShare& share, JobKey key, Time at) {
  const Job& job = state.job(key);
  if (job.holds_cpus()) give_back_cpus(state, job, share);
  Node& node = state.edit_node(share.node);
  node.used_memory -= share.memory;
  if (share.detail)
    for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) node.used_gres[slot] -= share.detail->gres[slot];
  node.last_busy = at;
  remove_devices(node.use, *node.def, share);
  if (job.state == JobState::suspended) --node.suspended;
  MR_ASSERT(node.used_memory >= Mebibytes{0});
  const auto it = std::ranges::lower_bound(node.jobs, key);
  MR_ASSERT(it != node.jobs.end() && *it == key);
  node.jobs.erase(it);
  note_idle(state, share.node, job);
}

}  // namespace millrace
