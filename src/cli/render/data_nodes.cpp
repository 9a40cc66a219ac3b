// src/cli/render/data_nodes.cpp - nodes and sinfo's lines as --json prints them.
#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/render/data_records.h"
#include "cli/render/node_words.h"

namespace millrace {
namespace {

using View = wire::NodeView;
struct NodeRecord {
  const View& node;
  const DataContext& context;
};
using R = NodeRecord;

// "IDLE+DRAIN" as a list.
Data states_of(const View& node) {
  DataList out;
  const std::string words = node_state_full(node);
  for (const std::string_view word : split(words, '+')) out.emplace_back(word);
  return out;
}

std::string tres_of(std::uint64_t cpus, std::uint64_t memory, bool billing, const std::string& gres) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ",") + text; };
  if (cpus != 0) add("cpu=" + std::to_string(cpus));
  if (memory != 0) add("mem=" + format_mib(memory));
  if (billing) add("billing=" + std::to_string(cpus));
  if (!gres.empty()) add(gres);
  return out;
}

template <auto getter>
Data value(const R& r) {
  return (r.node.*getter)();
}
template <auto getter>
Data time(const R& r) {
  return time_of((r.node.*getter)());
}
Data empty(const R&) { return ""; }
Data zero(const R&) { return 0u; }
Data nothing(const R&) { return DataList{}; }
template <auto getter>
Data words(const R& r) {
  return words_by_comma((r.node.*getter)());
}

// clang-format off
constexpr DataField<NodeRecord> node_fields[] = {
    {"architecture", "STRING", value<&View::arch>},
    {"burstbuffer_network_address", "STRING", empty},
    {"boards", "UINT16", value<&View::boards>},
    {"boot_time", "TIMESTAMP_NO_VAL", time<&View::boot_at_us>},
    {"tls_cert_last_renewal", "TIMESTAMP_NO_VAL", [](const R&) { return time_of(0); }},
    {"cert_flags", "NODE_CERT_FLAGS", nothing},
    {"cluster_name", "STRING", empty},
    {"cores", "UINT16", value<&View::cores_per_socket>},
    {"specialized_cores", "UINT16", value<&View::withheld_cores>},
    {"cpu_binding", "UINT32", zero},
    {"cpu_load", "UINT32", [](const R& r) -> Data { return r.node.telemetry().load_hundredths(); }},
    {"free_mem", "UINT64_NO_VAL", [](const R& r) { return number_if(r.node.has_telemetry(), r.node.telemetry().free_memory_mib()); }},
    {"cpus", "UINT16", value<&View::cpus>},
    {"effective_cpus", "UINT16", [](const R& r) -> Data { return usable_cpus(r.node); }},
    {"specialized_cpus", "STRING", value<&View::withheld_cpu_list>},
    {"energy", "ACCT_GATHER_ENERGY_PTR", [](const R&) -> Data {
       return DataMap{{"average_watts", 0u}, {"base_consumed_energy", 0u}, {"consumed_energy", 0u}, {"current_watts", number_not_set()}, {"previous_consumed_energy", 0u}, {"last_collected", 0u}};
     }},
    {"extra", "STRING", value<&View::extra>},
    {"features", "CSV_STRING", words<&View::features>},
    {"active_features", "CSV_STRING", words<&View::active_features>},
    {"gpu_spec", "STRING", empty},
    {"gres", "STRING", value<&View::gres>},
    {"gres_drained", "STRING", [](const R& r) -> Data { return r.node.gres_drain().empty() ? "N/A" : r.node.gres_drain(); }},
    {"gres_used", "STRING", value<&View::gres_used>},
    {"instance_id", "STRING", value<&View::instance_id>},
    {"instance_type", "STRING", value<&View::instance_type>},
    {"last_busy", "TIMESTAMP_NO_VAL", time<&View::last_busy_us>},
    {"mcs_label", "STRING", empty},
    {"specialized_memory", "UINT64", value<&View::withheld_memory_mib>},
    {"name", "STRING", value<&View::name>},
    {"next_state_after_reboot", "NODE_STATES", [](const R&) -> Data { return DataList{Data{"INVALID"}}; }},
    {"address", "STRING", value<&View::address>},
    {"hostname", "STRING", value<&View::host_name>},
    {"state", "NODE_STATES", [](const R& r) { return states_of(r.node); }},
    {"operating_system", "STRING", value<&View::os>},
    {"owner", "USER_ID", empty},
    {"partitions", "CSV_STRING", [](const R& r) -> Data {
       DataList out;
       for (const std::string& name : r.node.partitions()) out.emplace_back(name);
       return out;
     }},
    {"port", "UINT16", value<&View::port>},
    {"real_memory", "UINT64", value<&View::memory_mib>},
    {"res_cores_per_gpu", "UINT16", zero},
    {"comment", "STRING", value<&View::comment>},
    {"reason", "STRING", value<&View::reason>},
    {"reason_changed_at", "TIMESTAMP_NO_VAL", time<&View::reason_at_us>},
    {"reason_set_by_user", "USER_ID", [](const R& r) -> Data { return r.node.reason().empty() ? "" : r.context.names->user(r.node.reason_uid()); }},
    {"resume_after", "TIMESTAMP_NO_VAL", time<&View::resume_at_us>},
    {"reservation", "STRING", value<&View::reservation>},
    {"suspend_time", "UINT32_NO_VAL", [](const R& r) { return r.node.idle_until_us() == 0 ? number_infinite() : time_of(r.node.idle_until_us()); }},
    {"alloc_memory", "UINT64", value<&View::allocated_memory_mib>},
    {"alloc_cpus", "UINT16", value<&View::allocated_cpus>},
    {"alloc_idle_cpus", "UINT16", [](const R& r) -> Data { return usable_cpus(r.node) - std::min(usable_cpus(r.node), r.node.allocated_cpus()); }},
    {"tres_used", "STRING", [](const R& r) -> Data { return tres_of(r.node.allocated_cpus(), r.node.allocated_memory_mib(), false, r.node.allocated_gres_tres()); }},
    {"tres_weighted", "FLOAT64", [](const R&) -> Data { return 0.0; }},
    {"slurmd_start_time", "TIMESTAMP_NO_VAL", time<&View::agent_started_at_us>},
    {"sockets", "UINT16", value<&View::sockets>},
    {"threads", "UINT16", value<&View::threads_per_core>},
    {"temporary_disk", "UINT32", value<&View::tmp_disk_mib>},
    {"weight", "UINT32", value<&View::weight>},
    {"topology", "STRING", empty},
    {"tres", "STRING", [](const R& r) -> Data { return tres_of(usable_cpus(r.node), usable_memory(r.node), true, r.node.gres_tres()); }},
    {"version", "STRING", value<&View::version>},
};
// clang-format on

