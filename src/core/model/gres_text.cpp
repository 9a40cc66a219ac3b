// src/core/model/gres_text.cpp - see gres_text.h.
#include "core/model/gres_text.h"

#include <algorithm>

#include "base/index_set.h"
#include "base/text.h"
#include "core/model/assign.h"

namespace millrace {
namespace {

constexpr std::int64_t count_max = std::int64_t{1} << 50;

std::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return fail(Errc::invalid, "'" + std::string{text} + "': " + why);
}

// Commas inside (S:0,2) belong to the entry.
std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const std::string_view entry = trim(text.substr(first, i - first)); !entry.empty()) out.push_back(entry);
    first = i + 1;
  }
  return out;
}

bool is_name(std::string_view word) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == '@' || c == '+';
  };
  return !word.empty() && std::ranges::all_of(word, letter);
}

Result<std::uint64_t> sockets_of(std::string_view entry, std::string_view inside) {
  if (!inside.starts_with("S:")) return wrong(entry, "in parentheses stand sockets, as in gpu:2(S:0-1)");
  const auto set = parse_index_set(inside.substr(2), 63);
  if (!set || set->empty()) return wrong(entry, "not a list of sockets below 64");
  std::uint64_t bits = 0;
  set->for_each([&](std::uint32_t socket) { bits |= 1ULL << socket; });
  return bits;
}

// name[:type][:count]; a number alone is the count.
struct Entry {
  std::string name, type;
  std::int64_t count = 1;
};

Result<Entry> parse_entry(std::string_view text) {
  std::vector<std::string_view> words = split(text, ':');
  Entry out;
  if (!is_name(words[0])) return wrong(text, "a name of letters and digits is expected");
  out.name = words[0];
  if (words.size() > 1 && words[1] == "no_consume") return wrong(text, "no_consume is not built yet in Millrace");
  if (words.size() > 3) return wrong(text, "at most name:type:count");
  const auto last = parse_count(words.back());
  if (words.size() == 3 && !last) return wrong(text, "after the type comes a count");
  if (words.size() == 3 || (words.size() == 2 && !last)) {
    if (!is_name(words[1])) return wrong(text, "a type of letters and digits is expected");
    out.type = words[1];
  }
  if (words.size() > 1 && last) out.count = *last;
  return out;
}

void spread(NodeGres& kind, std::int64_t gpus) {
  kind.parts.assign(static_cast<std::size_t>(gpus), kind.count / gpus);
  for (std::int64_t i = 0; i < kind.count % gpus; ++i) ++kind.parts[static_cast<std::size_t>(i)];
}

std::string shown(std::string_view name, std::string_view type, std::int64_t count) {
  return std::string{name} + (type.empty() ? "" : ":" + std::string{type}) + ":" + std::to_string(count);
}

