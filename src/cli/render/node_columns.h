// src/cli/render/node_columns.h - the columns of sinfo, one row each, and how it groups nodes into lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/format.h"
#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

struct NodeContext {
  Names* names = nullptr;
  std::string cluster;
};

// One line of sinfo: nodes of a partition (or one node, with -N) that agree in everything shown that cannot be a range.
struct NodeGroup {
  const wire::PartitionView* partition = nullptr;
  std::size_t partition_order = 0;
  std::vector<const wire::NodeView*> nodes;
  const NodeContext* context = nullptr;
};

std::span<const Column<NodeGroup>> node_columns();
// Whether nodes with different values of this column stand on different lines.
bool column_splits(const Column<NodeGroup>& column);

struct NodeViewOptions {
  bool per_node = false;   // -N
  bool long_form = false;  // -l
  bool summarize = false;  // -s
  bool reasons = false;    // -R
  bool exact = false;      // -e
};
std::string sinfo_default_format(const NodeViewOptions& options);
// Nodes of a partition that agree in all of these are one record of --json.
inline constexpr std::string_view sinfo_record_columns =
    "Partition,StateComplete,AllocMem,CPUs,CPUsState,SocketCoreThread,Memory,Disk,Weight,Features,Gres,GresUsed,Reason,"
    "TimeStamp,UserLong,Reservation,Comment,Extra";

struct NodeListing {
  std::vector<const wire::PartitionView*> partitions;  // in the order to show
  std::vector<const wire::NodeView*> nodes;            // that passed the filters
  bool show_empty = true;                              // a partition without nodes is a line of its own
};
std::vector<NodeGroup> group_nodes(const NodeListing& listing, const Format<NodeGroup>& format,
                                   const NodeViewOptions& options, const NodeContext& context);
void sort_groups(std::vector<NodeGroup>& groups, std::string_view keys);
// Default formats let the partition and node columns grow to fit.
void widen(Format<NodeGroup>& format, const std::vector<NodeGroup>& groups);
// sinfo -T
std::string reservation_lines(const wire::Reservations& reservations, bool header);
std::string render_groups(const std::vector<NodeGroup>& groups, const Format<NodeGroup>& format, bool header);

}  // namespace millrace
