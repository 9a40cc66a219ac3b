// src/config/entity_lines.h - the NodeName, PartitionName, NodeSet and DownNodes lines of slurm.conf.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace {

struct PartitionDraft {
  ConfiguredPartition partition;
  std::string nodes;
  std::string file;
  int line = 0;
};

// A key of a PartitionName line; scontrol create and update take the same.
struct PartitionKeyRow {
  using Draft = PartitionDraft;
  std::string_view name;
  bool built;
  Result<void> (*set)(Draft&, std::string_view);
  bool asks_nothing(
      std::string_view value) const;  // "no restriction", which is what happens anyway where it is not built
};
std::span<const PartitionKeyRow> partition_keys();

// Takes entity lines one after the other; finish() then connects partitions with nodes.
class EntityReader {
 public:
  explicit EntityReader(Configuration& configuration) : out_(configuration) {}
  // True when the line begins an entity; anything wrong with it is added to `errors`.
  bool take(const ConfLine& line, std::vector<std::string>& errors);
  void finish(std::vector<std::string>& errors);

 private:
  struct NodeDraft {
    ConfiguredNode node;
    std::string host_names, addresses, ports;
    std::uint32_t cpus = 0, boards = 0, sockets = 0, sockets_per_board = 0, cores = 0, threads = 0;  // 0: not given
    std::uint32_t core_spec = 0;
    std::string cpu_spec_list;
  };
  friend struct NodeKeyRow;

  Result<void> take_nodes(const ConfLine& line);
  Result<void> take_partition(const ConfLine& line);
  Result<void> take_set(const ConfLine& line);
  Result<void> take_down(const ConfLine& line);
  Result<void> settle_cpus(NodeDraft& draft, const ConfLine& line);
  Result<void> settle_withheld(NodeDraft& draft);
  Result<void> add_nodes(const NodeDraft& draft, const std::string& names);
  Result<std::vector<std::string>> resolve(const std::string& list) const;
  void remark(const ConfLine& line, const std::string& key, std::vector<ConfigurationNote>& notes, std::string text);

  Configuration& out_;
  NodeDraft node_default_;
  PartitionDraft partition_default_;
  std::vector<PartitionDraft> partitions_;
  std::map<std::string, std::size_t, std::less<>> node_index_;
  std::vector<ConfLine> down_;
};

}  // namespace millrace
