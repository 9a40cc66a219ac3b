// tests/golden/devices_history.cpp - the history of format 1 with a node that found its gpus, one of them out of order,
// and a job in a container after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

const ClusterConfigured& configured_in(const std::vector<GoldenBatch>& history) {
  for (const GoldenBatch& batch : history)
    for (const Event& event : batch.events)
      if (const auto* found = std::get_if<ClusterConfigured>(&event)) return *found;
  std::abort();
}

}  // namespace

std::vector<GoldenBatch> devices_history() {
  std::vector<GoldenBatch> out = format1_history();
  ClusterConfigured with_gpus = configured_in(out);
  with_gpus.at = at(500);
  NodeDef& def = with_gpus.nodes.front();
  def.gres = "gpu:h200:2";
  def.kinds = {{"gpu", "h200", 2, {}, true, {}, ""}};
  Inventory found{def.cpus, def.memory, def.tmp_disk, "x86_64", "Linux", "26.11.0", def.name, at(10), at(501)};
  found.devices = {{"gpu", "h200", 2, {1, 2}, false, {}, "/dev/nvidia0,/dev/nvidia1"}};
  out.push_back({{}, {with_gpus}});
  out.push_back({{}, {NodeRegistered{NodeIndex{0}, "boot-9", found, "", at(502)}}});
  out.push_back({{}, {DevicesJudged{NodeIndex{0}, {{"gpu", "h200", 1, "XID 79"}}, at(503)}}});
  JobSubmitted job = one_more_job(out, 9, "contained", 170, at(510));
  RareRequest rare = job.spec.rare_request();
  rare.gpu_bind = "verbose,single:1";
  rare.container = "/images/bundle";
  job.spec.rare = SharedValue(rare);
  out.push_back({{}, {job}});
  out.push_back({{}, {DevicesJudged{NodeIndex{0}, {}, at(520)}}});
  out.push_back({{}, {DevicesJudged{NodeIndex{0}, {{"gpu", "h200", 0, "2 uncorrected ECC errors"}}, at(530)}}});
  return out;
}

}  // namespace millrace
