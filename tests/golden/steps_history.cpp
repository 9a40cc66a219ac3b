// tests/golden/steps_history.cpp - the history of format 1 with an allocation of salloc and a job with a terminal after
// it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

JobSubmitted submitted(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name,
                       std::int64_t second) {
  return one_more_job(before, key, name, static_cast<std::uint8_t>(190 + key), at(second));
}

}  // namespace

std::vector<GoldenBatch> steps_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted allocation = submitted(out, 9, "interactive", 510), terminal = submitted(out, 10, "bash", 511);
  allocation.spec.allocation_only = true;
  allocation.spec.requeue = false;
  allocation.spec.script = {};
  RareRequest rare = terminal.spec.rare_request();
  rare.terminal = {24, 80};
  terminal.spec.rare = SharedValue(rare);
  out.push_back({{}, {allocation, terminal}});
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  out.push_back({{}, {JobPlaced{allocation.key, Attempt{0}, {share}, false, at(520)}}});
  out.push_back({{}, {AttemptEnded{allocation.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 7, 0, at(530)}}});
  return out;
}

}  // namespace millrace
