// tests/golden/sick_nodes_history.cpp - the history of format 1 with launches that fail, clocks that are wrong or set,
// and a spool with a name of its own after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 1310}; }

AttemptEnded failed(JobKey key, std::uint32_t attempt, AttemptEnd end, const char* words, std::int64_t second) {
  AttemptEnded out{key, Attempt{attempt}, NodeIndex{0}, end, 0, 53, at(second)};
  out.words = words;
  return out;
}

}  // namespace

std::vector<GoldenBatch> sick_nodes_history() {
  std::vector<GoldenBatch> out = format1_history();
  const NodeIndex node{0};
  const NodeShare share{node, Cpus{1}, Mebibytes{100}, 1, false, {}};
  const JobSubmitted unlucky = one_more_job(out, 9, "unlucky", 190, at(510)),
                     broken = one_more_job(out, 10, "broken", 191, at(511));
  const auto placed = [&](JobKey key, std::uint32_t attempt, std::int64_t second) {
    return JobPlaced{key, Attempt{attempt}, {share}, false, at(second)};
  };
  out.push_back({{}, {unlucky, broken, placed(unlucky.key, 0, 520), placed(broken.key, 0, 520)}});
  out.push_back({{},
                 {failed(broken.key, 0, AttemptEnd::launch_failed, "Could not open stdout file /no \xc3\xa9", 521),
                  failed(unlucky.key, 0, AttemptEnd::not_begun, "the supervisor ended before it began", 522)}});
  out.push_back({{}, {placed(unlucky.key, 1, 530)}});
  AttemptExited full{unlucky.key, Attempt{1}, node, AttemptEnd::node_unfit, 0, 53, at(531)};
  full.words = "no space left on device";
  out.push_back(
      {{},
       {full, failed(unlucky.key, 1, AttemptEnd::node_unfit, "no space left on device", 532),
        NodeStateChanged{node, NodeOrder::drain, "launch failed: no space left on device", UserId{0}, at(532)},
        NodeStateChanged{node, NodeOrder::resume, "", UserId{0}, at(540)}}});
  Inventory has{Cpus{8}, Mebibytes{8000}, {}, "x86_64", "Linux", "26.11.0", "a", at(1), at(541)};
  NodeRegistered again{node, "boot-a", has, "", at(541)};
  again.spool_id = "0123456789abcdef0123456789abcdef";
  out.push_back({{}, {again, placed(unlucky.key, 2, 545)}});
  // Its clock is wrong, is right, and is wrong again; ours is set while a job runs.
  out.push_back({{},
                 {NodeClockJudged{node, "clock differs by 95 s: it is ahead of the controller's", at(550)},
                  NodeClockJudged{node, "", at(551)},
                  NodeClockJudged{node, "clock differs by 61 s: it is behind the controller's", at(552)}}});
  out.push_back({{}, {ClockStepped{seconds(-100), at(460)}, ClockStepped{seconds(3600), at(4065)}}});
  return out;
}

}  // namespace millrace
