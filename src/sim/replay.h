// src/sim/replay.h - lives through a workload with the same ledger, admission and planner that run a real cluster, as
// fast as it can.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <utility>
#include <vector>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"
#include "core/planner/memo.h"
#include "core/planner/plan.h"
#include "sim/workload.h"

namespace millrace {

// Seconds of a trace as times of the ledger: far from zero, which means "not set" there.
constexpr std::int64_t trace_origin_second = 1'000'000;
constexpr Time trace_time(std::int64_t second) { return Time{(second + trace_origin_second) * 1'000'000}; }

// The facts of a machine that is one node with so many CPUs.
ClusterConfigured one_machine(std::int64_t processors);

// A cluster whose nodes all answer and whose clock is the caller. Nothing is checked that apply() does not assert.
class Replay {
 public:
  Replay(const ClusterConfigured& facts, PlannerSettings planner);

  std::expected<JobKey, Refusal> submit(const SubmitJob& ask, std::uint32_t expected_seconds, Time now);
  void end(JobKey key, Time now);  // its processes are gone; the record goes with them
  // One pass over the queue; what it proposed has happened. The jobs started, in order, until the next call.
  const std::vector<JobKey>& plan(Time now);

  const State& state() const { return state_; }
  const std::vector<Finding>& findings() const { return findings_; }  // of the last pass
  // When a promise of conservative backfill falls due; `never` when none is made.
  Time next_promise() const;
  PlannerSettings planner;

 private:
  void happen(const std::vector<Event>& events);
  void keep_promises();
  State state_;
  Memo memo_;
  bool ended_early_ = false;  // since the last pass
  std::vector<JobKey> started_;
  std::vector<Finding> findings_;
};

enum class Estimates : std::uint8_t { requested, exact, predicted };

struct ReplaySettings {
  PlannerSettings planner;
  Estimates estimates{};
  bool keep_shares = false;  // remember which nodes each job had
  std::function<void(std::size_t ended, std::size_t all)> progress;
};

// What became of one job, in seconds of the trace.
struct ReplayedJob {
  std::int64_t submit = 0, start = -1, end = -1;  // start -1: it never did
  std::int64_t processors = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shares;  // node and CPUs, where they were to be kept
};

struct ReplayResult {
  std::vector<ReplayedJob> jobs;   // in submit order, without the refused ones
  std::vector<std::string> notes;  // refused jobs by reason, jobs that never started
};

// All ends of a second, then its arrivals, then one pass.
ReplayResult replay(const Workload& workload, const ClusterConfigured& facts, const ReplaySettings& settings);

}  // namespace millrace
