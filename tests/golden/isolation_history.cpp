// tests/golden/isolation_history.cpp - the history of format 1 with a job that binds its tasks and one that ran out of
// memory after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

JobSubmitted submitted(const std::vector<GoldenBatch>& before, std::uint64_t key, const char* name,
                       std::int64_t second) {
  return one_more_job(before, key, name, static_cast<std::uint8_t>(150 + key), at(second));
}

JobSubmitted bound(const std::vector<GoldenBatch>& before) {
  JobSubmitted out = submitted(before, 9, "bound", 510);
  RareRequest rare = out.spec.rare_request();
  rare.cpu_bind = "verbose,map_cpu:0,2";
  rare.mem_bind = "local";
  rare.oom_kill_step = true;
  out.spec.rare = SharedValue(rare);
  return out;
}

}  // namespace

std::vector<GoldenBatch> isolation_history() {
  std::vector<GoldenBatch> out = format1_history();
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  const JobSubmitted first = bound(out), second = submitted(out, 10, "hungry", 511);
  out.push_back({{}, {first, second}});
  out.push_back({{},
                 {JobPlaced{first.key, Attempt{0}, {share}, false, at(520)},
                  JobPlaced{second.key, Attempt{0}, {share}, false, at(521)}}});
  out.push_back({{}, {AttemptEnded{second.key, Attempt{0}, NodeIndex{0}, AttemptEnd::out_of_memory, 0, 125, at(530)}}});
  return out;
}

}  // namespace millrace
