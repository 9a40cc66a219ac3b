// src/controller/views/diagnostics.cpp - see diagnostics.h.
#include "controller/views/diagnostics.h"

#include <algorithm>

namespace millrace {
namespace {

template <class E>
std::optional<JobKey> job_of(const E& e) {
  if constexpr (requires { JobKey{e.key}; })
    return JobKey{e.key};
  else
    return std::nullopt;
}

void add_pass(wire::Diagnostics::Passes& passes, std::uint64_t depth, std::uint64_t queued, Duration took, Time at) {
  passes.set_count(passes.count() + 1);
  passes.set_to_the_end(passes.to_the_end() + 1);
  passes.set_last_us(took.value);
  passes.set_max_us(std::max(passes.max_us(), took.value));
  passes.set_total_us(passes.total_us() + took.value);
  passes.set_last_depth(depth);
  passes.set_total_depth(passes.total_depth() + depth);
  passes.set_last_queue(queued);
  passes.set_total_queue(passes.total_queue() + queued);
  passes.set_last_at_us(at.value);
}

}  // namespace

CallName call_name(wire::Request::BodyCase body) {
  using B = wire::Request::BodyCase;
  switch (body) {
    case B::kSubmit:
      return {"REQUEST_SUBMIT_BATCH_JOB", 4003};
    case B::kCancel:
      return {"REQUEST_KILL_JOB", 5032};
    case B::kQueryJobs:
      return {"REQUEST_JOB_INFO", 2003};
    case B::kQueryNodes:
      return {"REQUEST_NODE_INFO", 2007};
    case B::kQueryPartitions:
      return {"REQUEST_PARTITION_INFO", 2009};
    case B::kQueryConfig:
      return {"REQUEST_BUILD_INFO", 2001};
    case B::kUpdateJob:
      return {"REQUEST_UPDATE_JOB", 3001};
    case B::kHold:
      return {"REQUEST_UPDATE_JOB_HOLD", 9001};
    case B::kRequeue:
      return {"REQUEST_JOB_REQUEUE", 5023};
    case B::kUpdateNode:
      return {"REQUEST_UPDATE_NODE", 3002};
    case B::kUpdatePartition:
      return {"REQUEST_UPDATE_PARTITION", 3005};
    case B::kDeletePartition:
      return {"REQUEST_DELETE_PARTITION", 3007};
    case B::kSetDamping:
      return {"REQUEST_SET_FS_DAMPENING_FACTOR", 1025};
    case B::kSetLogging:
      return {"REQUEST_SET_DEBUG_LEVEL", 1014};
    case B::kIssueToken:
      return {"REQUEST_AUTH_TOKEN", 5039};
    case B::kPing:
      return {"REQUEST_PING", 1008};
    case B::kShutdown:
      return {"REQUEST_SHUTDOWN", 1005};
    case B::kReconfigure:
      return {"REQUEST_RECONFIGURE", 1003};
    case B::kWaitJob:
      return {"REQUEST_JOB_WAIT", 9002};
    case B::kNumberJob:
      return {"REQUEST_JOB_NUMBER", 9005};
    case B::kGetScript:
      return {"REQUEST_BATCH_SCRIPT", 2051};
    case B::kQueryLicences:
      return {"REQUEST_LICENSE_INFO", 1021};
    case B::kQueryTopology:
      return {"REQUEST_TOPO_INFO", 2018};
    case B::kReserve:
      return {"REQUEST_CREATE_RESERVATION", 3006};
    case B::kRemoveReservation:
      return {"REQUEST_DELETE_RESERVATION", 3008};
    case B::kQueryReservations:
      return {"REQUEST_RESERVATION_INFO", 2024};
    case B::kExplain:
      return {"REQUEST_JOB_EXPLANATION", 9003};
    case B::kChangeAccounts:
      return {"REQUEST_ACCOUNTING_UPDATE", 10001};
    case B::kQueryTransactions:
      return {"REQUEST_ACCOUNTING_INFO", 10002};
    case B::kAnnotateRecord:
      return {"REQUEST_ACCOUNTING_UPDATE", 10001};
    case B::kQueryAccounts:
      return {"REQUEST_SHARE_INFO", 2022};
    case B::kQueryPriorities:
      return {"REQUEST_PRIORITY_FACTORS", 2026};
    case B::kCreateStep:
      return {"REQUEST_JOB_STEP_CREATE", 5001};
    case B::kEndAllocation:
      return {"REQUEST_COMPLETE_JOB_ALLOCATION", 5017};
    case B::kSuspend:
      return {"REQUEST_SUSPEND", 5014};
    case B::kQuerySteps:
      return {"REQUEST_JOB_STEP_INFO", 2005};
    case B::kSignalStep:
      return {"REQUEST_CANCEL_JOB_STEP", 5005};
    case B::kAttachStep:
      return {"REQUEST_STEP_ATTACH", 9004};
    case B::kSampleSteps:
      return {"REQUEST_JOB_STEP_STAT", 5019};
    case B::kUpdateStep:
      return {"REQUEST_UPDATE_JOB_STEP", 3009};
    case B::kCreateNodes:
      return {"REQUEST_CREATE_NODE", 3013};
    case B::kDeleteNodes:
      return {"REQUEST_DELETE_NODE", 3014};
    case B::kNotifyJob:
      return {"REQUEST_JOB_NOTIFY", 4022};
    case B::kTopJobs:
      return {"REQUEST_TOP_JOB", 5038};
    case B::kQueryDiagnostics:
      return {"REQUEST_STATS_INFO", 2035};
    default:
      return {"REQUEST_OTHER", 9000};
  }
}

void Diagnostics::about_to_happen(const State& before, const Event& event) {
  not_over_.clear();
  const auto key = std::visit([](const auto& e) { return job_of(e); }, event);
  if (!key) return;
  const Job* job = before.find_job(*key);
  if (!job || job->state == JobState::ended) return;
  for (const JobKey each : whole_of(*job))
    if (const Job* one = before.find_job(each); one && one->state != JobState::ended) not_over_.push_back(each);
}

void Diagnostics::happened(const State& after, const Event& event) {
  const auto starts = [&](const JobPlaced& placed) {
    ++counts_.started;
    if (!placed.by_backfill) return;
    ++counts_.backfilled;
    ++counts_.backfilled_since_start;
  };
  if (std::holds_alternative<JobSubmitted>(event)) ++counts_.submitted;
  if (const auto* whole = std::get_if<HetJobSubmitted>(&event)) counts_.submitted += whole->components.size();
  if (const auto* crontab = std::get_if<CrontabSet>(&event)) counts_.submitted += crontab->submitted.size();
  if (const auto* placed = std::get_if<JobPlaced>(&event)) starts(*placed);
  if (const auto* whole = std::get_if<HetJobPlaced>(&event))
    for (const JobPlaced& placed : whole->components) {
      starts(placed);
      counts_.backfilled_components += placed.by_backfill ? 1 : 0;
    }
  for (const JobKey key : not_over_) {
    const Job* job = after.find_job(key);
    if (!job || job->state != JobState::ended) continue;
    const bool ours =
        job->outcome == Outcome::node_fail || job->end_reason == Reason::launch_failure;  // not the job's own doing
    ++(job->outcome == Outcome::cancelled ? counts_.cancelled : ours ? counts_.failed : counts_.completed);
  }
}

void Diagnostics::pass_finished(const Plan& plan, std::size_t queued, bool backfills, Duration took, Time at) {
  const std::uint64_t depth = plan.placements.size() + plan.findings.size();
  add_pass(main_, depth, queued, took, at);
  if (!backfills) return;
  add_pass(backfill_, depth, queued, took, at);
  const auto planned = static_cast<std::uint64_t>(
      std::ranges::count_if(plan.findings, [](const Finding& finding) { return finding.planned_start.is_set(); }));
  backfill_.set_last_table(planned);
  backfill_.set_total_table(backfill_.total_table() + planned);
}

void Diagnostics::pass_given_up(bool backfills) {
  main_.set_cut_short(main_.cut_short() + 1);
  if (backfills) backfill_.set_cut_short(backfill_.cut_short() + 1);
}

void Diagnostics::answered(const wire::Request& request, UserId uid, Duration took) {
  const auto count = [&](Calls& calls) {
    ++calls.count;
    calls.total += took;
  };
  count(by_type_[static_cast<std::uint32_t>(request.body_case())]);
  if (by_user_.size() < users_max || by_user_.contains(uid.value)) count(by_user_[uid.value]);
}

void Diagnostics::reset(Time now) {
  const std::uint64_t backfilled = counts_.backfilled_since_start;
  std::map<std::uint32_t, std::string> names = std::move(names_);
  *this = {};
  counts_.backfilled_since_start = backfilled;
  names_ = std::move(names);
  since_ = now;
}

void Diagnostics::show(wire::Diagnostics& out) const {
  out.set_since_us(since_.value);
  out.set_submitted(counts_.submitted);
  out.set_started(counts_.started);
  out.set_completed(counts_.completed);
  out.set_cancelled(counts_.cancelled);
  out.set_failed(counts_.failed);
  *out.mutable_main() = main_;
  *out.mutable_backfill() = backfill_;
  out.set_backfilled(counts_.backfilled);
  out.set_backfilled_since_start(counts_.backfilled_since_start);
  out.set_backfilled_components(counts_.backfilled_components);
  for (const auto& [body, calls] : by_type_) {
    const CallName name = call_name(static_cast<wire::Request::BodyCase>(body));
    auto* to = out.add_by_type();
    to->set_name(name.name);
    to->set_number(name.number);
    to->set_count(calls.count);
    to->set_total_us(calls.total.value);
  }
  for (const auto& [uid, calls] : by_user_) {
    auto* to = out.add_by_user();
    to->set_number(uid);
    if (const auto known = names_.find(uid); known != names_.end()) to->set_name(known->second);
    to->set_count(calls.count);
    to->set_total_us(calls.total.value);
  }
}

}  // namespace millrace
