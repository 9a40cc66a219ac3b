// src/cli/render/data_records.h - jobs, nodes, partitions and the rest as data trees with Slurm's names, one table row
// for each value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/render/data_tree.h"
#include "cli/render/node_columns.h"
#include "cli/render/text_forms.h"
#include "client.pb.h"

namespace millrace {

// What the values of a record are made from besides the record itself.
struct DataContext {
  std::int64_t now_us = 0;
  std::string cluster;
  Names* names = nullptr;
  std::map<std::string, const wire::NodeView*>
      nodes{};  // of jobs with an allocation: how their processors lie in sockets
};

Data job_data(const wire::JobView& job, const DataContext& context);
Data node_data(const wire::NodeView& node, const DataContext& context);
Data partition_data(const wire::PartitionView& partition, const DataContext& context);
Data reservation_data(const wire::ReservationView& reservation);
Data step_data(const wire::StepView& step, const DataContext& context);
Data licence_data(const wire::Licences::Licence& licence);
Data node_group_data(const NodeGroup& group, const DataContext& context);  // a line of sinfo

// Every path with its type, in the order of printing: what a schema is made of, and what tests walk.
struct DataFieldText {
  std::string_view path, type;
};
std::vector<DataFieldText> job_data_fields();
std::vector<DataFieldText> node_data_fields();
std::vector<DataFieldText> partition_data_fields();
std::vector<DataFieldText> reservation_data_fields();
std::vector<DataFieldText> step_data_fields();

template <class Record>
std::vector<DataFieldText> field_texts(std::span<const DataField<Record>> fields) {
  std::vector<DataFieldText> out;
  for (const DataField<Record>& field : fields) out.push_back({field.path, field.type});
  return out;
}

}  // namespace millrace
