// src/sim/replay.cpp - see replay.h.
#include "sim/replay.h"

#include <algorithm>
#include <map>
#include <queue>

#include "controller/loop/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"
#include "core/ledger/apply.h"
#include "core/ledger/obstacle.h"
#include "core/model/run_history.h"
#include "core/planner/pass.h"

namespace millrace {

ClusterConfigured one_machine(std::int64_t processors) {
  ClusterConfigured facts;
  NodeDef node;
  node.name = "machine";
  node.cpus = Cpus{processors};
  node.cores_per_socket = static_cast<std::uint32_t>(processors);
  PartitionDef partition;
  partition.name = "all";
  partition.nodes = {node.name};
  partition.is_default = true;
  facts.nodes = {std::move(node)};
  facts.partitions = {std::move(partition)};
  return facts;
}

Replay::Replay(const ClusterConfigured& facts, PlannerSettings settings) : planner(std::move(settings)) {
  const Time begin = trace_time(-trace_origin_second / 2);
  ClusterConfigured configured = facts;
  configured.at = begin;
  configured.policy.max_job_count = UINT32_MAX;
  happen({ControllerStarted{Epoch{1}, begin}, std::move(configured)});
  for (std::uint32_t i = 0; i < facts.nodes.size(); ++i) {
    const NodeDef& def = facts.nodes[i];
    Inventory inventory;
    inventory.cpus = def.cpus;
    inventory.memory = def.memory;
    inventory.tmp_disk = def.tmp_disk;
    happen(decide_register(state_, {NodeIndex{i}, "boot", std::move(inventory)}, begin));
  }
}

void Replay::happen(const std::vector<Event>& events) {
  for (const Event& event : events) apply(state_, event);
}

std::expected<JobKey, Refusal> Replay::submit(const SubmitJob& ask, std::uint32_t expected_seconds, Time now) {
  auto decision = decide(state_, ask, Actor{ask.spec.owner->uid, false}, now);
  if (!decision) return std::unexpected(std::move(decision).error());
  const JobKey key = state_.next_key;
  for (Event& event : decision->events)
    if (auto* submitted = std::get_if<JobSubmitted>(&event)) submitted->expected_seconds = expected_seconds;
  happen(decision->events);
  return key;
}

void Replay::end(JobKey key, Time now) {
  const Job& job = state_.job(key);
  const Attempt attempt = job.attempt;
  if (planned_release(job, planner, now) > now + microseconds(1)) ended_early_ = true;
  const SharedValue<Placement> placement = job.placement;
  for (const NodeShare& share : placement->shares)
    happen(decide_end(state_, {key, attempt, share.node, AttemptEnd::exited, 0, 0}, now));
  MR_ASSERT(state_.job(key).state == JobState::ended);
  happen({JobForgotten{key, now}});
}

void Replay::keep_promises() {
  std::vector<Promise> promises;
  for (const Finding& finding : findings_)
    if (finding.planned_start.is_set())
      promises.push_back({finding.key, finding.partition, finding.planned_start, finding.planned_shares});
  planner.promises = SharedValue(std::move(promises));
}

Time Replay::next_promise() const {
  Time next = never;
  if (planner.promises)
    for (const Promise& promise : *planner.promises) next = std::min(next, promise.start);
  return next;
}

const std::vector<JobKey>& Replay::plan(Time now) {
  started_.clear();
  findings_.clear();
  if (state_.queue.empty()) return started_;
  Plan plan;
  {
    planner.better_promises = ended_early_;
    Pass pass(state_, planner, now, &memo_);
    while (!pass.advance(INT64_MAX / 4)) {
    }
    plan = pass.take();
  }
  for (Proposal& proposal : plan.placements) {
    const JobKey key = proposal.key;
    const auto events = decide_place(state_, to_place(proposal), now);
    MR_ASSERT(!events.empty());  // nothing happened since the snapshot, so nothing may be stale
    happen(events);
    started_.push_back(key);
  }
  findings_ = std::move(plan.findings);
  ended_early_ = false;
  if (planner.backfill == Backfill::conservative) keep_promises();
  return started_;
}

namespace {

struct Due {
  std::int64_t second;
  JobKey key;
  auto operator<=>(const Due&) const = default;
};
using Dues = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

class Run {
 public:
  Run(const Workload& workload, const ClusterConfigured& facts, const ReplaySettings& settings)
      : workload_(workload), settings_(settings), replay_(facts, settings.planner) {
    result_.jobs.reserve(workload.jobs.size());
  }
  ReplayResult go();

 private:
  struct Live {  // a job that has not ended
    std::size_t job = 0, out = 0;
  };
  std::int64_t next_second() const;
  void end_jobs();
  void submit_jobs();
  void start_jobs();
  std::uint32_t estimate(const WorkloadJob& job) const;
  void report();

