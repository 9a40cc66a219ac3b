// tests/golden/partition_changes_history.cpp - the history of format 1 with partitions that scontrol made, changed and
// deleted after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

}  // namespace

std::vector<GoldenBatch> partition_changes_history() {
  std::vector<GoldenBatch> out = format1_history();
  ClusterConfigured written;
  for (const GoldenBatch& batch : out)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) written = *e;
  written.at = at(500);
  written.keep = KeepPartitions::states;
  PartitionDef changed = written.partitions.front();
  changed.max_time_minutes = 90;
  changed.priority_tier = 7;
  changed.is_default = false;
  PartitionDef made = changed;
  made.name = "made";
  made.nodes = {changed.nodes.front()};
  made.is_default = true;
  made.max_nodes = 1;
  PartitionDef gone = made;
  gone.name = "gone";
  gone.is_default = false;
  const PartitionIndex last{static_cast<std::uint32_t>(written.partitions.size() + 1)};
  out.push_back({{}, {written, PartitionChanged{changed, UserId{0}, at(510)}}});
  out.push_back({{}, {PartitionChanged{made, UserId{0}, at(520)}, PartitionChanged{gone, UserId{1000}, at(521)}}});
  out.push_back({{},
                 {PartitionStateChanged{PartitionIndex{0}, Availability::drain, at(530)},
                  PartitionDeleted{last, UserId{0}, at(531)}}});
  out.push_back({{}, {DampingChanged{5, at(540)}}});
  written.at = at(550);
  written.keep = KeepPartitions::not_rewritten;
  out.push_back({{}, {written}});
  return out;
}

}  // namespace millrace
