// tests/golden/kept_history.cpp - the history of format 1 with ended jobs that are kept for sacct after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 800}; }

StepStart started(std::uint32_t id, const char* name, std::int64_t second) {
  StepStart out;
  out.id = id;
  out.name = name;
  out.nodes = StepNodes{std::vector<std::uint32_t>{0}};
  out.tasks = 1;
  out.cpus = Cpus{1};
  out.at = at(second);
  return out;
}

StepEnd ended(std::uint32_t id, Outcome outcome, std::int64_t second) {
  StepEnd out;
  out.id = id;
  out.outcome = outcome;
  out.exit_code = outcome == Outcome::failed ? 3 : 0;
  out.usage = {1'500'000, 250'000, 40 << 20, 90 << 20, 4096, 8192};
  out.at = at(second);
  return out;
}

}  // namespace

std::vector<GoldenBatch> kept_history() {
  std::vector<GoldenBatch> out = format1_history();
  ClusterConfigured keeps;
  for (const GoldenBatch& batch : out)
    for (const Event& event : batch.events)
      if (const auto* configured = std::get_if<ClusterConfigured>(&event)) keeps = *configured;
  keeps.at = at(500);
  keeps.policy.keep_ended_seconds = 86'400;
  keeps.policy.keep_ended_rows = 6;
  out.push_back({{}, {keeps}});
  const JobSubmitted job = one_more_job(out, 9, "twice", 250, at(510));
  JobSubmitted array = one_more_job(out, 10, "several", 251, at(511));
  array.array = ArraySpec{};
  array.array->tasks.insert(1, 3);
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {job, array}});
  out.push_back(
      {{},
       {JobPlaced{job.key, Attempt{0}, {share}, false, at(520)},
        StepsReported{job.key, Attempt{0}, {started(0, "first", 521)}, {ended(0, Outcome::completed, 530)}, at(531)}}});
  out.push_back({{}, {JobRequeued{job.key, false, UserId{0}, at(550)}}});
  AttemptEnded measured{job.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(551)};
  measured.usage = {2'000'000, 10, 1 << 20, 2 << 20, 0, 512};
  out.push_back({{}, {measured}});
  out.push_back({{}, {JobBecameEligible{job.key, at(700)}, JobPlaced{job.key, Attempt{1}, {share}, false, at(701)}}});
  out.push_back(
      {{},
       {StepsReported{job.key, Attempt{1}, {started(0, "again", 702)}, {ended(0, Outcome::failed, 704)}, at(705)}}});
  AttemptEnded again{job.key, Attempt{1}, NodeIndex{0}, AttemptEnd::exited, 3, 0, at(710)};
  again.usage = {3'000'000, 20, 2 << 20, 3 << 20, 1024, 0};
  out.push_back({{}, {again}});
  out.push_back({{}, {JobForgotten{job.key, at(1100)}}});
  // A task of its own and a rest that nobody ran; the rows are too many then, and the oldest goes.
  out.push_back({{},
                 {ArrayTaskSplit{array.key, 2, JobKey{11}, JobId{array.id.value + 1}, at(1200)},
                  JobCancelled{JobKey{11}, UserId{1000}, at(1201)}, JobCancelled{array.key, UserId{0}, at(1202)}}});
  out.push_back({{}, {JobForgotten{JobKey{11}, at(1601)}, JobForgotten{array.key, at(1602)}}});
  JobSubmitted after = one_more_job(out, 12, "after", 252, at(1700));
  after.id = JobId{array.id.value + 2};
  after.dependencies.list.push_back({DependencyKind::afternotok, array.key, array.id, {}, 0, {}, {}});
  out.push_back({{}, {after}});
  return out;
}

}  // namespace millrace
