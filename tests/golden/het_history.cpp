// tests/golden/het_history.cpp - the history of format 1 with heterogeneous jobs after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 250}; }

// Of job 8: a batch job of one CPU.
HetJobSubmitted submitted(const std::vector<GoldenBatch>& before, std::uint64_t key, std::uint32_t size,
                          std::int64_t second) {
  JobSubmitted one;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<JobSubmitted>(&event); e && e->key.value == 8) one = *e;
  one.time_limit_minutes = 60;
  one.at = at(second);
  one.hold = Hold::none;
  one.dependencies = {};
  HetJobSubmitted out;
  out.at = at(second);
  for (std::uint32_t i = 0; i < size; ++i) {
    one.key = JobKey{key + i};
    one.id = JobId{static_cast<std::uint32_t>(key + i)};
    one.spec.name = "part" + std::to_string(i);
    one.spec.submission = {};
    if (i == 0) one.spec.submission[0] = static_cast<std::uint8_t>(100 + key);
    if (i > 0) one.spec.script = one.spec.environment = {};
    out.components.push_back(one);
  }
  return out;
}

HetJobPlaced placed(std::uint64_t key, std::uint32_t size, std::uint32_t attempt, std::int64_t second) {
  HetJobPlaced out;
  out.at = at(second);
  for (std::uint32_t i = 0; i < size; ++i)
    out.components.push_back(JobPlaced{JobKey{key + i},
                                       Attempt{attempt},
                                       {{NodeIndex{i % 2}, Cpus{1}, Mebibytes{10}, 1, false, {}}},
                                       i == 1,
                                       at(second)});
  return out;
}

}  // namespace

std::vector<GoldenBatch> het_history() {
  std::vector<GoldenBatch> out = format1_history();
  const std::vector<GoldenBatch> before = out;
  // Held and released as one, started together, put back as one; one component runs out of time, the other ends by
  // itself.
  out.push_back({{}, {submitted(before, 9, 2, 500)}});
  out.push_back(
      {{}, {JobHoldChanged{JobKey{9}, Hold::user, 0, at(501)}, JobHoldChanged{JobKey{9}, Hold::none, 77, at(502)}}});
  out.push_back({{}, {placed(9, 2, 0, 503)}});
  out.push_back({{},
                 {JobRequeued{JobKey{9}, false, UserId{0}, at(510)},
                  AttemptEnded{JobKey{9}, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(511)}}});
  out.push_back({{}, {JobBecameEligible{JobKey{9}, at(700)}, placed(9, 2, 1, 701)}});
  out.push_back({{}, {JobTimedOut{JobKey{10}, at(4301)}}});
  // Three components: a lost node of one is a loss for all.
  out.push_back({{}, {submitted(before, 11, 3, 4310), placed(11, 3, 0, 4311)}});
  out.push_back({{}, {AttemptEnded{JobKey{9}, Attempt{1}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(4320)}}});
  out.push_back({{}, {AttemptEnded{JobKey{12}, Attempt{0}, NodeIndex{1}, AttemptEnd::node_lost, 0, 0, at(4330)}}});
  out.push_back({{}, {AttemptEnded{JobKey{11}, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(4331)}}});
  // Cancelled while it waits, and one that still runs with one component gone.
  out.push_back({{}, {submitted(before, 14, 2, 4340), JobCancelled{JobKey{14}, UserId{1000}, at(4341)}}});
  out.push_back(
      {{}, {submitted(before, 16, 2, 4350), placed(16, 2, 0, 4351), JobCancelled{JobKey{17}, UserId{1000}, at(4352)}}});
  out.push_back({{}, {JobForgotten{JobKey{14}, at(9000)}}});
  return out;
}

}  // namespace millrace
