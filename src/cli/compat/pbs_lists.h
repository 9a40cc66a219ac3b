// src/cli/compat/pbs_lists.h - jobs, queues and nodes as PBS's commands print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/render/data_tree.h"
#include "client.pb.h"

namespace millrace {

// A job, an array as a whole, or one task of it.
struct PbsRow {
  const wire::JobView* job = nullptr;
  std::optional<std::uint32_t> task{};
  bool array = false;  // as a whole: 12[]
  bool begun = false;  // ... and some of it is not waiting any more
  std::string user{};
  std::int64_t now_us = 0;
};
// One row for each array, or with `tasks` one for each task.
std::vector<PbsRow> pbs_rows(const std::vector<PbsRow>& jobs, bool tasks);

char pbs_state(const wire::JobView& job);   // Q, R, H, W, S, E, C
std::string pbs_number(const PbsRow& row);  // 12, 12[], 12[3]
std::string pbs_node_state(const wire::NodeView& node);
std::string qstat_header();
std::string qstat_row(const PbsRow& row);
using PbsKeys = std::vector<std::pair<std::string_view, std::string>>;
PbsKeys qstat_keys(const PbsRow& row);
std::string qstat_full(const PbsRow& row, bool one_line);
Data qstat_data(const PbsRow& row);  // -F json

// -a, -n, -u, -r, -i, -s: the other table.
struct PbsExtras {
  bool nodes = false, comments = false, one_line = false;
};
std::string qstat_other_header(std::string_view server);
std::string qstat_other_row(const PbsRow& row, PbsExtras extras);

std::string qstat_queues(const wire::Partitions& partitions, const wire::Jobs& jobs);                           // -Q
std::string qstat_queues_full(const wire::Partitions& partitions, const wire::Jobs& jobs);                      // -Q -f
std::string qstat_limits(std::string_view server, const wire::Partitions& partitions, const wire::Jobs& jobs);  // -q
std::string qstat_server(std::string_view server, const wire::Jobs& jobs, bool full);                           // -B
std::string pbsnodes_record(const wire::NodeView& node);
std::string pbsnodes_line(const wire::NodeView& node, bool note);  // -l

}  // namespace millrace
