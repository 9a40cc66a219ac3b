// src/smap/pages.cpp - see pages.h.
#include "smap/pages.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "base/shown_text.h"
#include "cli/render/job_words.h"
#include "cli/render/node_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

// One entry of the list, with the nodes its letter stands for on the map.
struct Entry {
  char letter = ' ';
  int colour = 0;
  std::vector<std::string> cells;
  std::string nodes;
};

struct Column {
  std::string_view title;
  int width;  // 0: the rest of the line
  bool right;
};

struct Listing {
  std::vector<Column> columns;
  std::vector<Entry> entries;
};

std::string fitted(const std::string& text, const Column& column) {
  if (column.width == 0) return text;
  const auto width = static_cast<std::size_t>(column.width);
  if (text.size() >= width) return text.substr(0, width);
  return column.right ? std::string(width - text.size(), ' ') + text : text + std::string(width - text.size(), ' ');
}

void give_letters(std::vector<Entry>& entries) {
  std::size_t next = 0;
  for (Entry& entry : entries) {
    if (entry.nodes.empty()) continue;  // a job that waits is nowhere on the map
    entry.letter = letters[next % letters.size()];
    entry.colour = static_cast<int>(next % smap_colours) + 1;
    ++next;
  }
}

Listing list_jobs(const SmapData& data) {
  Listing out{{{"JOBID", 12, true},
               {"PARTITION", 10, false},
               {"USER", 9, false},
               {"NAME", 16, false},
               {"ST", 3, false},
               {"TIME", 11, true},
               {"NODES", 6, true},
               {"NODELIST(REASON)", 0, false}},
              {}};
  std::vector<const wire::JobView*> jobs;
  for (const wire::JobView& job : data.jobs.jobs())
    if (!is_ended(job)) jobs.push_back(&job);
  std::ranges::stable_sort(jobs, [](const auto* a, const auto* b) {
    return std::pair{is_pending(*a), a->job_id()} < std::pair{is_pending(*b), b->job_id()};
  });
  Names names;
  for (const wire::JobView* job : jobs) {
    Entry entry;
    entry.nodes = job->nodes();
    entry.cells = {job_name_text(*job, std::nullopt),
                   job->partition(),
                   names.user(job->uid()),
                   job->name(),
                   std::string{state_compact(*job)},
                   format_short_duration(run_seconds(*job, data.jobs.now_us())),
                   std::to_string(job->node_count()),
                   job->nodes().empty() ? "(" + job->reason() + ")" : job->nodes()};
    out.entries.push_back(std::move(entry));
  }
  return out;
}

Listing list_partitions(const SmapData& data) {
  Listing out{{{"PARTITION", 12, false},
               {"AVAIL", 6, false},
               {"TIMELIMIT", 11, true},
               {"NODES", 6, true},
               {"CPUS", 7, true},
               {"NODELIST", 0, false}},
              {}};
  for (const wire::PartitionView& each : data.partitions.partitions()) {
    if (each.hidden()) continue;
    Entry entry;
    entry.nodes = each.nodes();
    entry.cells = {each.name() + (each.is_default() ? "*" : ""),
                   std::string{partition_availability(each)},
                   format_short_limit(each.max_time_minutes()),
                   std::to_string(each.node_count()),
                   std::to_string(each.cpu_count()),
                   each.nodes()};
    out.entries.push_back(std::move(entry));
  }
  return out;
}

Listing list_reservations(const SmapData& data) {
  Listing out{{{"RESERVATION", 16, false},
               {"STATE", 9, false},
               {"START_TIME", 20, false},
               {"END_TIME", 20, false},
               {"NODES", 6, true},
               {"USERS", 12, false},
               {"NODELIST", 0, false}},
              {}};
  for (const wire::ReservationView& each : data.reservations.reservations()) {
    Entry entry;
    entry.nodes = each.nodes();
    entry.cells = {each.name(),
                   each.active() ? "ACTIVE" : "INACTIVE",
                   format_time(each.start_us(), "N/A"),
                   format_time(each.end_us(), "N/A"),
                   std::to_string(each.node_count()),
                   each.users().empty() ? each.accounts() : each.users(),
                   each.nodes()};
    out.entries.push_back(std::move(entry));
  }
  return out;
}

