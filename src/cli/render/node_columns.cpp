// src/cli/render/node_columns.cpp - see node_columns.h.
#include "cli/render/node_columns.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/render/node_words.h"

namespace millrace {
namespace {

using Row = NodeGroup;
using Out = std::string;
using View = wire::NodeView;
using enum Cut;

template <class Get>
std::string range(const Row& row, Get get, bool both_ends) {
  if (row.nodes.empty()) return "0";
  std::uint64_t low = UINT64_MAX, high = 0;
  for (const View* node : row.nodes)
    low = std::min<std::uint64_t>(low, get(*node)), high = std::max<std::uint64_t>(high, get(*node));
  if (low == high) return std::to_string(low);
  return std::to_string(low) + (both_ends ? "-" + std::to_string(high) : "+");
}

// The value of the first node: a column that splits has the same one everywhere in the group.
std::string first_text(const Row& row, const std::string& (View::*getter)() const, std::string_view nothing) {
  if (row.nodes.empty() || (row.nodes[0]->*getter)().empty()) return std::string{nothing};
  return (row.nodes[0]->*getter)();
}

std::string partition_name(const Row& row, bool star) {
  if (row.partition == nullptr) return "n/a";
  return row.partition->name() + (star && row.partition->is_default() ? "*" : "");
}

std::string load_text(std::uint32_t hundredths) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%u.%02u", hundredths / 100, hundredths % 100);
  return buffer;
}

void put_load(Out& out, const Row& row) {
  std::uint32_t low = UINT32_MAX, high = 0;
  for (const View* node : row.nodes) {
    if (!node->has_telemetry()) continue;
    low = std::min(low, node->telemetry().load_hundredths()),
    high = std::max(high, node->telemetry().load_hundredths());
  }
  if (low > high)
    out += "N/A";
  else
    out += low == high ? load_text(low) : load_text(low) + "-" + load_text(high);
}

void put_free_memory(Out& out, const Row& row) {
  if (std::ranges::any_of(row.nodes, [](const View* node) { return node->has_telemetry(); }))
    out += range(row, [](const View& node) { return node.telemetry().free_memory_mib(); }, true);
  else
    out += "N/A";
}

void put_cpu_states(Out& out, const Row& row) {
  std::uint64_t allocated = 0, idle = 0, other = 0, total = 0;
  for (const View* node : row.nodes) {
    allocated += node->allocated_cpus();
    const std::uint32_t usable_here = usable_cpus(*node);
    total += usable_here;
    const bool usable = !node->drain() && (node->base() == View::IDLE || node_is_allocated(*node));
    (usable ? idle : other) += usable_here - std::min(usable_here, node->allocated_cpus());
  }
  out += std::to_string(allocated) + '/' + std::to_string(idle) + '/' + std::to_string(other) + '/' +
         std::to_string(total);
}

void put_node_states(Out& out, const Row& row, bool all) {
  std::size_t allocated = 0, idle = 0;
  for (const View* node : row.nodes) allocated += node_is_allocated(*node), idle += node_is_idle(*node);
  out += std::to_string(allocated) + '/' + std::to_string(idle);
  if (all) out += '/' + std::to_string(row.nodes.size() - allocated - idle) + '/' + std::to_string(row.nodes.size());
}

void put_nodes(Out& out, const Row& row) {
  std::vector<std::string> names;
  for (const View* node : row.nodes) names.push_back(node->name());
  out += compress_hostlist_sorted(std::move(names));
}

template <auto getter>
void put_host_list(Out& out, const Row& row) {
  std::vector<std::string> names;
  for (const View* node : row.nodes) names.push_back((node->*getter)());
  out += compress_hostlist_sorted(std::move(names));
}

void put_size(Out& out, const Row& row) {
  if (row.partition == nullptr) {
    out += "n/a";
    return;
  }
  const std::uint32_t low = std::max(row.partition->min_nodes(), 1u), high = row.partition->max_nodes();
  out += std::to_string(low);
  if (high == UINT32_MAX || high == 0)
    out += "-infinite";
  else if (high != low)
    out += '-' + std::to_string(high);
}

void put_time_limit(Out& out, const Row& row) {
  if (row.partition == nullptr)
    out += "n/a";
  else
    out += row.partition->max_time_minutes() == UINT32_MAX ? "infinite"
                                                           : format_short_limit(row.partition->max_time_minutes());
}

void put_default_time(Out& out, const Row& row) {
  if (row.partition == nullptr || row.partition->default_time_minutes() == 0)
    out += "n/a";
  else
    out += row.partition->default_time_minutes() == UINT32_MAX
               ? "infinite"
               : format_short_limit(row.partition->default_time_minutes());
}

void put_sharing(Out& out, const Row& row) {
  if (row.partition != nullptr && row.partition->exclusive())
    out += "EXCLUSIVE";
  else
    out += row.partition != nullptr && !row.partition->sharing().empty() ? row.partition->sharing() : "NO";
}

void put_reason_user(Out& out, const Row& row, bool with_number) {
  if (row.nodes.empty() || row.nodes[0]->reason().empty()) {
    out += "Unknown";
    return;
  }
  const std::uint32_t uid = row.nodes[0]->reason_uid();
  out += row.context->names->user(uid);
  if (with_number) out += '(' + std::to_string(uid) + ')';
}

void put_sct(Out& out, const Row& row) {
  out += range(
             row, [](const View& n) { return n.sockets(); }, false) +
         ':' +
         range(
             row, [](const View& n) { return n.cores_per_socket(); }, false) +
         ':' + range(row, [](const View& n) { return n.threads_per_core(); }, false);
}

constexpr bool S = true, J = false;  // splits, joins

// clang-format off
constexpr Column<NodeGroup> plain[] = {
    {"AllocMem", 0, "ALLOCMEM", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.allocated_memory_mib(); }, false); }},
    {"AllocNodes", 'S', "ALLOCNODES", to_width, J, [](Out& out, const Row&) { out += "all"; }},
    {"Available", 'a', "AVAIL", to_width, J, [](Out& out, const Row& row) { out += row.partition != nullptr ? partition_availability(*row.partition) : "n/a"; }},
    {"Cluster", 'V', "CLUSTER", to_width, J, [](Out& out, const Row& row) { out += row.context->cluster; }},
    {"Comment", 0, "COMMENT", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::comment, "(null)"); }},
    {"Cores", 'Y', "CORES", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.cores_per_socket(); }, false); }},
    {"CPUs", 'c', "CPUS", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return usable_cpus(n); }, false); }},
    {"CPUsLoad", 'O', "CPU_LOAD", to_width, J, put_load},
    {"CPUsState", 'C', "CPUS(A/I/O/T)", to_width, J, put_cpu_states},
    {"DefaultTime", 'L', "DEFAULTTIME", never, J, put_default_time},
    {"Disk", 'd', "TMP_DISK", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.tmp_disk_mib(); }, false); }},
    {"Extra", 0, "EXTRA", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::extra, "(null)"); }},
    {"Features", 'f', "AVAIL_FEATURES", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::features, "(null)"); }},
    {"features_act", 'b', "ACTIVE_FEATURES", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::active_features, "(null)"); }},
    {"FreeMem", 'e', "FREE_MEM", to_width, J, put_free_memory},
    {"Gres", 'G', "GRES", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::gres, "(null)"); }},
    {"GresUsed", 0, "GRES_USED", to_width, J, [](Out& out, const Row& row) { out += first_text(row, &View::gres_used, "(null)"); }},
    {"Groups", 'g', "GROUPS", to_width, J, [](Out& out, const Row& row) {
       const std::string groups = row.partition != nullptr ? row.partition->allow_groups() : "";
       out += groups.empty() || groups == "ALL" ? "all" : groups;
     }},
    {"MaxCPUsPerNode", 'B', "MAX_CPUS_PER_NODE", to_width, J, [](Out& out, const Row& row) {
       out += row.partition != nullptr && row.partition->has_max_cpus_per_node() ? std::to_string(row.partition->max_cpus_per_node()) : "UNLIMITED";
     }},
    {"Memory", 'm', "MEMORY", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.memory_mib(); }, false); }},
    {"NodeAddr", 'o', "NODE_ADDR", to_width, S, put_host_list<&View::address>},
    {"NodeAI", 'A', "NODES(A/I)", to_width, J, [](Out& out, const Row& row) { put_node_states(out, row, false); }},
    {"NodeAIOT", 'F', "NODES(A/I/O/T)", to_width, J, [](Out& out, const Row& row) { put_node_states(out, row, true); }},
    {"NodeHost", 'n', "HOSTNAMES", to_width, S, put_host_list<&View::host_name>},
    {"NodeList", 'N', "NODELIST", to_width, J, put_nodes},
    {"Nodes", 'D', "NODES", to_width, J, [](Out& out, const Row& row) { out += std::to_string(row.nodes.size()); }},
    {"OverSubscribe", 'h', "OVERSUBSCRIBE", to_width, J, put_sharing},
    {"Partition", 'P', "PARTITION", to_width, J, [](Out& out, const Row& row) { out += partition_name(row, true); }},
    {"PartitionName", 'R', "PARTITION", to_width, J, [](Out& out, const Row& row) { out += partition_name(row, false); }},
    {"Port", 0, "PORT", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.port(); }, false); }},
    {"PreemptMode", 'M', "PREEMPT_MODE", to_width, J, [](Out& out, const Row& row) { out += row.partition != nullptr && !row.partition->preempt_mode().empty() ? row.partition->preempt_mode() : "OFF"; }},
    {"PriorityJobFactor", 'I', "PRIO_JOB_FACTOR", to_width, J, [](Out& out, const Row& row) { out += row.partition != nullptr ? std::to_string(row.partition->priority_job_factor()) : "n/a"; }},
    {"PriorityTier", 'p', "PRIO_TIER", to_width, J, [](Out& out, const Row& row) { out += row.partition != nullptr ? std::to_string(row.partition->priority_tier()) : "n/a"; }},
    {"Reason", 'E', "REASON", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::reason, "none"); }},
    {"Reservation", 'i', "RESERVATION", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::reservation, ""); }},
    {"Root", 'r', "ROOT", to_width, J, [](Out& out, const Row& row) { out += row.partition != nullptr && row.partition->root_only() ? "yes" : "no"; }},
    {"Share", 0, "OVERSUBSCRIBE", to_width, J, put_sharing},
    {"Size", 's', "JOB_SIZE", to_width, J, put_size},
    {"Sockets", 'X', "SOCKETS", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.sockets(); }, false); }},
    {"SocketCoreThread", 'z', "S:C:T", to_width, J, put_sct},
    {"StateCompact", 't', "STATE", to_width, S, [](Out& out, const Row& row) { out += row.nodes.empty() ? "n/a" : node_state_compact(*row.nodes[0]); }},
    {"StateComplete", 0, "STATECOMPLETE", to_width, S, [](Out& out, const Row& row) { out += row.nodes.empty() ? "n/a" : lower(node_state_full(*row.nodes[0])); }},
    {"StateLong", 'T', "STATE", to_width, S, [](Out& out, const Row& row) { out += row.nodes.empty() ? "n/a" : node_state_long(*row.nodes[0]); }},
    {"Threads", 'Z', "THREADS", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.threads_per_core(); }, false); }},
    {"Time", 'l', "TIMELIMIT", never, J, put_time_limit},
    {"TimeStamp", 'H', "TIMESTAMP", to_width, S, [](Out& out, const Row& row) { out += row.nodes.empty() || row.nodes[0]->reason().empty() ? "Unknown" : format_time(row.nodes[0]->reason_at_us(), "Unknown"); }},
    {"User", 'u', "USER", to_width, S, [](Out& out, const Row& row) { put_reason_user(out, row, false); }},
    {"UserLong", 'U', "USER", to_width, S, [](Out& out, const Row& row) { put_reason_user(out, row, true); }},
    {"Version", 'v', "VERSION", to_width, S, [](Out& out, const Row& row) { out += first_text(row, &View::version, "N/A"); }},
    {"Weight", 'w', "WEIGHT", to_width, J, [](Out& out, const Row& row) { out += range(row, [](const View& n) { return n.weight(); }, false); }},
};
// clang-format on

