// src/cli/sinfo.cpp - lists partitions and nodes: which to ask for, how to group and show them.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/options/option.h"
#include "cli/render/node_columns.h"
#include "cli/render/node_words.h"
#include "client.pb.h"

namespace millrace {
namespace {

constexpr ManualHead sinfo_head{"sinfo", "list partitions and nodes", "[options]",
                                "Shows partitions and the nodes in them, grouped by state."};

struct SinfoDraft {
  Asked asked;
  ListingWish listing;
  NodeViewOptions view;
  std::optional<std::string> format, long_format, sort, partitions, nodes, states;
  bool all = false, dead = false, responding = false, no_header = false, future = false, reservations = false;
  int verbose = 0;
};

using Text = std::string_view;
using enum ArgKind;

template <auto field>
Result<void> keep(SinfoDraft& d, Text v) {
  d.*field = std::string{v};
  return {};
}
template <auto field>
Result<void> on(SinfoDraft& d, Text) {
  d.*field = true;
  return {};
}
template <auto field>
Result<void> view(SinfoDraft& d, Text) {
  d.view.*field = true;
  return {};
}

Result<void> nothing(SinfoDraft&, Text) { return {}; }

constexpr auto without_effect = Effect::no_effect;

// clang-format off
constexpr Option<SinfoDraft> sinfo_rows[] = {
    {"Node", 'N', none, "", any_tool, "", "", "one line per node and partition", view<&NodeViewOptions::per_node>},
    {"all", 'a', none, "", any_tool, "SINFO_ALL", "", "hidden partitions too", on<&SinfoDraft::all>},
    {"clusters", 'M', required, "<names>", any_tool, "SLURM_CLUSTERS", "", "this cluster by its name, or all", [](SinfoDraft& d, Text v) -> Result<void> { d.listing.clusters = std::string{v}; return {}; }},
    {"dead", 'd', none, "", any_tool, "", "", "nodes that do not respond", on<&SinfoDraft::dead>},
    {"exact", 'e', none, "", any_tool, "", "", "nodes that differ in anything shown on lines of their own", view<&NodeViewOptions::exact>},
    {"federation", '\0', none, "", any_tool, "SINFO_FEDERATION", "", "partitions of the federation", nothing, without_effect, "there are no federations: one cluster is all"},
    {"format", 'o', required, "<format>", any_tool, "", "", "columns by letter, as in %P %t %N", keep<&SinfoDraft::format>},
    {"Format", 'O', required, "<format>", any_tool, "", "", "columns by name, as in Partition,StateLong:10", keep<&SinfoDraft::long_format>},
    {"future", 'F', none, "", any_tool, "SINFO_FUTURE", "", "also nodes in state FUTURE", on<&SinfoDraft::future>},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](SinfoDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"helpformat", '\0', none, "", any_tool, "", "", "list the columns of -O", [](SinfoDraft& d, Text) -> Result<void> { d.listing.help_format = true; return {}; }},
    {"helpstate", '\0', none, "", any_tool, "", "", "list the states", [](SinfoDraft& d, Text) -> Result<void> { d.listing.help_states = true; return {}; }},
    {"hide", '\0', none, "", any_tool, "", "", "no hidden partitions", [](SinfoDraft& d, Text) -> Result<void> { d.all = false; return {}; }},
    {"iterate", 'i', required, "<seconds>", any_tool, "", "", "again every so many seconds", [](SinfoDraft& d, Text v) { return wish_iterate(d.listing, v); }},
    {"json", '\0', optional, "<parser>", any_tool, "", "", "records as JSON", [](SinfoDraft& d, Text v) { return wish_json(d.listing, v); }},
    {"list-reasons", 'R', none, "", any_tool, "", "", "why nodes are down or drained", view<&NodeViewOptions::reasons>},
    {"local", '\0', none, "", any_tool, "SINFO_LOCAL", "", "partitions of this cluster only", nothing, without_effect, "there are no federations: one cluster is all"},
    {"long", 'l', none, "", any_tool, "", "", "more columns", view<&NodeViewOptions::long_form>},
    {"noconvert", '\0', none, "", any_tool, "", "", "sizes in the units they have", nothing, without_effect, "sizes are never rounded here"},
    {"nodes", 'n', required, "<nodes>", any_tool, "", "", "these nodes", keep<&SinfoDraft::nodes>},
    {"noheader", 'h', none, "", any_tool, "", "", "no header line", on<&SinfoDraft::no_header>},
    {"partition", 'p', required, "<names>", any_tool, "SINFO_PARTITION", "", "these partitions", keep<&SinfoDraft::partitions>},
    {"reservation", 'T', none, "", any_tool, "", "", "reservations instead of partitions", on<&SinfoDraft::reservations>},
    {"responding", 'r', none, "", any_tool, "", "", "nodes that respond", on<&SinfoDraft::responding>},
    {"sort", 'S', required, "<letters>", any_tool, "SINFO_SORT", "", "order by these columns; - before one reverses it", keep<&SinfoDraft::sort>},
    {"states", 't', required, "<states>", any_tool, "", "", "nodes in these states", keep<&SinfoDraft::states>},
    {"summarize", 's', none, "", any_tool, "", "", "one line per partition", view<&NodeViewOptions::summarize>},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](SinfoDraft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"verbose", 'v', none, "", any_tool, "", "", "say when the listing was made", [](SinfoDraft& d, Text) -> Result<void> { ++d.verbose; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](SinfoDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"yaml", '\0', optional, "<parser>", any_tool, "", "", "records as YAML", [](SinfoDraft& d, Text v) { return wish_yaml(d.listing, v); }},
};
// clang-format on

struct Chosen {
  Format<NodeGroup> format;
  bool is_default = false;
};

Result<Chosen> choose_format(const Command& command, const SinfoDraft& draft) {
  if (draft.format && draft.long_format) return fail(Errc::refused, "-o and -O options are mutually exclusive");
  std::vector<std::string> unknown;
  std::string letters;
  Chosen out;
  const char* environment = std::getenv("SINFO_FORMAT");
  const bool fixed = draft.view.long_form || draft.view.per_node || draft.view.summarize || draft.view.reasons;
  if (draft.format)
    out.format = parse_short_format<NodeGroup>(*draft.format, node_columns(), letters);
  else if (draft.long_format && equals_ignoring_case(*draft.long_format, "all"))
    out.format = parse_short_format<NodeGroup>("%all", node_columns(), letters);
  else if (draft.long_format)
    out.format = parse_long_format<NodeGroup>(*draft.long_format, node_columns(), unknown);
  else if (!fixed && environment != nullptr)
    out.format = parse_short_format<NodeGroup>(environment, node_columns(), letters);
  else {
    out.format = parse_long_format<NodeGroup>(sinfo_default_format(draft.view), node_columns(), unknown);
    out.is_default = true;
  }
  for (const char letter : letters) say_error(command, std::string{"Invalid node format specification: "} + letter);
  for (const std::string& name : unknown) say_error(command, "Invalid node format specification: " + name);
  return out;
}

struct NodeFilter {
  std::vector<NodeStateFilter> states;
  std::set<std::string, std::less<>> names;
  bool dead = false, responding = false, future = false;

