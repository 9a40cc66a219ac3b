// tests/golden/gpu_use_history.cpp - the history of format 1 with a job whose gpus were looked at after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 700}; }

StepUsage busy_gpus() {
  StepUsage out;
  out.user_us = 1'000'000;
  out.gpu_busy_max = 180;
  out.gpu_busy_sum = 300;
  out.gpu_looks = 2;
  out.gpu_memory_max_bytes = std::int64_t{90} << 30;
  return out;
}

}  // namespace

std::vector<GoldenBatch> gpu_use_history() {
  std::vector<GoldenBatch> out = format1_history();
  ClusterConfigured linked;
  for (const GoldenBatch& batch : out)
    for (const Event& event : batch.events)
      if (const auto* configured = std::get_if<ClusterConfigured>(&event)) linked = *configured;
  linked.at = at(500);
  NodeDef& def = linked.nodes.front();
  def.gres = "gpu:2";
  def.kinds = {{"gpu", "", 2, {}, false, {}, "/dev/nvidia[0-1]", 0, {0, 4, 4, 0}}};
  out.push_back({{}, {linked}});
  const JobSubmitted job = one_more_job(out, 9, "trains", 240, at(510));
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {job}});
  out.push_back({{}, {JobPlaced{job.key, Attempt{0}, {share}, false, at(520)}}});
  StepStart step;
  step.name = "training";
  step.nodes = StepNodes{std::vector<std::uint32_t>{0}};
  step.tasks = 1;
  step.cpus = Cpus{2};
  step.at = at(530);
  StepEnd end;
  end.outcome = Outcome::completed;
  end.usage = busy_gpus();
  end.at = at(560);
  out.push_back({{}, {StepsReported{job.key, Attempt{0}, {step}, {end}, at(561)}}});
  AttemptEnded measured{job.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(570)};
  measured.usage = busy_gpus();
  out.push_back({{}, {measured}});
  return out;
}

}  // namespace millrace