// Everything that keeps two nodes apart, as one text.
std::string split_key(const View& node, const Format<NodeGroup>& format, const NodeViewOptions& options,
                      const NodeContext& context) {
  NodeGroup alone{nullptr, 0, {&node}, &context};
  std::string key;
  for (const auto& field : format) {
    if (field.column == nullptr) continue;
    if (!column_splits(*field.column) && !options.exact) continue;
    if (!column_splits(*field.column) && (field.column->letter == 'N' || field.column->name == "CPUsLoad")) continue;
    field.column->value(key, alone);
    key += '\n';
  }
  if (options.per_node) key += node.name();
  return key;
}

}  // namespace

std::span<const Column<NodeGroup>> node_columns() { return plain; }

// Sinfo has no brief answers; the field says whether the column splits.
bool column_splits(const Column<NodeGroup>& column) { return column.brief; }

std::string sinfo_default_format(const NodeViewOptions& options) {
  if (options.reasons)
    return options.long_form ? "reason:20 ,userlong:12 ,timestamp:19 ,statecompact:6 ,nodelist:0"
                             : "reason:20 ,user:9 ,timestamp:19 ,nodelist:0";
  if (options.per_node && options.long_form)
    return "nodelist:0 ,nodes:.6 ,partition:.9 ,statelong:.11 ,cpus:4 ,socketcorethread:.8 ,memory:.6 ,disk:.8 "
           ",weight:.6 ,features:.8 ,reason:20";
  if (options.per_node) return "nodelist:0 ,nodes:.6 ,partition:.9 ,statecompact:6";
  if (options.summarize) return "partition:9 ,available:.5 ,time:.10 ,nodeaiot:.16 ,nodelist:0";
  if (options.long_form)
    return "partition:9 ,available:.5 ,time:.10 ,size:.10 ,root:.4 ,oversubscribe:.8 ,groups:.10 ,nodes:.6 "
           ",statelong:.11 ,reservation:.11 ,nodelist:0";
  return "partition:9 ,available:.5 ,time:.10 ,nodes:.6 ,statecompact:.6 ,nodelist:0";
}

