// src/controller/views/resources.cpp - see resources.h.
#include "controller/views/resources.h"

#include <algorithm>
#include <bit>

#include "base/hostlist.h"
#include "core/ledger/licences.h"
#include "core/model/assign.h"
#include "core/model/gres_text.h"
#include "core/model/layout.h"
#include "core/model/request_limits.h"
#include "core/model/withheld.h"

namespace millrace {
namespace {

// gpu and gpu:a100, each with its sum.
class GresSum {
 public:
  void add(const std::string& name, const std::string& type, std::int64_t count) {
    if (count == 0) return;
    sums_[name] += count;
    if (!type.empty()) sums_[name + ":" + type] += count;
  }
  std::string as_tres() const {
    std::string out;
    for (const auto& [name, count] : sums_)
      out += (out.empty() ? "gres/" : ",gres/") + name + "=" + std::to_string(count);
    return out;
  }

 private:
  std::map<std::string, std::int64_t> sums_;
};

GresSum requested(const JobSpec& spec) {
  GresSum sum;
  const ResourceRequest& ask = spec.resource_request();
  for (const GresAsk& each : ask.gres) {
    std::int64_t times = 1;
    if (each.scope == GresScope::node) times = std::max(spec.min_nodes, 1u);
    if (each.scope == GresScope::task) times = spec.tasks;
    if (each.scope == GresScope::socket)
      times = static_cast<std::int64_t>(std::max(spec.min_nodes, 1u)) * std::max(ask.sockets_per_node, 1u);
    sum.add(each.name, each.type, each.count * times);
  }
  return sum;
}

std::string as_gpus(const ResourceRequest& ask, GresScope scope) {
  std::string out;
  for (const GresAsk& each : ask.gres)
    if (each.name == "gpu" && each.scope == scope)
      out += (out.empty() ? "" : ",") + (each.type.empty() ? "" : each.type + ":") + std::to_string(each.count);
  return out;
}

void show_allocated(const State& state, const Job& job, wire::ResourceView& to) {
  GresSum sum;
  std::map<std::string, std::int64_t> kinds;
  bool any = false;
  for (const NodeShare& share : job.placement->shares) {
    if (share.lost) continue;
    const NodeDef& def = *state.node(share.node).def;
    std::string text;
    if (share.detail) {
      text = format_share(def, share.detail->devices, share.detail->gres);
      for (std::size_t slot = 0; slot < def.kinds.size() && slot < gres_kinds_max; ++slot) {
        const NodeGres& kind = def.kinds[slot];
        sum.add(kind.name, kind.type, share.detail->gres[slot]);
        if (share.detail->gres[slot] > 0)
          kinds[kind.name + (kind.type.empty() ? "" : ":" + kind.type)] += share.detail->gres[slot];
      }
    }
    any = any || !text.empty();
    to.add_gres_per_allocated_node(text);
  }
  if (!any) to.clear_gres_per_allocated_node();
  to.set_allocated_gres_tres(sum.as_tres());
  std::string all;
  for (const auto& [name, count] : kinds) all += (all.empty() ? "" : ",") + name + ":" + std::to_string(count);
  to.set_job_gres(all);
  to.set_licenses_allocated(format_licences(job.placement->licences));
}

}  // namespace

ResourceWishes to_wishes(const wire::ResourceWishes& from) {
  ResourceWishes to;
  if (from.has_gres()) to.gres = from.gres();
  if (from.has_gpus()) to.gpus = from.gpus();
  if (from.has_gpus_per_node()) to.gpus_per_node = from.gpus_per_node();
  if (from.has_gpus_per_task()) to.gpus_per_task = from.gpus_per_task();
  if (from.has_gpus_per_socket()) to.gpus_per_socket = from.gpus_per_socket();
  if (from.has_tres_per_task()) to.tres_per_task = from.tres_per_task();
  if (from.has_features()) to.features = from.features();
  if (from.has_prefer()) to.prefer = from.prefer();
  if (from.has_licenses()) to.licences = from.licenses();
  if (from.has_distribution()) to.distribution = from.distribution();
  if (from.has_hint()) to.hint = from.hint();
  if (from.has_reservation()) to.reservation = from.reservation();
  if (from.has_gres_flags()) to.gres_flags = from.gres_flags();
  if (from.has_task_nodes()) to.task_nodes = from.task_nodes();
  if (from.has_cpus_per_gpu()) to.cpus_per_gpu = from.cpus_per_gpu();
  if (from.has_memory_per_gpu_mib()) to.memory_per_gpu = bounded_mebibytes(from.memory_per_gpu_mib());
  if (from.has_tasks_per_socket()) to.tasks_per_socket = from.tasks_per_socket();
  if (from.has_tasks_per_core()) to.tasks_per_core = from.tasks_per_core();
  if (from.has_tasks_per_gpu()) to.tasks_per_gpu = from.tasks_per_gpu();
  if (from.has_sockets_per_node()) to.sockets_per_node = from.sockets_per_node();
  if (from.has_cores_per_socket()) to.cores_per_socket = from.cores_per_socket();
  if (from.has_threads_per_core()) to.threads_per_core = from.threads_per_core();
  if (from.has_tmp_disk_mib()) to.tmp_disk = bounded_mebibytes(from.tmp_disk_mib());
  if (from.has_contiguous()) to.contiguous = from.contiguous();
  if (from.has_spread_job()) to.spread_job = from.spread_job();
  if (from.has_use_min_nodes()) to.use_min_nodes = from.use_min_nodes();
  if (from.has_exclusive_user()) to.exclusive_user = from.exclusive_user();
  if (from.has_switches()) to.switches = from.switches();
  if (from.has_segment()) to.segment = from.segment();
  if (from.has_node_counts()) to.node_counts = from.node_counts();
  if (from.has_spread_segments()) to.spread_segments = from.spread_segments();
  if (from.has_consolidate_segments()) to.consolidate_segments = from.consolidate_segments();
  if (from.has_switches_wait_seconds()) to.switches_wait_seconds = from.switches_wait_seconds();
  if (from.has_time_min_minutes()) to.time_min_minutes = from.time_min_minutes();
  if (from.has_deadline_us()) to.deadline = bounded_time(from.deadline_us());
  return to;
}

void put_wishes(const State&, const JobSpec& spec, wire::ResourceWishes& to) {
  const ResourceRequest& ask = spec.resource_request();
  const auto text = [](const std::string& value, auto set) {
    if (!value.empty()) set(value);
  };
  text(as_gpus(ask, GresScope::job), [&](const std::string& v) { to.set_gpus(v); });
  text(as_gpus(ask, GresScope::node), [&](const std::string& v) { to.set_gpus_per_node(v); });
  text(as_gpus(ask, GresScope::task), [&](const std::string& v) { to.set_gpus_per_task(v); });
  text(as_gpus(ask, GresScope::socket), [&](const std::string& v) { to.set_gpus_per_socket(v); });
  text(format_asks(ask.gres, GresScope::task), [&](const std::string& v) { to.set_tres_per_task(v); });
  text(ask.distribution, [&](const std::string& v) { to.set_distribution(v); });
  text(ask.hint, [&](const std::string& v) { to.set_hint(v); });
  text(ask.features, [&](const std::string& v) { to.set_features(v); });
  text(ask.reservation, [&](const std::string& v) { to.set_reservation(v); });
  if (ask.cpus_per_gpu > 0) to.set_cpus_per_gpu(ask.cpus_per_gpu);
  if (ask.memory_per_gpu > 0) to.set_memory_per_gpu_mib(static_cast<std::uint64_t>(ask.memory_per_gpu));
  if (ask.tasks_per_socket > 0) to.set_tasks_per_socket(ask.tasks_per_socket);
  if (ask.tasks_per_core > 0) to.set_tasks_per_core(ask.tasks_per_core);
  if (ask.tasks_per_gpu > 0) to.set_tasks_per_gpu(ask.tasks_per_gpu);
  if (ask.threads_per_core > 0) to.set_threads_per_core(ask.threads_per_core);
  if (ask.segment > 0) to.set_segment(ask.segment);
}

void show_resources(const State& state, const Job& job, wire::ResourceView& to) {
  const ResourceRequest& ask = job.spec->resource_request();
  to.set_tres_per_node(format_asks(ask.gres, GresScope::node));
  to.set_tres_per_job(format_asks(ask.gres, GresScope::job));
  to.set_tres_per_task(format_asks(ask.gres, GresScope::task));
  to.set_tres_per_socket(format_asks(ask.gres, GresScope::socket));
  to.set_features(ask.features);
  to.set_prefer(ask.prefer);
  to.set_licenses(format_licences(ask.licences, ask.any_licence));
  to.set_cpus_per_gpu(ask.cpus_per_gpu);
  to.set_memory_per_gpu_mib(static_cast<std::uint64_t>(ask.memory_per_gpu));
  to.set_tasks_per_socket(ask.tasks_per_socket);
  to.set_tasks_per_core(ask.tasks_per_core);
  to.set_tasks_per_gpu(ask.tasks_per_gpu);
  to.set_sockets_per_node(ask.sockets_per_node);
  to.set_cores_per_socket(ask.cores_per_socket);
  to.set_threads_per_core(ask.threads_per_core);
  to.set_tmp_disk_mib(static_cast<std::uint64_t>(ask.tmp_disk));
  to.set_contiguous(ask.contiguous);
  to.set_spread_job(ask.spread_job);
  to.set_exclusive_user(ask.exclusive_user);
  to.set_switches(ask.switches);
  to.set_segment(ask.segment);
  if (!ask.node_counts.empty()) to.set_node_counts(format_index_set(ask.node_counts));
  to.set_spread_segments(ask.spread_segments);
  to.set_consolidate_segments(ask.consolidate_segments);
  to.set_switches_wait_seconds(ask.switches_wait_seconds);
  to.set_time_min_minutes(ask.time_min_minutes);
  to.set_deadline_us(ask.deadline.value);
  to.set_reservation(ask.reservation);
  to.set_enforce_binding(ask.enforce_binding);
  to.set_requested_gres_tres(requested(*job.spec).as_tres());
  if (job.placement) show_allocated(state, job, to);
}

void show_node_resources(const Node& node, wire::NodeView& to) {
  if (node.def->kinds.empty()) return;
  to.set_gres(format_kinds(*node.def));
  to.set_gres_used(format_used(node));
  std::string drained;
  for (const NodeGres& kind : node.def->kinds)
    if (kind.out_of_order != 0)
      drained += (drained.empty() ? "" : ",") + kind.name + (kind.type.empty() ? "" : ":" + kind.type) + ":" +
                 std::to_string(std::popcount(kind.out_of_order)) + "(IDX:" + format_bits({&kind.out_of_order, 1}) +
                 ")";
  to.set_gres_drain(drained);
  for (const DeviceTrouble& trouble : node.troubles)
    to.add_device_troubles(trouble.name + (trouble.type.empty() ? "" : ":" + trouble.type) + " " +
                           std::to_string(trouble.device) + ": " + trouble.text);
  GresSum all, used;
  for (std::size_t slot = 0; slot < node.def->kinds.size() && slot < gres_kinds_max; ++slot) {
    const NodeGres& kind = node.def->kinds[slot];
    all.add(kind.name, kind.type, kind.count);
    used.add(kind.name, kind.type, node.used_gres[slot]);
  }
  to.set_gres_tres(all.as_tres());
  to.set_allocated_gres_tres(used.as_tres());
}

std::string gres_tres_of(const State& state, const Partition& partition) {
  GresSum sum;
  for (const NodeIndex index : partition.nodes)
    if (state.node(index).configured)
      for (const NodeGres& kind : state.node(index).def->kinds) sum.add(kind.name, kind.type, kind.count);
  return sum.as_tres();
}

wire::Licences show_licences(const State& state) {
  wire::Licences out;
  const std::vector<LicenceAsk> free = licences_free(state);
  for (std::size_t i = 0; i < free.size(); ++i) {
    auto* licence = out.add_licences();
    licence->set_name(free[i].name);
    licence->set_total(state.policy->licences[i].count);
    const auto used = std::ranges::find(*state.licences_used, free[i].name, &LicenceAsk::name);
    licence->set_used(used == state.licences_used->end() ? 0 : used->count);
  }
  return out;
}

wire::TopologyView show_topology(const State& state) {
  wire::TopologyView out;
  const SwitchTree& tree = *state.topology;
  for (std::uint32_t at = 0; at < tree.size(); ++at) {
    const SwitchDef& def = tree.facts().switches[at];
    auto* shown = out.add_switches();
    shown->set_name(def.name);
    shown->set_level(tree.level_of(at));
    shown->set_link_speed(def.link_speed);
    std::vector<std::string> nodes;
    for (const NodeIndex index : tree.nodes_of(at)) nodes.push_back(state.node(index).def->name);
    shown->set_nodes(compress_hostlist(nodes));
    shown->set_switches(compress_hostlist(def.switches));
  }
  out.set_blocks(tree.facts().blocks);
  for (const std::uint32_t size : tree.facts().block_sizes) out.add_block_sizes(size);
  return out;
}

void put_ranks(const Job& job, NodeIndex here, wire::LaunchPlan& to) {
  const auto& shares = job.placement->shares;
  const auto share = std::ranges::find(shares, here, &NodeShare::node);
  const bool asked = job.spec->resources && !job.spec->resources->distribution.empty();
  if (share == shares.end() || shares.size() < 2 || !asked) return;
  const auto ranks = ranks_by_node(*job.spec, shares);
  const auto& own = ranks[static_cast<std::size_t>(share - shares.begin())];
  to.mutable_ranks()->Assign(own.begin(), own.end());
}

void grant_resources(const State& state, const Job& job, NodeIndex here, wire::LaunchPlan& to) {
  const auto& shares = job.placement->shares;
  const auto share = std::ranges::find(shares, here, &NodeShare::node);
  if (share == shares.end()) return;
  const NodeDef& def = *state.node(here).def;
  for (const NodeGres& kind : def.kinds)
    if (kind.name == "gpu") to.set_node_has_gpus(true);
  to.set_licenses(format_licences(job.placement->licences));
  if (!state.topology->empty()) {
    to.set_topology_address(state.topology->address_of(here, def.name));
    to.set_topology_pattern(state.topology->address_pattern_of(here));
  }
  if (const CpuBits cpus = cpus_seen(def, *job.spec, *share); !cpus.empty()) to.set_cpu_ids(format_bits(cpus));
  if (!share->detail) return;
  put_devices(def, *share->detail, *to.mutable_devices());
}

void put_devices(const NodeDef& def, const ShareDetail& detail,
                 google::protobuf::RepeatedPtrField<wire::DeviceGrant>& to) {
  for (std::size_t slot = 0; slot < def.kinds.size() && slot < gres_kinds_max; ++slot) {
    if (detail.gres[slot] == 0) continue;
    const NodeGres& kind = def.kinds[slot];
    auto* grant = to.Add();
    grant->set_name(kind.name);
    grant->set_type(kind.type);
    grant->set_count(detail.gres[slot]);
    grant->set_files(kind.files);
    // Devices are numbered over all types of a name; parts name the gpu they are of.
    std::int64_t first = 0;
    for (std::size_t before = 0; before < slot && !is_part(kind); ++before)
      if (def.kinds[before].name == kind.name) first += def.kinds[before].count;
    for (std::uint64_t rest = detail.devices[slot]; rest != 0; rest &= rest - 1) {
      const auto device = static_cast<std::size_t>(std::countr_zero(rest));
      grant->add_devices(static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(device));
      if (device < kind.parts.size()) grant->set_parts_of_device(kind.parts[device]);
    }
  }
}

}  // namespace millrace
