// tests/golden/het_steps_history.cpp - the history of format 1 with heterogeneous jobs whose components have
// supervisors and steps after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 760}; }

HetJobSubmitted submitted(const std::vector<GoldenBatch>& before, std::uint64_t key, std::uint32_t size,
                          std::int64_t second) {
  HetJobSubmitted out;
  out.at = at(second);
  for (std::uint32_t i = 0; i < size; ++i) {
    JobSubmitted one = one_more_job(before, key + i, ("part" + std::to_string(i)).c_str(),
                                    static_cast<std::uint8_t>(120 + key), at(second));
    if (i > 0) one.spec.submission = {};
    if (i > 0) one.spec.script = one.spec.environment = {};
    out.components.push_back(one);
  }
  return out;
}

HetJobPlaced placed(std::uint64_t key, std::uint32_t size, std::uint32_t attempt, std::int64_t second) {
  HetJobPlaced out;
  out.at = at(second);
  for (std::uint32_t i = 0; i < size; ++i) {
    JobPlaced one{JobKey{key + i},
                  Attempt{attempt},
                  {{NodeIndex{i % 2}, Cpus{1}, Mebibytes{10}, 1, false, {}}},
                  false,
                  at(second)};
    one.supervised = i > 0;
    out.components.push_back(one);
  }
  return out;
}

AttemptEnded ended(std::uint64_t key, std::uint32_t attempt, std::uint32_t node, AttemptEnd how, std::uint32_t signal,
                   std::int64_t second) {
  return {JobKey{key}, Attempt{attempt}, NodeIndex{node}, how, 0, signal, at(second)};
}

StepsReported step(std::uint64_t key, std::uint32_t attempt, std::uint32_t node, std::uint32_t id, bool over,
                   std::int64_t second) {
  StepStart start;
  start.id = id;
  start.name = "model";
  start.nodes = StepNodes{std::vector<std::uint32_t>{node}};
  start.at = at(second);
  StepsReported out{JobKey{key}, Attempt{attempt}, {start}, {}, at(second)};
  if (!over) return out;
  StepEnd end;
  end.id = id;
  end.outcome = Outcome::completed;
  end.at = at(second);
  out.ended.push_back(end);
  return out;
}

}  // namespace

std::vector<GoldenBatch> het_steps_history() {
  std::vector<GoldenBatch> out = format1_history();
  const std::vector<GoldenBatch> before = out;
  // A step over both components; the script ends, and then the supervisor of the other component.
  out.push_back({{}, {submitted(before, 9, 2, 500), placed(9, 2, 0, 503)}});
  out.push_back({{}, {step(9, 0, 0, 0, true, 505), step(10, 0, 1, 0, false, 505)}});
  out.push_back({{}, {ended(9, 0, 0, AttemptEnd::exited, 0, 510)}});
  out.push_back({{}, {ended(10, 0, 1, AttemptEnd::exited, 15, 511)}});
  // One component is cancelled alone; the whole is put back, also what had gone.
  out.push_back({{}, {submitted(before, 11, 3, 520), placed(11, 3, 0, 521)}});
  out.push_back({{}, {JobCancelled{JobKey{12}, UserId{1000}, at(522)}, ended(12, 0, 1, AttemptEnd::exited, 15, 523)}});
  out.push_back({{},
                 {JobRequeued{JobKey{11}, false, UserId{0}, at(524)}, ended(13, 0, 0, AttemptEnd::exited, 15, 525),
                  ended(11, 0, 0, AttemptEnd::exited, 15, 526)}});
  // A supervisor of a component is lost, and with it the job.
  out.push_back({{}, {JobBecameEligible{JobKey{11}, at(800)}, placed(11, 3, 1, 801)}});
  out.push_back(
      {{}, {ended(12, 1, 1, AttemptEnd::supervisor_lost, 0, 802), ended(11, 1, 0, AttemptEnd::exited, 15, 803)}});
  // One stops alone and has not ended yet, one still runs.
  out.push_back({{}, {submitted(before, 14, 3, 810), placed(14, 3, 0, 811)}});
  out.push_back({{}, {JobCancelled{JobKey{15}, UserId{1000}, at(812)}}});
  return out;
}

}  // namespace millrace
