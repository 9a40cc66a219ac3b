// src/core/ledger/apply_end.cpp - see apply_end.h.
#include "core/ledger/apply_end.h"

#include <algorithm>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_job.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/failed_launches.h"

namespace millrace {
namespace {

// What a node said of the end of an attempt, before or after it tidied up.
struct NodeSaid {
  NodeIndex node;
  AttemptEnd end{};
  std::uint32_t exit_code = 0, exit_signal = 0;
  const std::string& words;
};

Outcome outcome_of(const NodeSaid& e) {
  if (e.end == AttemptEnd::supervisor_lost || e.end == AttemptEnd::node_lost || is_fault_of_node(e.end))
    return Outcome::node_fail;
  if (e.end == AttemptEnd::out_of_memory) return Outcome::out_of_memory;
  return e.end == AttemptEnd::exited && e.exit_code == 0 && e.exit_signal == 0 ? Outcome::completed : Outcome::failed;
}

Reason end_reason_of(const NodeSaid& e) {
  switch (e.end) {
    case AttemptEnd::supervisor_lost:
    case AttemptEnd::node_lost:
      return Reason::node_down;
    case AttemptEnd::prolog_failed:
    case AttemptEnd::launch_failed:
    case AttemptEnd::node_unfit:
    case AttemptEnd::not_begun:
      return Reason::launch_failure;
    case AttemptEnd::out_of_memory:
      return Reason::out_of_memory;
    case AttemptEnd::exited:
      break;
  }
  return e.exit_signal != 0 ? Reason::raised_signal : e.exit_code != 0 ? Reason::non_zero_exit_code : Reason::none;
}

// MaxBatchRequeue: one that goes back to the queue by itself too often is held there. Not asked for, so not where
// somebody said so.
void count_requeue(const State& state, Job& job) {
  if (!job.requeue_wanted || state.policy->max_requeues == unlimited) return;
  if (job.requeues < UINT8_MAX) ++job.requeues;
  if (job.requeue_held || job.requeues <= state.policy->max_requeues) return;
  job.requeue_held = true;
  job.held_why = HeldWhy::too_often;
}

// What had to run before it failed: back to the queue, where it is held so that somebody looks. The job is not to
// blame, but srun's and salloc's have nobody who would wait for another start.
void fail_launch(const State& state, Job& job) {
  job.outcome = Outcome::failed;
  job.end_reason = Reason::launch_failure;
  job.requeue_wanted = job.spec->requeue ||
                       (state.policy->requeue_on_prolog_failure && job.spec->is_batch() && !job.spec->allocation_only);
  job.requeue_held = job.launch_failed = job.requeue_wanted && state.policy->hold_on_prolog_failure;
  count_requeue(state, job);
}

// Of a batch job only the first node runs anything. Others that are launched too hold their node for it; of a further
// component all do.
bool only_holds(const Job& job, NodeIndex node) {
  if (job.placement->supervised) return true;
  return job.placement->on_all_nodes && job.spec->is_batch() && node != job.placement->shares.front().node;
}

// One that lets go although nobody told it to has been lost.
template <class Told>
NodeSaid as_meant(const Job& job, const Told& e) {
  const bool lost = only_holds(job, e.node) && e.end == AttemptEnd::exited && job.state != JobState::completing;
  return {e.node, lost ? AttemptEnd::supervisor_lost : e.end, e.exit_code, e.exit_signal, e.words};
}

// RequeueExit and RequeueExitHold: codes by which a script says that it wants to be run again.
void requeue_by_code(const State& state, Job& job, const NodeSaid& e) {
  if (e.end != AttemptEnd::exited || e.exit_signal != 0 || !job.spec->is_batch() || job.spec->allocation_only) return;
  const auto is_in = [&](const std::vector<std::uint32_t>& codes) {
    return std::ranges::find(codes, e.exit_code) != codes.end();
  };
  const bool hold = is_in(state.policy->requeue_exit_hold);
  if (!hold && !is_in(state.policy->requeue_exit)) return;
  job.requeue_wanted = true;
  job.requeue_held = hold;
  // In logs from before requeues were counted such a job is held like any other.
  if (hold && state.policy->max_requeues != unlimited) job.held_why = HeldWhy::special_exit;
  count_requeue(state, job);
}

// What an end tells of the node: that it can launch jobs, or that it could not. Logs from before nodes said why have no
// words, and their agents no name for their spools: what those logs lead to stays what it was.
void note_launch(State& state, const Job& job, const NodeSaid& said, Time at) {
  const Node& node = state.node(said.node);
  if (node.spool_id.empty()) return;
  if (is_failed_launch(said.end)) {
    auto failed = with_failed_launch(node.failed_launches, *job.spec, at);
    if (failed != node.failed_launches) state.edit_node(said.node).failed_launches = std::move(failed);
  } else if ((said.end == AttemptEnd::exited && job.state == JobState::running) ||
             said.end == AttemptEnd::out_of_memory) {
    Node& edited = state.edit_node(said.node);
    edited.ran_well_at = at;
    edited.well_runs = with_well_run(std::move(edited.well_runs), *job.spec, at);
    edited.failed_launches.clear();
  }
}

// Why it did not start, for whoever asks.
void note_trouble(Job& job, const NodeSaid& said) {
  const bool told =
      !said.words.empty() && (said.end == AttemptEnd::launch_failed || said.end == AttemptEnd::prolog_failed);
  if (told || is_fault_of_node(said.end)) {
    const std::uint32_t tries = job.trouble ? job.trouble->tries : 0;
    job.trouble = SharedValue(LaunchTrouble{said.words, said.node, tries + (is_fault_of_node(said.end) ? 1u : 0u)});
  } else if (job.end_reason != Reason::launch_failure &&
             (said.end == AttemptEnd::exited || said.end == AttemptEnd::out_of_memory)) {
    job.trouble = {};
  }
}

// Nothing of it ran: the script has not begun, so that it may begin elsewhere whatever was said about running it again.
void start_elsewhere(Job& job, const NodeSaid& said) {
  const bool has_script = job.spec->is_batch() && !job.spec->allocation_only;
  job.outcome = Outcome::node_fail;
  job.end_reason = Reason::launch_failure;
  job.requeue_wanted = job.spec->requeue || (has_script && said.node == job.placement->shares.front().node);
  if (!job.requeue_wanted || job.trouble->tries < launch_tries_max) return;
  job.requeue_held = job.launch_failed = true;
}

// One node's report settles what the job comes to, unless something stronger was decided before.
void weigh_end(const State& state, Job& job, const NodeSaid& e) {
  if (only_holds(job, e.node) && job.state == JobState::completing)
    return;  // it was told to let go, or the script is over anyway
  const Outcome outcome = outcome_of(e);
  const bool decided = job.outcome == Outcome::cancelled || job.outcome == Outcome::timeout ||
                       job.outcome == Outcome::preempted || job.requeue_wanted;
  if (e.exit_code > job.exit_code) job.exit_code = e.exit_code;
  if (e.exit_signal != 0) job.exit_signal = e.exit_signal;
  if (outcome == Outcome::node_fail) job.failed_node = e.node;
  if (decided) return;
  note_trouble(job, e);
  if (e.end == AttemptEnd::prolog_failed) {
    if (job.state != JobState::completing) fail_launch(state, job);
  } else if (is_fault_of_node(e.end)) {
    start_elsewhere(job, e);
  } else if (outcome == Outcome::node_fail) {
    job.outcome = outcome;
    job.end_reason = Reason::node_down;
    // One that never began has lost nothing by beginning elsewhere.
    job.requeue_wanted = job.spec->requeue || (job.boots && job.spec->is_batch() && !job.spec->allocation_only);
    count_requeue(state, job);
  } else if (job.outcome == Outcome::none || (job.outcome == Outcome::completed && outcome != Outcome::completed) ||
             (job.outcome == Outcome::failed &&
              outcome == Outcome::out_of_memory)) {  // that one node ran short explains what failed elsewhere
    job.outcome = outcome;
    job.end_reason = end_reason_of(e);
    requeue_by_code(state, job, e);
  }
}

// Where a node or a supervisor of a component is lost, the whole job is: the script's part of it has to stop first.
void lose_component(State& state, JobKey key, const NodeSaid& said, Time at) {
  const JobKey leader = state.job(key).het->leader;
  Job& job = state.edit_job(leader);
  weigh_end(state, job, said);
  to_completing(state, job, at);
  bring_along(state, leader, at);
}

// Of a heterogeneous job: nothing of it runs anywhere, nor has a node to be tidied up after it.
bool whole_released(const State& state, const Job& leader) {
  return std::ranges::all_of(whole_of(leader), [&](JobKey key) {
    const Job& each = state.job(key);
    if (!each.is_on_nodes() || (each.is_component() && !each.placement->supervised)) return true;
    return std::ranges::all_of(each.placement->shares, &NodeShare::released);
  });
}

// Nothing of it is left on any node: it is over, unless components of it are not or the controller still has something
// to run for it.
void all_released(State& state, JobKey key, Time at) {
  if (!whole_released(state, state.job(key))) return bring_along(state, key, at);
  Job& job = state.edit_job(key);
  if (!state.policy->job_epilog) return settle_job(state, key, at);
  job.program = JobProgram::epilog;
  bring_along(state, key, at);
}

// One that nobody told to end takes the whole job with it. One that was is over at once where it goes alone, else with
// the whole.
void end_of_component(State& state, const AttemptEnded& e, const NodeSaid& said, bool news) {
  const JobKey leader = state.job(e.key).het->leader;
  const bool supervised = state.job(e.key).placement->supervised;
  if (!supervised || (news && state.job(e.key).state == JobState::running)) lose_component(state, e.key, said, e.at);
  if (!supervised || !std::ranges::all_of(state.job(e.key).placement->shares, &NodeShare::released)) return;
  if (state.job(leader).state != JobState::completing) return settle_component(state, e.key, e.at);
  if (whole_released(state, state.job(leader))) all_released(state, leader, e.at);
}

bool stops_the_others(const NodeSaid& said) {
  return outcome_of(said) == Outcome::node_fail || said.end == AttemptEnd::prolog_failed;
}

}  // namespace

void begin_anew(State& state, JobKey key, Time at) {
  for (const JobKey each : whole_of(state.job(key))) {
    Job& job = state.edit_job(each);
    if (job.state != JobState::running || job.suspension) continue;
    count_job(state, job, Count::take_away, at);
    clear_deadline(state, kill_time(job), each, DeadlineKind::time_limit);
    job.started_at = at;
    count_job(state, job, Count::add, at);
    if (kill_time(job) != never) state.deadlines.set({kill_time(job), each, DeadlineKind::time_limit}, {});
  }
}

void exit_attempt(State& state, const AttemptExited& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.attempt == e.attempt);
  MR_ASSERT(next_state(job.state, Cause::exited) == JobState::completing);
  Placement& placement = job.placement.edit();
  const auto share = std::ranges::find(placement.shares, e.node, &NodeShare::node);
  MR_ASSERT(share != placement.shares.end());
  MR_ASSERT(!share->released && !share->exited);
  share->exited = true;
  const NodeSaid said = as_meant(job, e);
  note_launch(state, job, said, e.at);
  if (job.is_component()) {
    if (job.state == JobState::running) lose_component(state, e.key, said, e.at);
    return;
  }
  weigh_end(state, job, said);
  const bool script_over = job.spec->is_batch() && e.node == placement.shares.front().node;
  const bool all_over =
      std::ranges::all_of(placement.shares, [](const NodeShare& each) { return each.exited || each.released; });
  if (script_over || all_over || stops_the_others(said) || job.state == JobState::completing)
    to_completing(state, job, e.at);
  bring_along(state, e.key, e.at);
}

