// tests/golden/step_options_history.cpp - the history of format 1 with a job of srun whose supervisors get options of
// their own after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 500}; }

}  // namespace

std::vector<GoldenBatch> step_options_history() {
  std::vector<GoldenBatch> out = format1_history();
  JobSubmitted parallel = one_more_job(out, 9, "parallel", 209, at(510));
  RareRequest rare = parallel.spec.rare_request();
  rare.step_options = std::string{"\x0a\x04pmi2", 6};  // a StepOptions with mpi
  parallel.spec.rare = SharedValue(rare);
  out.push_back({{}, {parallel}});
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 2, false, {}};
  out.push_back({{}, {JobPlaced{parallel.key, Attempt{0}, {share}, false, at(520)}}});
  out.push_back({{}, {AttemptEnded{parallel.key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(530)}}});
  return out;
}

}  // namespace millrace