std::vector<NodeGroup> group_nodes(const NodeListing& listing, const Format<NodeGroup>& format,
                                   const NodeViewOptions& options, const NodeContext& context) {
  std::vector<NodeGroup> out;
  // Reasons are about nodes alone: one line whatever partitions they are in.
  const bool by_partition =
      !options.reasons && (options.per_node || std::ranges::any_of(format, [](const auto& field) {
                             constexpr std::string_view of_partition = "PRalLgsrhpIBMS";
                             return field.column != nullptr && field.column->letter != 0 &&
                                    of_partition.find(field.column->letter) != std::string_view::npos;
                           }));
  const auto add = [&](const wire::PartitionView* partition, std::size_t order, const std::vector<const View*>& nodes) {
    std::map<std::string, std::size_t> known;
    for (const View* node : nodes) {
      const auto [it, fresh] = known.try_emplace(split_key(*node, format, options, context), out.size());
      if (fresh) out.push_back({partition, order, {}, &context});
      out[it->second].nodes.push_back(node);
    }
    if (nodes.empty() && listing.show_empty && partition != nullptr) out.push_back({partition, order, {}, &context});
  };
  const auto nodes_in = [&](std::span<const wire::PartitionView* const> partitions) {
    std::set<std::string, std::less<>> members;
    for (const wire::PartitionView* partition : partitions)
      if (auto names = expand_hostlist(partition->nodes()))
        for (std::string& name : *names) members.insert(std::move(name));
    std::vector<const View*> nodes;
    for (const View* node : listing.nodes)
      if (members.contains(node->name())) nodes.push_back(node);
    return nodes;
  };
  const std::span<const wire::PartitionView* const> all{listing.partitions};
  if (!by_partition)
    add(all.empty() ? nullptr : all.front(), 0, nodes_in(all));
  else
    for (std::size_t i = 0; i < all.size(); ++i) add(all[i], i, nodes_in(all.subspan(i, 1)));
  return out;
}

