// tests/golden/step_resources_history.cpp - the history of format 1 with steps after it that have time and devices of
// their own, some of which is changed.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 600}; }

StepStart started(std::uint32_t id, const char* name, std::uint32_t minutes, std::int64_t second) {
  StepStart out;
  out.id = id;
  out.name = name;
  out.nodes = StepNodes{std::vector<std::uint32_t>{0}};
  out.tasks = 1;
  out.cpus = Cpus{1};
  out.memory = Mebibytes{50};
  out.at = at(second);
  out.time_limit_minutes = minutes;
  return out;
}

StepEnd ended(std::uint32_t id, Outcome outcome, std::uint32_t signal, std::int64_t second) {
  StepEnd out;
  out.id = id;
  out.outcome = outcome;
  out.exit_signal = signal;
  out.at = at(second);
  return out;
}

}  // namespace

std::vector<GoldenBatch> step_resources_history() {
  std::vector<GoldenBatch> out = format1_history();
  const JobSubmitted job = one_more_job(out, 9, "with limits", 230, at(510));
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {job}});
  out.push_back({{}, {JobPlaced{job.key, Attempt{0}, {share}, false, at(520)}}});
  StepStart greedy = started(1, "greedy", 5, 531);
  greedy.wishes = SharedValue(StepWishes{"gres/gpu=2,gres/gpu:a100=2", "gres/gpu:2", "gres/nic:1", "gres/gpu:a100:1",
                                         "gres/gpu:1", "gres/gpu:4", "gres/gpu:100"});
  out.push_back({{},
                 {StepsReported{.key = job.key,
                                .attempt = Attempt{0},
                                .started = {started(0, "timed", 1, 530), greedy},
                                .ended = {},
                                .at = at(533)}}});
  out.push_back({{},
                 {StepsReported{.key = job.key,
                                .attempt = Attempt{0},
                                .started = {},
                                .ended = {ended(0, Outcome::timeout, 15, 592)},
                                .at = at(593),
                                .changed = {{1, 9}}}}});
  out.push_back({{},
                 {StepsReported{.key = job.key,
                                .attempt = Attempt{0},
                                .started = {started(2, "free", 0, 595)},
                                .ended = {},
                                .at = at(596),
                                .changed = {{1, 0}}}}});
  for (std::uint32_t id = 3; id < 9; ++id)
    out.push_back({{},
                   {StepsReported{.key = job.key,
                                  .attempt = Attempt{0},
                                  .started = {started(id, "more", id, 600 + id)},
                                  .ended = {ended(id, Outcome::completed, 0, 610 + id)},
                                  .at = at(620 + id)}}});
  return out;
}

}  // namespace millrace
