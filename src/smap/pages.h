// src/smap/pages.h - the pages of smap as lines of marked text: a map of the nodes, and below it jobs, partitions,
// reservations or the network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client.pb.h"

namespace millrace {

enum class SmapView : std::uint8_t { jobs, partitions, reservations, network };

// Everything a page shows, as one round of questions brought it.
struct SmapData {
  wire::Jobs jobs;
  wire::Nodes nodes;
  wire::Partitions partitions;
  wire::Reservations reservations;
  wire::TopologyView topology;
};

// What a stretch of text is drawn in; 0 is plain, 1 to 6 are colours that take turns, the rest have a meaning.
constexpr int smap_colours = 6;
constexpr int smap_faint = 7, smap_alarm = 8, smap_head = 9;
struct SmapSpan {
  std::string text;
  int colour = 0;
};
using SmapLine = std::vector<SmapSpan>;

struct SmapOptions {
  SmapView view = SmapView::jobs;
  bool header = true;
  std::string nodes;  // a hostlist: only these
  int width = 80;
};

// A node is the letter of what it belongs to in this view: a job, a partition, a reservation, a switch. '.' has
// nothing, '#' is down or drained, '?' does not answer.
struct SmapPage {
  std::vector<SmapLine> map, list;  // the list is scrolled below the map
};
SmapPage make_page(const SmapData& data, const SmapOptions& options);
std::string plain_text(const SmapPage& page);

}  // namespace millrace
