// src/cli/render/node_words.cpp - see node_words.h.
#include "cli/render/node_words.h"

#include "base/text.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

using View = wire::NodeView;

std::string_view base_word(const View& node) {
  switch (node.base()) {
    case View::DOWN:
      return "DOWN";
    case View::IDLE:
      return "IDLE";
    case View::ALLOCATED:
      return "ALLOCATED";
    case View::MIXED:
      return "MIXED";
    case View::FUTURE:
      return "FUTURE";
    default:
      return "UNKNOWN";
  }
}

bool is_busy(const View& node) { return node.base() == View::ALLOCATED || node.base() == View::MIXED; }

struct Words {
  std::string_view wide, compact;
};

// First match wins.
Words words_of(const View& node) {
  const bool idle = !is_busy(node) && !node.completing();
  if (node.maintenance() && idle && !node.drain() && node.base() != View::DOWN) return {"maint", "maint"};
  if (node.reboot_issued()) return {"reboot", "boot"};
  if (node.reboot_requested() && idle && node.base() != View::DOWN) return {"reboot", "boot"};
  if (node.drain() && (is_busy(node) || node.completing())) return {"draining", "drng"};
  if (node.drain()) return {"drained", "drain"};
  if (node.fail() && !idle) return {"failing", "failg"};
  if (node.fail()) return {"fail", "fail"};
  if (node.base() == View::DOWN) return {"down", "down"};
  if (node.base() == View::ALLOCATED)
    return node.completing() ? Words{"allocated+", "alloc+"} : Words{"allocated", "alloc"};
  if (node.completing()) return {"completing", "comp"};
  if (node.base() == View::IDLE) return node.reservation().empty() ? Words{"idle", "idle"} : Words{"reserved", "resv"};
  if (node.base() == View::MIXED) return {"mixed", "mix"};
  if (node.base() == View::FUTURE) return {"future", "futr"};
  return {"unknown", "unk"};
}

struct FilterRow {
  std::string_view name;
  bool (*matches)(const View& node);
};

constexpr FilterRow filter_rows[] = {
    {"allocated", [](const View& n) { return n.base() == View::ALLOCATED; }},
    {"completing", [](const View& n) { return n.completing(); }},
    {"comp", [](const View& n) { return n.completing(); }},
    {"down", [](const View& n) { return n.base() == View::DOWN; }},
    {"drained", [](const View& n) { return n.drain() && !is_busy(n) && !n.completing(); }},
    {"draining", [](const View& n) { return n.drain() && (is_busy(n) || n.completing()); }},
    {"drng", [](const View& n) { return n.drain() && (is_busy(n) || n.completing()); }},
    {"drain", [](const View& n) { return n.drain(); }},
    {"fail", [](const View& n) { return n.fail(); }},
    {"failing", [](const View& n) { return n.fail() && (is_busy(n) || n.completing()); }},
    {"failg", [](const View& n) { return n.fail() && (is_busy(n) || n.completing()); }},
    {"future", [](const View& n) { return n.base() == View::FUTURE; }},
    {"futr", [](const View& n) { return n.base() == View::FUTURE; }},
    {"idle", [](const View& n) { return n.base() == View::IDLE && !n.drain(); }},
    {"maint", [](const View& n) { return n.maintenance(); }},
    {"mixed", [](const View& n) { return n.base() == View::MIXED; }},
    {"no_respond", [](const View& n) { return n.not_responding(); }},
    {"noresp", [](const View& n) { return n.not_responding(); }},
    {"planned", [](const View&) { return false; }},
    {"plnd", [](const View&) { return false; }},
    {"power_down", [](const View& n) { return n.power_down_wanted(); }},
    {"powering_down", [](const View& n) { return n.powering_down(); }},
    {"powered_down", [](const View& n) { return n.powered_down(); }},
    {"powering_up", [](const View& n) { return n.powering_up(); }},
    {"power_up", [](const View& n) { return n.power_up_wanted(); }},
    {"cloud", [](const View& n) { return n.cloud(); }},
    {"dynamic_norm", [](const View& n) { return n.dynamic(); }},
    {"reboot", [](const View& n) { return n.reboot_requested() || n.reboot_issued(); }},
    {"reserved", [](const View& n) { return !n.reservation().empty(); }},
    {"resv", [](const View& n) { return !n.reservation().empty(); }},
    {"unknown", [](const View& n) { return n.base() == View::UNKNOWN; }},
};

const FilterRow* find_filter(std::string_view word) {
  for (const FilterRow& row : filter_rows)
    if (row.name == word) return &row;
  for (const FilterRow& row : filter_rows)
    if (word.size() >= 3 && row.name.starts_with(word)) return &row;
  return nullptr;
}