  bool operator()(const wire::NodeView& node) const {
    if (node.base() == wire::NodeView::FUTURE && !future) return false;
    if (!names.empty() && !names.contains(node.name())) return false;
    if (dead && !node.not_responding()) return false;
    if (responding && node.not_responding()) return false;
    return states.empty() ||
           std::ranges::any_of(states, [&](const NodeStateFilter& state) { return matches(state, node); });
  }
};

Result<NodeFilter> make_filter(const SinfoDraft& draft) {
  NodeFilter out;
  out.dead = draft.dead;
  out.responding = draft.responding;
  out.future = draft.future || (draft.states && lower(*draft.states).find("fut") != std::string::npos);
  const std::string states = draft.states ? *draft.states : draft.view.reasons ? "down,fail,drain" : "";
  for (const std::string_view word : split(states, ',')) {
    if (trim(word).empty() || equals_ignoring_case(trim(word), "all")) continue;
    const auto state = parse_node_state(word);
    if (!state) return fail(Errc::refused, "Bad state string: \"" + std::string{trim(word)} + "\"");
    out.states.push_back(*state);
  }
  if (draft.nodes) {
    const auto names = expand_hostlist(*draft.nodes);
    if (!names) return fail(Errc::refused, names.error().story);
    out.names.insert(names->begin(), names->end());
  }
  return out;
}

int print_groups_as_data(const Command& command, const SinfoDraft& draft, const ClientSettings& settings,
                         const std::vector<NodeGroup>& groups, Names& names, std::int64_t now_us) {
  const DataContext context{now_us, settings.cluster_name, &names};
  std::size_t at = 0;
  const auto next = [&] { return at == groups.size() ? Data{} : node_group_data(groups[at++], context); };
  return print_records(command, settings, draft.listing.data->form, "sinfo", next);
}

int show_reservations(const Command& command, const SinfoDraft& draft, const ClientSettings& settings) {
  Session session(*session_options(settings, command));
  wire::Request request;
  request.mutable_query_reservations();
  const auto reply = ask_all(session, request);
  if (!reply) {
    say_trouble(command, session);
    say_plain("slurm_load_reservations error: " + reply.error().story);
    return 1;
  }
  if (reply->reservations().reservations_size() == 0) return print("No reservations in the system\n");
  return print(reservation_lines(reply->reservations(), !draft.no_header));
}

int show(const Command& command, const SinfoDraft& draft, const ClientSettings& settings) {
  auto chosen = choose_format(command, draft);
  if (!chosen) return say_usage_error(command, chosen.error());
  if (draft.listing.data) {
    std::vector<std::string> unknown;
    chosen->format = parse_long_format<NodeGroup>(sinfo_record_columns, node_columns(), unknown);
  }
  const auto filter = make_filter(draft);
  if (!filter) return say_usage_error(command, filter.error());
  Session session(*session_options(settings, command));
  wire::Request for_partitions, for_nodes;
  for_partitions.mutable_query_partitions()->set_without_hidden(!draft.all &&
                                                                !draft.partitions);  // who names a partition means it
  for_nodes.mutable_query_nodes()->set_future_too(filter->future);
  const auto partitions = ask_all(session, for_partitions);
  const auto nodes =
      partitions ? ask_all(session, for_nodes) : Result<wire::Reply>{std::unexpected(partitions.error())};
  if (!nodes) {
    say_trouble(command, session);
    say_plain("slurm_load_partitions: " + nodes.error().story);
    return 1;
  }
  std::set<std::string, std::less<>> wanted;
  if (draft.partitions)
    for (const std::string_view word : split(*draft.partitions, ',')) wanted.emplace(trim(word));
  NodeListing listing;
  for (const wire::PartitionView& partition : partitions->partitions().partitions())
    if (wanted.empty() || wanted.contains(partition.name())) listing.partitions.push_back(&partition);
  for (const wire::NodeView& node : nodes->nodes().nodes())
    if ((*filter)(node)) listing.nodes.push_back(&node);
  listing.show_empty = !draft.view.per_node && !draft.view.reasons;
  Names names;
  const NodeContext context{&names, settings.cluster_name};
  NodeViewOptions view = draft.view;
  if (draft.listing.data) view.exact = true;
  auto groups = group_nodes(listing, chosen->format, view, context);
  sort_groups(groups, draft.sort ? *draft.sort : draft.view.per_node ? "N,#P" : draft.view.reasons ? "N" : "#P,-t");
  const std::int64_t now =
      nodes->nodes().now_us() != 0 ? nodes->nodes().now_us() : static_cast<std::int64_t>(time(nullptr)) * 1'000'000;
  if (draft.listing.data) return print_groups_as_data(command, draft, settings, groups, names, now);
  if (chosen->is_default) widen(chosen->format, groups);
  std::string out;
  if (!draft.no_header && (draft.view.long_form || draft.verbose > 0 || draft.listing.every_seconds != 0))
    out = format_date_line(now) + '\n';
  out += render_groups(groups, chosen->format, !draft.no_header);
  return print(out);
}

// What was asked for, as Slurm lists it.
std::string told_wishes(const SinfoDraft& d) {
  const auto text = [](const std::optional<std::string>& value, const char* nothing) {
    return value.value_or(nothing);
  };
  const auto truth = [](bool value) { return std::string{value ? "true" : "false"}; };
  const std::pair<Text, std::string> lines[] = {
      {"dead", truth(d.dead)},
      {"exact", d.view.exact ? "1" : "0"},
      {"filtering", truth(d.dead || d.responding || d.nodes || d.partitions || d.states)},
      {"format", d.format        ? *d.format
                 : d.long_format ? *d.long_format
                                 : std::string{sinfo_default_format(d.view)}},
      {"iterate", std::to_string(d.listing.every_seconds)},
      {"long", truth(d.view.long_form)},
      {"no_header", truth(d.no_header)},
      {"node_format", truth(d.view.per_node)},
      {"nodes", text(d.nodes, "n/a")},
      {"partition", text(d.partitions, "n/a")},
      {"responding", truth(d.responding)},
      {"states", text(d.states, "(null)")},
      {"sort", text(d.sort, "(null)")},
      {"summarize", truth(d.view.summarize)},
      {"verbose", std::to_string(d.verbose)},
  };
  std::string out = "-----------------------------\n";
  for (const auto& [name, value] : lines)
    out += std::string{name} + std::string(12 - name.size(), ' ') + "= " + value + '\n';
  return out + "-----------------------------\n\n";
}

}  // namespace

std::vector<OptionText> sinfo_options() {
  return option_texts(std::span<const Option<SinfoDraft>>{sinfo_rows}, any_tool);
}
std::string sinfo_manual() {
  return man_page(sinfo_head, option_texts(std::span<const Option<SinfoDraft>>{sinfo_rows}, any_tool),
                  manual_columns("COLUMNS", node_columns()));
}

int run_sinfo(Command& command) {
  SinfoDraft draft;
  const std::span<const Option<SinfoDraft>> table{sinfo_rows};
  if (const auto done = apply_environment(table, any_tool, draft); !done) return say_usage_error(command, done.error());
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, sinfo_head, option_texts(table, any_tool))) return 0;
  if (draft.listing.help_format) {
    std::vector<std::string_view> names;
    for (const auto& column : node_columns()) names.push_back(column.name);
    return print(name_columns(names));
  }
  if (draft.listing.help_states) return print(node_state_list());
  command.verbose = draft.verbose;
  if (draft.verbose > 0 && !draft.listing.data) print(told_wishes(draft));
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return run_listing(command, draft.listing, *settings, [&] {
    return draft.reservations ? show_reservations(command, draft, *settings) : show(command, draft, *settings);
  });
}

}  // namespace millrace