void sort_groups(std::vector<NodeGroup>& groups, std::string_view keys) {
  std::string letters;
  std::vector<bool> reverse, in_order;
  bool minus = false, hash = false;
  for (const char c : keys) {
    if (c == '-')
      minus = true;
    else if (c == '#')
      hash = true;
    else if (c != ',' && c != '+' && c != '%' && c != ' ')
      letters += c, reverse.push_back(minus), in_order.push_back(hash), minus = hash = false;
  }
  const auto compare = [&](const NodeGroup& a, const NodeGroup& b, std::size_t i) -> int {
    const auto three = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    const View* first = a.nodes.empty() ? nullptr : a.nodes[0];
    const View* second = b.nodes.empty() ? nullptr : b.nodes[0];
    if (in_order[i] || ((letters[i] == 'P' || letters[i] == 'R') && (a.partition == nullptr || b.partition == nullptr)))
      return three(a.partition_order, b.partition_order);
    if (letters[i] == 'P' || letters[i] == 'R') return three(a.partition->name(), b.partition->name());
    if (first == nullptr || second == nullptr) return three(first != nullptr, second != nullptr);
    if (letters[i] == 't' || letters[i] == 'T') return three(node_state_order(*first), node_state_order(*second));
    if (letters[i] == 'D') return three(a.nodes.size(), b.nodes.size());
    if (letters[i] == 'N' || letters[i] == 'n') {
      std::vector<std::string> pair{second->name(), first->name()};
      if (pair[0] == pair[1]) return 0;
      const auto sorted = expand_hostlist(compress_hostlist_sorted(pair));  // numbers in names count as numbers
      return sorted && !sorted->empty() && sorted->front() == first->name() ? -1 : 1;
    }
    std::string left, right;
    for (const auto& column : plain)
      if (column.letter == letters[i]) column.value(left, a), column.value(right, b);
    return three(left, right);
  };
  std::ranges::stable_sort(groups, [&](const NodeGroup& a, const NodeGroup& b) {
    for (std::size_t i = 0; i < letters.size(); ++i)
      if (const int result = compare(a, b, i); result != 0) return reverse[i] ? result > 0 : result < 0;
    return false;
  });
}