  const Workload& workload_;
  const ReplaySettings& settings_;
  Replay replay_;
  ReplayResult result_;
  std::int64_t now_ = 0;
  std::size_t next_ = 0, ended_ = 0;
  Dues ends_;
  std::map<JobKey, Live> live_;
  std::map<std::uint32_t, RunHistory> histories_;
  std::map<std::string, std::size_t> refused_;
};

std::int64_t Run::next_second() const {
  std::int64_t next = INT64_MAX;
  if (next_ < workload_.jobs.size()) next = workload_.jobs[next_].submit;
  if (!ends_.empty()) next = std::min(next, ends_.top().second);
  // A promised start may be due at a time at which nothing ends; behind a job that is late it lies a moment ahead of
  // now.
  if (const Time due = replay_.next_promise(); due != never)
    next = std::min(next, std::max((due + microseconds(999'999)).seconds() - trace_origin_second, now_ + 1));
  return next;
}

void Run::end_jobs() {
  for (; !ends_.empty() && ends_.top().second == now_; ends_.pop()) {
    const JobKey key = ends_.top().key;
    const auto live = live_.find(key);
    const WorkloadJob& job = workload_.jobs[live->second.job];
    replay_.end(key, trace_time(now_));
    if (job.user != 0) {
      RunHistory& history = histories_[job.user];
      history = remember_run(history, static_cast<std::uint32_t>(job.run));
    }
    live_.erase(live);
    ++ended_;
  }
}

std::uint32_t Run::estimate(const WorkloadJob& job) const {
  const auto requested = static_cast<std::uint32_t>(job.requested);
  switch (settings_.estimates) {
    case Estimates::requested:
      break;
    case Estimates::exact:
      return static_cast<std::uint32_t>(job.run);
    case Estimates::predicted: {
      const auto history = histories_.find(job.user);
      return history == histories_.end() ? requested : predicted_seconds(history->second, requested);
    }
  }
  return requested;
}

void Run::submit_jobs() {
  for (; next_ < workload_.jobs.size() && workload_.jobs[next_].submit == now_; ++next_) {
    const WorkloadJob& job = workload_.jobs[next_];
    const std::uint32_t expected = estimate(job);
    const auto key = replay_.submit(ask_of(workload_, job), expected, trace_time(now_));
    if (!key) {
      std::string why = slurm_text(key.error().code);
      for (const std::string& note : key.error().notes) why += "; " + note;
      ++refused_[why];
      continue;
    }
    live_.emplace_hint(live_.end(), *key, Live{next_, result_.jobs.size()});
    result_.jobs.push_back({now_, -1, -1, workload_.processors_of(job), {}});
  }
}

void Run::start_jobs() {
  for (const JobKey key : replay_.plan(trace_time(now_))) {
    const Live& live = live_.at(key);
    const WorkloadJob& job = workload_.jobs[live.job];
    ReplayedJob& out = result_.jobs[live.out];
    out.start = now_;
    out.end = now_ + job.run;
    if (settings_.keep_shares)
      for (const NodeShare& share : replay_.state().job(key).placement->shares)
        out.shares.emplace_back(share.node.value, static_cast<std::uint32_t>(share.cpus.value));
    ends_.push({out.end, key});
  }
}

void Run::report() {
  for (const auto& [why, count] : refused_)
    result_.notes.push_back(std::to_string(count) + (count == 1 ? " job" : " jobs") + " refused: " + why);
  std::map<std::string, std::size_t> stuck;
  for (const auto& [key, live] : live_) {
    const Reason reason = standing_obstacle(replay_.state(), replay_.state().job(key), trace_time(now_));
    ++stuck[slurm_word(reason == Reason::none ? Reason::resources : reason)];
  }
  for (const auto& [why, count] : stuck)
    result_.notes.push_back(std::to_string(count) + (count == 1 ? " job" : " jobs") + " never started: " + why);
}

ReplayResult Run::go() {
  std::size_t seconds = 0, idle = 0;
  // Nothing runs and nothing comes: each waiting job's promise may still fall due once.
  for (std::int64_t next = next_second(); next != INT64_MAX && idle <= live_.size(); next = next_second()) {
    now_ = next;
    end_jobs();
    submit_jobs();
    start_jobs();
    idle = ends_.empty() && next_ == workload_.jobs.size() ? idle + 1 : 0;
    if (settings_.progress && (++seconds & 1023) == 0) settings_.progress(ended_, workload_.jobs.size());
  }
  if (settings_.progress) settings_.progress(workload_.jobs.size(), workload_.jobs.size());
  report();
  return std::move(result_);
}

}  // namespace

ReplayResult replay(const Workload& workload, const ClusterConfigured& facts, const ReplaySettings& settings) {
  return Run(workload, facts, settings).go();
}

}  // namespace millrace