// --- a line of sinfo ---

struct GroupRecord {
  const NodeGroup& group;
  const DataContext& context;
};
using G = GroupRecord;

template <auto get>
Data least(const G& g) {
  std::uint64_t out = g.group.nodes.empty() ? 0 : UINT64_MAX;
  for (const View* node : g.group.nodes) out = std::min<std::uint64_t>(out, get(*node));
  return out;
}
template <auto get>
Data most(const G& g) {
  std::uint64_t out = 0;
  for (const View* node : g.group.nodes) out = std::max<std::uint64_t>(out, get(*node));
  return out;
}
constexpr auto cpus = [](const View& n) -> std::uint64_t { return usable_cpus(n); };
constexpr auto load = [](const View& n) -> std::uint64_t { return n.telemetry().load_hundredths(); };
constexpr auto sockets = [](const View& n) -> std::uint64_t { return n.sockets(); };
constexpr auto cores = [](const View& n) -> std::uint64_t { return n.cores_per_socket(); };
constexpr auto threads = [](const View& n) -> std::uint64_t { return n.threads_per_core(); };
constexpr auto disk = [](const View& n) -> std::uint64_t { return n.tmp_disk_mib(); };
constexpr auto memory = [](const View& n) -> std::uint64_t { return n.memory_mib(); };
constexpr auto free_memory = [](const View& n) -> std::uint64_t { return n.telemetry().free_memory_mib(); };
constexpr auto weight = [](const View& n) -> std::uint64_t { return n.weight(); };

template <auto get>
Data sum(const G& g) {
  std::uint64_t out = 0;
  for (const View* node : g.group.nodes) out += get(*node);
  return out;
}
bool usable(const View& n) { return !n.drain() && (n.base() == View::IDLE || node_is_allocated(n)); }
std::uint64_t free_cpus(const View& n) { return usable_cpus(n) - std::min(usable_cpus(n), n.allocated_cpus()); }
constexpr auto allocated_cpus = [](const View& n) -> std::uint64_t { return n.allocated_cpus(); };
constexpr auto idle_cpus = [](const View& n) -> std::uint64_t { return usable(n) ? free_cpus(n) : 0; };
constexpr auto other_cpus = [](const View& n) -> std::uint64_t { return usable(n) ? 0 : free_cpus(n); };
constexpr auto is_allocated = [](const View& n) -> std::uint64_t { return node_is_allocated(n) ? 1 : 0; };
constexpr auto is_idle = [](const View& n) -> std::uint64_t { return node_is_idle(n) ? 1 : 0; };
constexpr auto is_other = [](const View& n) -> std::uint64_t {
  return node_is_allocated(n) || node_is_idle(n) ? 0 : 1;
};
constexpr auto allocated_memory = [](const View& n) -> std::uint64_t { return n.allocated_memory_mib(); };

template <auto getter>
Data first(const G& g) {
  return g.group.nodes.empty() ? Data{""} : Data{(g.group.nodes[0]->*getter)()};
}
Data no_text(const G&) { return ""; }
Data no_words(const G&) { return DataList{}; }
bool measured(const G& g) {
  return std::ranges::any_of(g.group.nodes, [](const View* node) { return node->has_telemetry(); });
}