void leave_node(State& state, const JobLostNode& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.attempt == e.attempt);
  MR_ASSERT(job.state == JobState::running || job.state == JobState::suspended);
  count_job(state, job, Count::take_away, e.at);
  Placement& placement = job.placement.edit();
  const auto share = std::ranges::find(placement.shares, e.node, &NodeShare::node);
  MR_ASSERT(share != placement.shares.end());
  MR_ASSERT(!share->released);
  share->released = share->lost = true;
  MR_ASSERT(!std::ranges::all_of(placement.shares, &NodeShare::released));
  count_job(state, job, Count::add, e.at);
  const bool kept_steps = share == placement.shares.begin();
  give_back_share(state, *share, e.key, e.at);
  if (kept_steps) end_steps(state, e.key, Outcome::node_fail, e.at);  // nobody is left to tell of them
}

void give_up_nodes(State& state, const JobShrunk& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.attempt == e.attempt);
  MR_ASSERT(job.state == JobState::running);
  count_job(state, job, Count::take_away, e.at);
  Placement& placement = job.placement.edit();
  for (const NodeIndex node : e.nodes) {
    const auto share = std::ranges::find(placement.shares, node, &NodeShare::node);
    MR_ASSERT(share != placement.shares.end());
    MR_ASSERT(!share->released && !share->lost);
    share->lost = share->given_up = true;
  }
  MR_ASSERT(!placement.shares.front().lost);
  placement.resized_at = e.at;
  count_job(state, job, Count::add, e.at);
}

