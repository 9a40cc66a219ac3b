// src/controller/loop/fact_log.cpp - see fact_log.h.
#include "controller/loop/fact_log.h"

#include "controller/views/views.h"
#include "core/admission/job_selection.h"
#include "core/model/gres_text.h"
#include "wire/event_text.h"

namespace millrace {
namespace {

std::string job_of(const State& state, JobKey key) {
  const Job* job = state.find_job(key);
  return job ? "JobId=" + shown_name(state, *job) : "job key " + std::to_string(key.value);
}

std::string node_list(const State& state, const std::vector<NodeShare>& shares) {
  return shares.empty() ? "(none)" : hostlist_of(state, shares);
}

std::int64_t cpus_of(const std::vector<NodeShare>& shares) {
  std::int64_t sum = 0;
  for (const NodeShare& share : shares) sum += share.cpus.value;
  return sum;
}

std::string partition_name(const State& state, const Job& job, std::optional<PartitionIndex> chosen) {
  return state.partition(chosen.value_or(job.spec->partition)).def.name;
}

// Facts by which a job can come to its end.
template <class E>
constexpr bool may_end =
    std::is_same_v<E, AttemptEnded> || std::is_same_v<E, JobCancelled> || std::is_same_v<E, JobTimedOut> ||
    std::is_same_v<E, JobDeadlinePassed> || std::is_same_v<E, JobProgramEnded> || std::is_same_v<E, JobPreempted>;

template <class E>
constexpr bool is_of_power = std::is_same_v<E, NodesPowered>;
template <class E>
constexpr bool is_of_reservation = std::is_same_v<E, ReservationSet> || std::is_same_v<E, ReservationRemoved>;
template <class E>
constexpr bool is_of_gang =
    std::is_same_v<E, TimeSliceTurned> || std::is_same_v<E, JobSuspended> || std::is_same_v<E, JobResumed>;
template <class E>
constexpr bool is_of_trigger = std::is_same_v<E, TriggerSet> || std::is_same_v<E, TriggerRemoved>;
template <class E>
constexpr bool is_of_het_job = std::is_same_v<E, HetJobSubmitted> || std::is_same_v<E, HetJobPlaced>;

}  // namespace

void FactLog::decided(std::string text) {
  if (schedule_.wants(LogLevel::info)) lines_.push_back({&schedule_, LogLevel::info, text});
  hold(LogLevel::verbose, [&] { return std::move(text); });
}

void FactLog::happened(const State& after, const Event& event) {
  if (is_silent()) return;
  hold(LogLevel::debug2, [&] { return "fact " + std::to_string(after.version) + ": " + describe_event(event); });
  if (log_.wants(LogLevel::verbose) || schedule_.wants(LogLevel::info)) say_of_job(after, event);
  if (log_.wants_flags()) say_of_subsystems(after, event);
}

void FactLog::say_of_job(const State& after, const Event& event) {
  const auto submitted = [&](const JobSubmitted& e) {
    decided("submitted JobId=" + std::to_string(e.id.value) + " InitPrio=" + std::to_string(e.priority) + " UID=" +
            std::to_string(e.spec.owner->uid.value) + " Partition=" + after.partition(e.spec.partition).def.name);
  };
  std::visit(
      [&](const auto& e) {
        using E = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<E, JobSubmitted>) submitted(e);
        if constexpr (std::is_same_v<E, HetJobSubmitted>)
          for (const JobSubmitted& each : e.components) submitted(each);
        if constexpr (std::is_same_v<E, JobPlaced>) say_of_start(after, e);
        if constexpr (std::is_same_v<E, HetJobPlaced>)
          for (const JobPlaced& each : e.components) say_of_start(after, each);
        if constexpr (std::is_same_v<E, JobRequeued>)
          decided("requeue " + job_of(after, e.key) + " by UID=" + std::to_string(e.by.value));
        if constexpr (std::is_same_v<E, JobPreempted>)
          decided("preempted " + job_of(after, e.key) + (e.requeue ? " to be requeued" : "") + " for " +
                  job_of(after, e.by));
        if constexpr (std::is_same_v<E, JobCancelled>)
          decided("cancelled " + job_of(after, e.key) + " by UID=" + std::to_string(e.by.value));
        if constexpr (std::is_same_v<E, JobTimedOut>)
          decided((e.inactive ? "nobody is there any more for " : "time limit exhausted for ") + job_of(after, e.key));
        if constexpr (may_end<E>)
          if (const Job* job = after.find_job(e.key); job && job->state == JobState::ended)
            decided(job_of(after, e.key) + " done: " + std::string{outcome_word(job->outcome)} +
                    " ExitCode=" + std::to_string(job->exit_code) + ":" + std::to_string(job->exit_signal));
        if constexpr (std::is_same_v<E, NodeStateChanged>)
          hold(LogLevel::verbose, [&] {
            return "node " + after.node(e.node).def->name + " by UID=" + std::to_string(e.by.value) + ": " +
                   describe_event(event);
          });
      },
      event);
}

