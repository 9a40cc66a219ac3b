// tests/golden/step_facts_history.cpp - the history of format 1 with steps after it: told of in batches, ended by
// themselves, by their user and with their attempt.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 600}; }

StepStart started(std::uint32_t id, const char* name, std::vector<std::uint32_t> nodes, std::int64_t second) {
  StepStart out;
  out.id = id;
  out.name = name;
  out.nodes = StepNodes{std::move(nodes)};
  out.tasks = 2;
  out.cpus = Cpus{2};
  out.memory = Mebibytes{100};
  out.at = at(second);
  out.srun_host = "login1";
  out.srun_pid = 4711;
  return out;
}

StepEnd ended(std::uint32_t id, Outcome outcome, std::uint32_t code, std::uint32_t signal, std::int64_t second) {
  StepEnd out;
  out.id = id;
  out.outcome = outcome;
  out.exit_code = code;
  out.exit_signal = signal;
  out.usage = {1'500'000, 250'000, 40 << 20, 90 << 20, 4096, 8192};
  out.at = at(second);
  return out;
}

}  // namespace

std::vector<GoldenBatch> step_facts_history() {
  std::vector<GoldenBatch> out = format1_history();
  const JobSubmitted job = one_more_job(out, 9, "with steps", 230, at(510)),
                     short_one = one_more_job(out, 10, "short", 231, at(511));
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}},
      second{NodeIndex{1}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {job, short_one}});
  out.push_back({{}, {JobPlaced{job.key, Attempt{0}, {share, second}, false, at(520)}}});
  StepStart spread = started(1, "spread", {0, 1}, 531);
  spread.distribution = "cyclic";
  out.push_back({{},
                 {StepsReported{job.key,
                                Attempt{0},
                                {started(0, "first \"one\"", {0}, 530), spread},
                                {ended(0, Outcome::completed, 0, 0, 532)},
                                at(533)}}});
  StepEnd cancelled = ended(1, Outcome::cancelled, 0, 15, 540);
  cancelled.cancelled_by = UserId{1000};
  out.push_back({{},
                 {StepsReported{job.key,
                                Attempt{0},
                                {started(2, "hungry", {1}, 535)},
                                {cancelled, ended(2, Outcome::out_of_memory, 0, 125, 541)},
                                at(542)}}});
  // One that nobody saw end goes with its attempt; the next attempt counts from 0 again.
  out.push_back({{}, {StepsReported{job.key, Attempt{0}, {started(3, "left", {0}, 545)}, {}, at(546)}}});
  out.push_back({{}, {JobRequeued{job.key, false, UserId{0}, at(550)}}});
  AttemptEnded measured{job.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15, at(551)};
  measured.usage = {2'000'000, 10, 1 << 20, 2 << 20, 0, 512};
  out.push_back({{}, {measured}});
  out.push_back({{}, {JobBecameEligible{job.key, at(700)}, JobPlaced{job.key, Attempt{1}, {share}, false, at(701)}}});
  out.push_back({{},
                 {StepsReported{job.key,
                                Attempt{1},
                                {started(0, "again", {0}, 702), started(1, "runs on", {0}, 703)},
                                {ended(0, Outcome::failed, 3, 0, 704)},
                                at(705)}}});
  // With its job a step is forgotten.
  out.push_back({{},
                 {JobPlaced{short_one.key, Attempt{0}, {share}, false, at(710)},
                  StepsReported{short_one.key, Attempt{0}, {started(0, "gone", {0}, 711)}, {}, at(712)}}});
  out.push_back({{}, {AttemptEnded{short_one.key, Attempt{0}, NodeIndex{0}, AttemptEnd::node_lost, 0, 0, at(713)}}});
  out.push_back({{}, {JobCancelled{short_one.key, UserId{0}, at(714)}, JobForgotten{short_one.key, at(9000)}}});
  return out;
}

}  // namespace millrace