std::string parts_used(const Node& node, std::size_t slot) {
  std::string out;
  const NodeGres& kind = node.def->kinds[slot];
  for (std::size_t device = 0; device < kind.parts.size(); ++device) {
    std::int64_t used = 0;
    for (const PartUse& part : node.use.parts)
      if (part.slot == slot && part.device == device) used = part.count;
    out += (out.empty() ? "" : ",") + std::to_string(used) + "/" + std::to_string(kind.parts[device]);
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t factor = 1;
  if (!text.empty()) {
    constexpr std::string_view units = "kmgt";
    const std::size_t unit = units.find(static_cast<char>(text.back() | 0x20));
    if (unit != std::string_view::npos) {
      factor = std::int64_t{1} << (10 * (unit + 1));
      text.remove_suffix(1);
    }
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos || text.size() > 15)
    return std::nullopt;
  const auto number = parse_integer(text);
  if (!number || *number > count_max / factor) return std::nullopt;
  return *number * factor;
}

Result<std::vector<NodeGres>> parse_node_gres(std::string_view text) {
  std::vector<NodeGres> kinds;
  for (const std::string_view entry : entries_of(text)) {
    const std::size_t open = entry.find('(');
    if (open != std::string_view::npos && entry.back() != ')') return wrong(entry, "the parenthesis is not closed");
    MR_TRY(Entry read, parse_entry(trim(entry.substr(0, open))));
    if (std::ranges::any_of(kinds, [&](const NodeGres& k) { return k.name == read.name && k.type == read.type; }))
      return wrong(entry, "named twice");
    NodeGres kind{read.name, read.type, read.count, {}, read.name != "gpu", {}, {}};
    if (open != std::string_view::npos) {
      MR_TRY(const std::uint64_t sockets, sockets_of(entry, entry.substr(open + 1, entry.size() - open - 2)));
      if (kind.count <= devices_max) {
        kind.near.assign(static_cast<std::size_t>(kind.count), sockets);
        kind.countable_only = false;
      }
    }
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

Result<void> settle_kinds(std::vector<NodeGres>& kinds) {
  if (kinds.size() > gres_kinds_max)
    return fail(Errc::invalid, std::to_string(kinds.size()) + " kinds of generic resources; a node can have " +
                                   std::to_string(gres_kinds_max));
  std::int64_t gpus = 0;
  for (const NodeGres& kind : kinds)
    if (kind.name == "gpu") gpus += kind.count;
  if (gpus > devices_max)
    return fail(Errc::invalid, std::to_string(gpus) + " gpus; a node can have " + std::to_string(devices_max));
  for (NodeGres& kind : kinds) {
    if (kind.name != "gpu" && !kind.countable_only && kind.count > devices_max)
      return fail(Errc::invalid, std::to_string(kind.count) + " devices of " + kind.name +
                                     "; of one kind a node can have " + std::to_string(devices_max) +
                                     ", without File any number");
    if (kind.name != "shard" && kind.name != "mps") continue;
    if (gpus == 0) return fail(Errc::invalid, kind.name + " is a part of a gpu, but the node has none");
    kind.countable_only = false;
    kind.near.clear();
    if (kind.parts.empty())
      spread(kind, gpus);
    else
      kind.parts.resize(static_cast<std::size_t>(gpus));
  }
  return {};
}

Result<std::vector<GresAsk>> parse_gres_asks(std::string_view text, GresScope scope) {
  std::vector<GresAsk> out;
  if (equals_ignoring_case(trim(text), "none")) return out;
  for (const std::string_view entry : entries_of(text)) {
    std::string word{entry};
    if (word.starts_with("gres/") || word.starts_with("gres:")) word.erase(0, 5);
    std::ranges::replace(word, '=', ':');
    MR_TRY(Entry read, parse_entry(word));
    if (std::ranges::any_of(out, [&](const GresAsk& ask) { return ask.name == read.name && ask.type == read.type; }))
      return wrong(entry, "named twice");
    if (read.count > 0) out.push_back({read.name, read.type, read.count, scope});
  }
  return out;
}

Result<std::vector<GresAsk>> parse_gpu_asks(std::string_view text, GresScope scope) {
  std::string list;
  for (const std::string_view entry : entries_of(text)) {
    const bool named =
        entry == "gpu" || entry.starts_with("gpu:") || entry.starts_with("gres/") || entry.starts_with("gres:");
    list += (list.empty() ? "" : ",") + std::string{named ? "" : "gpu:"} + std::string{entry};
  }
  if (list.empty()) return wrong(text, "a number of gpus is expected, as in 2 or a100:2");
  return parse_gres_asks(list, scope);
}

Result<LicenceList> parse_licences(std::string_view text) {
  LicenceList out;
  text = trim(text);
  if (text.empty()) return out;
  out.any = text.find('|') != std::string_view::npos;
  if (out.any && text.find(',') != std::string_view::npos)
    return wrong(text, "either ',' (all of them) or '|' (one of them), not both");
  for (const std::string_view entry : split(text, out.any ? '|' : ',')) {
    const std::size_t end = entry.find_first_of(":=");
    const std::string_view name = trim(entry.substr(0, end));
    if (!is_name(name)) return wrong(text, "a license is a name, or name:count");
    LicenceAsk ask{std::string{name}, 1};
    if (end != std::string_view::npos) {
      const auto count = parse_count(entry.substr(end + 1));
      if (!count || *count > UINT32_MAX) return wrong(entry, "after the colon comes a count");
      ask.count = static_cast<std::uint32_t>(*count);
    }
    if (std::ranges::any_of(out.asks, [&](const LicenceAsk& other) { return other.name == ask.name; }))
      return wrong(entry, "named twice");
    if (ask.count > 0) out.asks.push_back(std::move(ask));
  }
  return out;
}

std::string format_licences(std::span<const LicenceAsk> asks, bool any) {
  std::string out;
  for (const LicenceAsk& ask : asks)
    out += (out.empty() ? "" : any ? "|" : ",") + ask.name + ":" + std::to_string(ask.count);
  return out;
}

std::string format_asks(std::span<const GresAsk> asks, GresScope scope) {
  std::string out;
  for (const GresAsk& ask : asks)
    if (ask.scope == scope) out += (out.empty() ? "gres/" : ",gres/") + shown(ask.name, ask.type, ask.count);
  return out;
}

std::string format_kinds(const NodeDef& node) {
  std::string out;
  for (const NodeGres& kind : node.kinds) {
    out += (out.empty() ? "" : ",") + shown(kind.name, kind.type, kind.count);
    std::uint64_t sockets = 0;
    for (const std::uint64_t near : kind.near) sockets |= near;
    if (sockets != 0) out += "(S:" + format_bits({&sockets, 1}) + ")";
  }
  return out;
}

std::string format_used(const Node& node) {
  std::string out;
  for (std::size_t slot = 0; slot < node.def->kinds.size() && slot < gres_kinds_max; ++slot) {
    const NodeGres& kind = node.def->kinds[slot];
    out += (out.empty() ? "" : ",") + shown(kind.name, kind.type, node.used_gres[slot]);
    if (is_part(kind))
      out += "(" + parts_used(node, slot) + ")";
    else if (!kind.countable_only) {
      const std::string devices = format_bits({&node.use.devices[slot], 1});
      out += "(IDX:" + (devices.empty() ? "N/A" : devices) + ")";
    }
  }
  return out;
}

std::string format_share(const NodeDef& node, std::span<const std::uint64_t, gres_kinds_max> devices,
                         std::span<const std::int64_t, gres_kinds_max> counts) {
  std::string out;
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot) {
    if (counts[slot] == 0) continue;
    const NodeGres& kind = node.kinds[slot];
    out += (out.empty() ? "" : ",") + shown(kind.name, kind.type, counts[slot]);
    if (devices[slot] != 0) out += "(IDX:" + format_bits({&devices[slot], 1}) + ")";
  }
  return out;
}

}  // namespace millrace