// clang-format off
constexpr DataField<GroupRecord> group_fields[] = {
    {"port", "UINT32", [](const G& g) -> Data { return g.group.nodes.empty() ? 0u : g.group.nodes[0]->port(); }},
    {"node/state", "NODE_STATES", [](const G& g) { return g.group.nodes.empty() ? Data{DataList{}} : states_of(*g.group.nodes[0]); }},
    {"nodes/allocated", "UINT32", sum<is_allocated>},
    {"nodes/idle", "UINT32", sum<is_idle>},
    {"nodes/other", "UINT32", sum<is_other>},
    {"nodes/total", "UINT32", [](const G& g) -> Data { return static_cast<std::uint32_t>(g.group.nodes.size()); }},
    {"nodes/hostnames", "HOSTLIST_STRING_LIST", no_words},
    {"nodes/addresses", "HOSTLIST_STRING_LIST", no_words},
    {"nodes/nodes", "HOSTLIST_STRING_LIST", [](const G& g) -> Data {
       std::vector<std::string> names;
       for (const View* node : g.group.nodes) names.push_back(node->name());
       const auto sorted = expand_hostlist(compress_hostlist_sorted(std::move(names)));
       return sorted ? word_list(*sorted) : Data{DataList{}};
     }},
    {"cpus/allocated", "UINT32", sum<allocated_cpus>},
    {"cpus/idle", "UINT32", sum<idle_cpus>},
    {"cpus/other", "UINT32", sum<other_cpus>},
    {"cpus/total", "UINT32", sum<cpus>},
    {"cpus/minimum", "UINT32", least<cpus>},
    {"cpus/maximum", "UINT32", most<cpus>},
    {"cpus/load/minimum", "UINT32", least<load>},
    {"cpus/load/maximum", "UINT32", most<load>},
    {"cpus/per_node/max", "UINT32_NO_VAL", [](const G&) { return number_infinite(); }},
    {"sockets/minimum", "UINT32", least<sockets>},
    {"sockets/maximum", "UINT32", most<sockets>},
    {"cores/minimum", "UINT32", least<cores>},
    {"cores/maximum", "UINT32", most<cores>},
    {"threads/minimum", "UINT32", least<threads>},
    {"threads/maximum", "UINT32", most<threads>},
    {"disk/minimum", "UINT32", least<disk>},
    {"disk/maximum", "UINT32", most<disk>},
    {"memory/minimum", "UINT64", least<memory>},
    {"memory/maximum", "UINT64", most<memory>},
    {"memory/free/minimum", "UINT64_NO_VAL", [](const G& g) { return number_if(measured(g), std::get<std::uint64_t>(least<free_memory>(g).value())); }},
    {"memory/free/maximum", "UINT64_NO_VAL", [](const G& g) { return number_if(measured(g), std::get<std::uint64_t>(most<free_memory>(g).value())); }},
    {"memory/allocated", "UINT64", sum<allocated_memory>},
    {"weight/minimum", "UINT32", least<weight>},
    {"weight/maximum", "UINT32", most<weight>},
    {"features/total", "STRING", first<&View::features>},
    {"features/active", "STRING", first<&View::active_features>},
    {"gres/total", "STRING", first<&View::gres>},
    {"gres/used", "STRING", first<&View::gres_used>},
    {"cluster", "STRING", no_text},
    {"comment", "STRING", first<&View::comment>},
    {"extra", "STRING", first<&View::extra>},
    {"reason/description", "STRING", first<&View::reason>},
    {"reason/time", "TIMESTAMP", [](const G& g) -> Data { return g.group.nodes.empty() || g.group.nodes[0]->reason().empty() ? std::int64_t{0} : g.group.nodes[0]->reason_at_us() / 1'000'000; }},
    {"reservation", "STRING", first<&View::reservation>},
    {"reason_set_by_user", "USER_ID", [](const G& g) -> Data { return g.group.nodes.empty() || g.group.nodes[0]->reason().empty() ? "" : g.context.names->user(g.group.nodes[0]->reason_uid()); }},
    {"resource_spec/cpus", "STRING", no_text},
    {"resource_spec/memory", "UINT64", [](const G&) -> Data { return 0u; }},
    {"partition", "PARTITION_INFO_PTR", [](const G& g) { return g.group.partition == nullptr ? Data{} : partition_data(*g.group.partition, g.context); }},
};
// clang-format on

}  // namespace

Data node_data(const wire::NodeView& node, const DataContext& context) {
  return to_data(std::span<const DataField<NodeRecord>>{node_fields}, NodeRecord{node, context});
}
Data node_group_data(const NodeGroup& group, const DataContext& context) {
  return to_data(std::span<const DataField<GroupRecord>>{group_fields}, GroupRecord{group, context});
}
std::vector<DataFieldText> node_data_fields() {
  return field_texts(std::span<const DataField<NodeRecord>>{node_fields});
}

}  // namespace millrace