std::string with_suffix(std::string_view word, const View& node) {
  std::string out{word};
  if (node.maintenance())
    out += '$';
  else if (node.reboot_issued())
    out += '^';
  else if (node.reboot_requested())
    out += '@';
  else if (node.powering_up())
    out += '#';
  else if (node.powering_down())
    out += '%';
  else if (node.powered_down())
    out += '~';
  else if (node.power_down_wanted())
    out += '!';
  else if (node.not_responding())
    out += '*';
  return out;
}

}  // namespace

std::string node_state_full(const View& node) {
  std::string out{base_word(node)};
  if (node.cloud()) out += "+CLOUD";
  if (node.completing()) out += "+COMPLETING";
  if (node.drain()) out += "+DRAIN";
  if (node.dynamic()) out += "+DYNAMIC_NORM";
  if (node.fail()) out += "+FAIL";
  if (node.maintenance()) out += "+MAINTENANCE";
  if (node.power_down_wanted()) out += "+POWER_DOWN";
  if (node.power_up_wanted()) out += "+POWER_UP";
  if (node.powered_down()) out += "+POWERED_DOWN";
  if (node.reboot_requested()) out += "+REBOOT_REQUESTED";
  if (node.reboot_issued()) out += "+REBOOT_ISSUED";
  if (!node.reservation().empty()) out += "+RESERVED";
  if (node.not_responding()) out += "+NOT_RESPONDING";
  if (node.powering_up()) out += "+POWERING_UP";
  if (node.powering_down()) out += "+POWERING_DOWN";
  return out;
}

std::string node_state_long(const View& node) { return with_suffix(words_of(node).wide, node); }
std::string node_state_compact(const View& node) { return with_suffix(words_of(node).compact, node); }

std::uint32_t node_state_order(const View& node) {
  return static_cast<std::uint32_t>(node.base()) + (node.drain() ? 0x200u : 0) + (node.fail() ? 0x1000u : 0) +
         (node.reboot_requested() || node.reboot_issued() ? 0x2000u : 0) + (node.completing() ? 0x400u : 0) +
         (node.not_responding() ? 0x800u : 0) + (node.powering_up() ? 0x4000u : 0) +
         (node.powering_down() ? 0x8000u : 0) + (node.powered_down() ? 0x10000u : 0) +
         (node.power_down_wanted() ? 0x20000u : 0);
}

bool node_is_allocated(const View& node) { return !node.drain() && (is_busy(node) || node.completing()); }
bool node_is_idle(const View& node) {
  return !node.drain() && !node.fail() && !node.reboot_issued() && !node.completing() && node.base() == View::IDLE;
}

std::optional<NodeStateFilter> parse_node_state(std::string_view word) {
  const std::string small = lower(trim(word));
  if (small.empty()) return std::nullopt;
  for (std::string_view part : split(small, '&')) {
    if (!part.empty() && std::string_view{"*~#%!$@^"}.find(part.back()) != std::string_view::npos)
      part.remove_suffix(1);
    if (!part.empty() && part.front() == '~') part.remove_prefix(1);
    if (find_filter(part) == nullptr) return std::nullopt;
  }
  return NodeStateFilter{small};
}

std::string node_state_list() {
  std::string out;
  for (const FilterRow& row : filter_rows) out += upper_case(row.name) + '\n';
  return out;
}

bool matches(const NodeStateFilter& filter, const View& node) {
  for (std::string_view part : split(filter.word, '&')) {
    const bool silent = part.ends_with('*');
    if (silent && !node.not_responding()) return false;
    const bool negated = part.starts_with('~');
    if (part.back() == '~' && !node.powered_down()) return false;
    if (part.back() == '#' && !node.powering_up()) return false;
    if (part.back() == '%' && !node.powering_down()) return false;
    if (part.back() == '!' && !node.power_down_wanted()) return false;
    if (std::string_view{"*~#%!$@^"}.find(part.back()) != std::string_view::npos) part.remove_suffix(1);
    if (negated) part.remove_prefix(1);
    if (find_filter(part)->matches(node) == negated) return false;
  }
  return true;
}

std::string_view partition_state(const wire::PartitionView& partition) {
  constexpr std::string_view words[] = {"UP", "DOWN", "DRAIN", "INACTIVE"};
  return words[static_cast<std::size_t>(partition.availability()) % 4];
}

std::string_view partition_availability(const wire::PartitionView& partition) {
  constexpr std::string_view words[] = {"up", "down", "drain", "inact"};
  return words[static_cast<std::size_t>(partition.availability()) % 4];
}

}  // namespace millrace