void FactLog::say_of_start(const State& after, const JobPlaced& placed) {
  const Job* job = after.find_job(placed.key);
  if (!job) return;
  decided(std::string{placed.by_backfill ? "sched/backfill: Started " : "sched: Allocate "} +
          job_of(after, placed.key) + " NodeList=" + node_list(after, placed.shares) + " #CPUs=" +
          std::to_string(cpus_of(placed.shares)) + " Partition=" + partition_name(after, *job, placed.partition));
}

void FactLog::say_of_steps(const State& after, const StepsReported& told) {
  const std::string job = job_of(after, told.key);
  for (const StepStart& step : told.started)
    hold(DebugFlag::steps, [&] { return job + " StepId=" + std::to_string(step.id) + " started: " + step.name; });
  for (const StepEnd& step : told.ended)
    hold(DebugFlag::steps, [&] {
      return job + " StepId=" + std::to_string(step.id) + " ended: " + std::string{outcome_word(step.outcome)} +
             " ExitCode=" + std::to_string(step.exit_code) + ":" + std::to_string(step.exit_signal);
    });
}

void FactLog::say_of_subsystems(const State& after, const Event& event) {
  const auto whole = [&] { return describe_event(event); };
  const auto placed = [&](const JobPlaced& e) {
    for (const NodeShare& share : e.shares) {
      const NodeDef& node = *after.node(share.node).def;
      hold(DebugFlag::select_type, [&] {
        return job_of(after, e.key) + " on " + node.name + ": cpus=" + std::to_string(share.cpus.value) +
               " memory=" + std::to_string(share.memory.value) + "M tasks=" + std::to_string(share.tasks);
      });
      if (share.detail)
        hold(DebugFlag::gres, [&] {
          const std::string devices = format_share(node, share.detail->devices, share.detail->gres);
          return job_of(after, e.key) + " on " + node.name + ": " + (devices.empty() ? "no devices" : devices);
        });
    }
    for (const LicenceAsk& licence : e.licences)
      hold(DebugFlag::license,
           [&] { return job_of(after, e.key) + " takes " + licence.name + ":" + std::to_string(licence.count); });
    if (e.priority != 0)
      hold(DebugFlag::priority,
           [&] { return job_of(after, e.key) + " started with priority " + std::to_string(e.priority); });
  };
  std::visit(
      [&](const auto& e) {
        using E = std::decay_t<decltype(e)>;
        if constexpr (requires { e.key; })
          hold(DebugFlag::trace_jobs, [&] { return job_of(after, e.key) + " " + whole(); });
        if constexpr (std::is_same_v<E, JobPlaced>) placed(e);
        if constexpr (std::is_same_v<E, HetJobPlaced>)
          for (const JobPlaced& each : e.components) placed(each);
        if constexpr (is_of_het_job<E>) hold(DebugFlag::hetjob, whole);
        if constexpr (std::is_same_v<E, JobSubmitted>) {
          hold(DebugFlag::priority,
               [&] { return job_of(after, e.key) + " submitted with priority " + std::to_string(e.priority); });
          if (!e.dependencies.list.empty()) hold(DebugFlag::dependency, whole);
        }
        if constexpr (std::is_same_v<E, JobModified>)
          if (e.dependencies) hold(DebugFlag::dependency, whole);
        if constexpr (is_of_power<E>) hold(DebugFlag::power, whole);
        if constexpr (is_of_reservation<E>) hold(DebugFlag::reservation, whole);
        if constexpr (is_of_gang<E>) hold(DebugFlag::gang, whole);
        if constexpr (is_of_trigger<E>) hold(DebugFlag::triggers, whole);
        if constexpr (std::is_same_v<E, StepsReported>) say_of_steps(after, e);
        if constexpr (std::is_same_v<E, DevicesJudged>) hold(DebugFlag::gres, whole);
      },
      event);
}

void FactLog::tell() {
  for (const Line& line : lines_) {
    const auto text = [&] { return std::string_view{line.text}; };
    if (const auto* flag = std::get_if<DebugFlag>(&line.as))
      line.to->about(*flag, text);
    else
      line.to->at(std::get<LogLevel>(line.as), text);
  }
  lines_.clear();
}

void FactLog::planned(const State& state, const Plan& plan, std::size_t queued, Duration took) {
  if (is_silent()) return;
  const auto summary = [&] {
    return "sched: a pass over " + std::to_string(queued) + " waiting jobs took " + std::to_string(took.value) +
           " us: " + std::to_string(plan.placements.size()) + " to start, " + std::to_string(plan.findings.size()) +
           " looked at that wait, " + std::to_string(plan.preemptions.size()) + " to make room";
  };
  log_.debug(summary);
  schedule_.info(summary);
  for (const Finding& finding : plan.findings) {
    const auto waits = [&] {
      return "sched: " + job_of(state, finding.key) + " waits: " + std::string{slurm_word(finding.reason)} +
             (finding.planned_start.is_set() ? " planned for " + describe_time(finding.planned_start) + " on " +
                                                   node_list(state, finding.planned_shares)
                                             : "");
    };
    log_.debug3(waits);
    schedule_.info(waits);
    if (finding.planned_start.is_set()) log_.about(DebugFlag::backfill, waits);
  }
}

}  // namespace millrace
