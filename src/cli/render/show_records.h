// src/cli/render/show_records.h - records as `scontrol show` prints them: jobs, nodes, partitions, configuration.
#pragma once

#include <string>

#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

struct ShowOptions {
  bool one_line = false;  // -o
  int detail = 0;         // -d
};

std::string show_job(const wire::JobView& job, std::int64_t now_us, Names& names, const ShowOptions& options);
std::string show_node(const wire::NodeView& node, Names& names, const ShowOptions& options);
std::string show_partition(const wire::PartitionView& partition, const ShowOptions& options);
std::string show_configuration(const wire::Config& config);

}  // namespace millrace