void end_program(State& state, const JobProgramEnded& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.attempt == e.attempt);
  MR_ASSERT(job.program == e.program);
  job.program = JobProgram::none;
  if (e.program == JobProgram::epilog) return settle_job(state, e.key, e.at);
  if (!e.failed) return begin_anew(state, e.key, e.at);
  fail_launch(state, job);
  to_completing(state, job, e.at);
  bring_along(state, e.key, e.at);
}

void end_attempt(State& state, const AttemptEnded& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.attempt == e.attempt);
  MR_ASSERT(next_state(job.state, Cause::exited) == JobState::completing);
  Placement& placement = job.placement.edit();
  const auto share = std::ranges::find(placement.shares, e.node, &NodeShare::node);
  MR_ASSERT(share != placement.shares.end());
  MR_ASSERT(!share->released);
  const NodeSaid said = as_meant(job, e);
  if (e.usage != StepUsage{} && state.policy->keep_ended_seconds > 0) {
    if (!job.used) job.used = SharedValue(StepUsage{});
    add(job.used.edit(), e.usage);
  }
  const bool left = share->given_up;
  const bool news =
      !share->exited && !left;  // how it ended was told before the node tidied up, whatever became of the node since
  if (news && !job.is_component()) weigh_end(state, job, said);
  if (!share->exited) note_launch(state, job, said, e.at);
  const bool on_batch_host = e.node == placement.shares.front().node;
  // A batch job has processes on its first node only, so the others are free when that one is, unless they have to tidy
  // up after it.
  for (NodeShare& each : placement.shares) {
    const bool over = each.node == e.node || (job.spec->is_batch() && on_batch_host && !placement.on_all_nodes &&
                                              (!job.is_component() || placement.supervised));
    if (!over || each.released) continue;
    each.released = true;
    give_back_share(state, each, e.key, e.at);
  }
  if (left && job.state != JobState::completing) return;  // the job goes on without it
  if (job.is_component()) return end_of_component(state, e, said, news);
  const bool everywhere = std::ranges::all_of(placement.shares, &NodeShare::released);
  // srun's tasks on other nodes go on after one node is done, unless that node was lost.
  if (job.spec->is_batch() || everywhere || (news && stops_the_others(said)) || job.state == JobState::completing)
    to_completing(state, job, e.at);
  if (everywhere) return all_released(state, e.key, e.at);
  bring_along(state, e.key, e.at);
}

}  // namespace millrace
