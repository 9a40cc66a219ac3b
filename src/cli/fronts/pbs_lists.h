// src/cli/fronts/pbs_lists.h - jobs, queues and nodes as PBS's commands print them.
#pragma once

#include <string>

#include "millrace.pb.h"

namespace millrace {

char pbs_state(const wire::JobView& job);  // Q, R, H, W, S, E, C
std::string pbs_node_state(const wire::NodeView& node);
std::string qstat_header();
std::string qstat_row(const wire::JobView& job, std::int64_t now_us, const std::string& user);
std::string qstat_full(const wire::JobView& job, std::int64_t now_us, const std::string& user);
std::string qstat_queues(const wire::Partitions& partitions, const wire::Jobs& jobs);
std::string pbsnodes_record(const wire::NodeView& node);

}  // namespace millrace