// Switches by level, the lowest first; a node shows the letter of the lowest switch it hangs on.
Listing list_network(const SmapData& data) {
  Listing out{{{data.topology.blocks() ? "BLOCK" : "SWITCH", 16, false},
               {"LEVEL", 6, true},
               {"NODES", 6, true},
               {"BELOW IT", 0, false}},
              {}};
  std::vector<const wire::TopologyView::Switch*> switches;
  for (const auto& each : data.topology.switches()) switches.push_back(&each);
  std::ranges::stable_sort(switches, {}, [](const auto* each) { return each->level(); });
  for (const auto* each : switches) {
    const auto names = expand_hostlist(each->nodes());
    Entry entry;
    entry.nodes = each->level() == 0 ? each->nodes() : "";
    entry.cells = {each->name(), std::to_string(each->level()), std::to_string(names ? names->size() : 0),
                   each->switches().empty() ? each->nodes() : each->switches()};
    out.entries.push_back(std::move(entry));
  }
  return out;
}

Listing list_of(const SmapData& data, SmapView view) {
  switch (view) {
    case SmapView::jobs:
      return list_jobs(data);
    case SmapView::partitions:
      return list_partitions(data);
    case SmapView::reservations:
      return list_reservations(data);
    case SmapView::network:
      return list_network(data);
  }
  return {};
}

SmapSpan mark_of(const wire::NodeView& node, const std::map<std::string, const Entry*, std::less<>>& owners) {
  if (node.not_responding()) return {"?", smap_alarm};
  if (node.base() == wire::NodeView::DOWN || node.drain() || node.fail()) return {"#", smap_alarm};
  const auto owner = owners.find(node.name());
  if (owner == owners.end()) return {".", smap_faint};
  return {std::string(1, owner->second->letter), owner->second->colour};
}

std::vector<SmapLine> draw_map(const SmapData& data, const std::set<std::string, std::less<>>& shown,
                               const std::vector<Entry>& entries, int width) {
  std::map<std::string, const Entry*, std::less<>> owners;
  for (const Entry& entry : entries) {
    if (entry.letter == ' ') continue;
    const auto names = expand_hostlist(entry.nodes);
    if (!names) continue;
    for (const std::string& name : *names) owners.emplace(name, &entry);  // of several the first in the list
  }
  std::vector<SmapLine> out(1);
  int column = 0;
  for (const wire::NodeView& node : data.nodes.nodes()) {
    if (!shown.empty() && !shown.contains(node.name())) continue;
    if (column == width) out.emplace_back(), column = 0;
    SmapSpan mark = mark_of(node, owners);
    if (SmapLine& line = out.back(); !line.empty() && line.back().colour == mark.colour)
      line.back().text += mark.text;
    else
      line.push_back(std::move(mark));
    ++column;
  }
  return out;
}

}  // namespace

SmapPage make_page(const SmapData& data, const SmapOptions& options) {
  std::set<std::string, std::less<>> shown;
  if (const auto names = expand_hostlist(options.nodes); names && !options.nodes.empty())
    shown.insert(names->begin(), names->end());
  Listing listing = list_of(data, options.view);
  if (!shown.empty())
    std::erase_if(listing.entries, [&](const Entry& entry) {
      const auto names = expand_hostlist(entry.nodes);
      return !names || std::ranges::none_of(*names, [&](const std::string& name) { return shown.contains(name); });
    });
  give_letters(listing.entries);
  SmapPage page;
  page.map = draw_map(data, shown, listing.entries, std::max(options.width, 10));
  if (options.header) {
    std::string head = "ID ";
    for (const Column& column : listing.columns) head += fitted(std::string{column.title}, column) + ' ';
    page.list.push_back({{head, smap_head}});
  }
  for (const Entry& entry : listing.entries) {
    std::string rest;
    for (std::size_t i = 0; i < entry.cells.size(); ++i)
      rest += ' ' + fitted(shown_text(entry.cells[i]), listing.columns[i]);
    page.list.push_back(
        {{std::string(1, entry.letter) + ' ', entry.colour}, {rest, entry.letter == ' ' ? smap_faint : 0}});
  }
  return page;
}

std::string plain_text(const SmapPage& page) {
  std::string out;
  for (const auto* part : {&page.map, &page.list}) {
    for (const SmapLine& line : *part) {
      std::string text;
      for (const SmapSpan& span : line) text += span.text;
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + '\n';
    }
    if (part == &page.map) out += '\n';
  }
  return out;
}

}  // namespace millrace