void widen(Format<NodeGroup>& format, const std::vector<NodeGroup>& groups) {
  for (auto& field : format) {
    if (field.column == nullptr) continue;
    const bool partition = field.column->letter == 'P' && field.width == 9;
    const bool node = field.column->letter == 'N' && field.width == 0 && !field.suffix.empty();
    if (!partition && !node) continue;
    std::size_t widest = 9;
    for (const NodeGroup& group : groups) {
      std::string value;
      field.column->value(value, group);
      widest = std::max(widest, value.size());
    }
    field.width = widest;
  }
}

std::string reservation_lines(const wire::Reservations& reservations, bool header) {
  std::size_t wide = 10;
  for (const auto& each : reservations.reservations()) wide = std::max(wide, each.name().size());
  const auto line = [&](std::string_view name, std::string_view state, std::string_view start, std::string_view end,
                        std::string_view duration, std::string_view nodes) {
    std::string out;
    append_cell(out, name, wide, false, Cut::never);
    for (const auto& [text, width] :
         {std::pair{state, 8}, std::pair{start, 19}, std::pair{end, 19}, std::pair{duration, 11}}) {
      out += "  ";
      append_cell(out, text, static_cast<std::size_t>(width), true, Cut::never);
    }
    return out + "  " + std::string{nodes} + '\n';
  };
  std::string out;
  if (header) out = line("RESV_NAME", "STATE", "START_TIME", "END_TIME", "DURATION", "NODELIST");
  for (const auto& each : reservations.reservations())
    out += line(each.name(), each.active() ? "ACTIVE" : "INACTIVE", format_time(each.start_us(), "Unknown"),
                format_time(each.end_us(), "Unknown"), format_duration((each.end_us() - each.start_us()) / 1'000'000),
                each.nodes());
  return out;
}

std::string render_groups(const std::vector<NodeGroup>& groups, const Format<NodeGroup>& format, bool header) {
  std::string out, scratch;
  if (header) append_header(out, format);
  for (const NodeGroup& group : groups) append_row(out, format, group, scratch);
  return out;
}

}  // namespace millrace
