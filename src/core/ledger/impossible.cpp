// src/core/ledger/impossible.cpp - see impossible.h.
#include "core/ledger/impossible.h"

#include <algorithm>

#include "core/model/step.h"

namespace millrace {
namespace {

using Words = std::optional<std::string>;

Words about(JobKey key, const char* words) { return "job key " + std::to_string(key.value) + " " + words; }

// ---- what is named is there ----

Words job_missing(const State& state, JobKey key) {
  const Job* job = state.find_job(key);
  if (!job) return about(key, "is not there");
  for (const JobKey each : whole_of(*job))
    if (!state.find_job(each)) return about(each, "is not there, a component of a job that is");
  return std::nullopt;
}

Words node_missing(const State& state, NodeIndex index) {
  if (state.nodes.contains(index)) return std::nullopt;
  return "node " + std::to_string(index.value) + " is not there";
}

Words partition_missing(const State& state, std::uint32_t index) {
  if (index < state.partitions->size()) return std::nullopt;
  return "partition " + std::to_string(index) + " is not there";
}

// ---- what is named is in a state that allows it ----

// The facts that move a job on, and by which cause of the table of job_state.h; those that have a cause only where it
// has not ended or does not wait are asked in words_of.
template <class E>
constexpr std::optional<Cause> cause_of = std::nullopt;
template <>
constexpr std::optional<Cause> cause_of<JobPlaced> = Cause::placed;
template <>
constexpr std::optional<Cause> cause_of<AttemptEnded> = Cause::exited;
template <>
constexpr std::optional<Cause> cause_of<AttemptExited> = Cause::exited;
template <>
constexpr std::optional<Cause> cause_of<JobSuspended> = Cause::suspended;
template <>
constexpr std::optional<Cause> cause_of<JobResumed> = Cause::resumed;

bool runs(const Job& job) { return job.state == JobState::running || job.state == JobState::suspended; }

// The share of a node that the fact is about.
const NodeShare* held_share(const Job& job, NodeIndex node) {
  if (!job.placement) return nullptr;
  const auto& shares = job.placement->shares;
  const auto found = std::ranges::find(shares, node, &NodeShare::node);
  return found == shares.end() || found->released ? nullptr : &*found;
}

Words submission_impossible(const State& state, const JobSubmitted& e, JobKey key) {
  if (e.key != key) return about(e.key, "is not the next one");
  if (state.by_id.contains(e.id)) return "number " + std::to_string(e.id.value) + " is that of another job";
  if (!e.spec.owner) return about(e.key, "has no owner");
  if (e.array && e.array->tasks.empty()) return about(e.key, "is an array without tasks");
  if (auto wrong = partition_missing(state, e.spec.partition.value)) return wrong;
  for (const std::uint32_t more : e.spec.resource_request().more_partitions)
    if (auto wrong = partition_missing(state, more)) return wrong;
  return std::nullopt;
}

Words shares_impossible(const State& state, const std::vector<NodeShare>& shares) {
  if (shares.empty()) return "it is placed nowhere";
  std::vector<NodeIndex> nodes;
  for (const NodeShare& share : shares) {
    if (auto wrong = node_missing(state, share.node)) return wrong;
    nodes.push_back(share.node);
    if (share.released || share.lost || share.cpus < Cpus{0} || share.memory < Mebibytes{0})
      return "it is placed where it holds nothing";
  }
  std::ranges::sort(nodes);
  if (std::ranges::adjacent_find(nodes) != nodes.end()) return "it is placed twice on one node";
  return std::nullopt;
}

// ---- each kind ----

Words words_of(const State&, const auto&) { return std::nullopt; }

Words words_of(const State& state, const ControllerStarted& e) {
  return e.epoch > state.epoch ? Words{} : Words{"an epoch that is not after the last"};
}

Words words_of(const State&, const ClusterConfigured& e) {
  for (const PartitionDef& def : e.partitions)
    if (std::ranges::count(e.partitions, def.name, &PartitionDef::name) > 1)
      return "partition " + def.name + " is there twice";
  return std::nullopt;
}

Words words_of(const State& state, const JobSubmitted& e) { return submission_impossible(state, e, state.next_key); }

template <class List>
Words submissions_impossible(const State& state, const List& list) {
  JobKey key = state.next_key;
  std::vector<JobId> ids;
  for (const JobSubmitted& each : list) {
    if (auto wrong = submission_impossible(state, each, key)) return wrong;
    key.value += 1;
    ids.push_back(each.id);
  }
  std::ranges::sort(ids);
  if (std::ranges::adjacent_find(ids) != ids.end()) return "two jobs of one number";
  return std::nullopt;
}

Words words_of(const State& state, const HetJobSubmitted& e) {
  if (e.components.empty()) return "no components";
  for (std::size_t i = 0; i < e.components.size(); ++i)
    if (e.components[i].id.value != e.components.front().id.value + i) return "numbers that are not consecutive";
  return submissions_impossible(state, e.components);
}

Words words_of(const State& state, const CrontabSet& e) { return submissions_impossible(state, e.submitted); }

Words words_of(const State& state, const JobModified& e) {
  return e.partition ? partition_missing(state, e.partition->value) : std::nullopt;
}

Words words_of(const State& state, const ArrayTaskSplit& e) {
  const Job* rest = state.find_job(e.array);
  const ArrayState* array = state.find_array(e.array);
  if (!rest || !array || !rest->is_array_rest() || rest->state != JobState::pending || !array->rest.contains(e.task))
    return about(e.array, "has no such task that waits");
  if ((array->rest.size() == 1) != (e.key == e.array)) return about(e.key, "is not the one for its last task");
  if (e.key == e.array) return std::nullopt;
  if (e.key != state.next_key) return about(e.key, "is not the next one");
  if (state.by_id.contains(e.id)) return "number " + std::to_string(e.id.value) + " is that of another job";
  return std::nullopt;
}

Words words_of(const State& state, const JobPlaced& e) {
  if (state.job(e.key).is_array_rest()) return about(e.key, "is the rest of an array");
  if (e.partition)
    if (auto wrong = partition_missing(state, e.partition->value)) return wrong;
  return shares_impossible(state, e.shares);
}

Words words_of(const State& state, const AttemptEnded& e) {
  return held_share(state.job(e.key), e.node) ? Words{} : about(e.key, "has nothing on that node");
}
Words words_of(const State& state, const AttemptExited& e) {
  const NodeShare* share = held_share(state.job(e.key), e.node);
  return share && !share->exited ? Words{} : about(e.key, "has no process on that node");
}

Words words_of(const State& state, const JobLostNode& e) {
  const Job& job = state.job(e.key);
  if (!runs(job) || !held_share(job, e.node)) return about(e.key, "has nothing on that node");
  const auto held = std::ranges::count_if(job.placement->shares, [](const NodeShare& each) { return !each.released; });
  return held > 1 ? Words{} : about(e.key, "has no other node");
}

Words words_of(const State& state, const JobShrunk& e) {
  const Job& job = state.job(e.key);
  if (job.state != JobState::running) return about(e.key, "does not run");
  for (const NodeIndex node : e.nodes) {
    const NodeShare* share = held_share(job, node);
    if (!share || share->lost || share == &job.placement->shares.front())
      return about(e.key, "cannot do without that node");
  }
  return std::nullopt;
}

Words words_of(const State& state, const JobProgramEnded& e) {
  const Job& job = state.job(e.key);
  return e.program != JobProgram::none && job.program == e.program ? Words{}
                                                                   : about(e.key, "waits for no such program");
}

Words words_of(const State& state, const JobPortsHeld& e) {
  return state.job(e.key).is_on_nodes() ? Words{} : about(e.key, "is on no node");
}

Words words_of(const State& state, const JobCancelled& e) {
  return state.job(e.key).state != JobState::ended ? Words{} : about(e.key, "has ended");
}
Words words_of(const State& state, const JobTimedOut& e) {
  return runs(state.job(e.key)) ? Words{} : about(e.key, "does not run");
}
Words words_of(const State& state, const JobPreempted& e) {
  return runs(state.job(e.key)) ? Words{} : about(e.key, "does not run");
}
Words words_of(const State& state, const JobRequeued& e) {
  return state.job(e.key).state != JobState::pending ? Words{} : about(e.key, "is in the queue");
}
Words words_of(const State& state, const JobDeadlinePassed& e) {
  return state.job(e.key).state == JobState::pending ? Words{} : about(e.key, "does not wait");
}
Words words_of(const State& state, const JobForgotten& e) {
  return whole_has_ended(state, state.job(e.key)) ? Words{} : about(e.key, "has not ended");
}
Words words_of(const State& state, const JobResumeWanted& e) {
  return state.job(e.key).state == JobState::suspended ? Words{} : about(e.key, "is not suspended");
}

Words words_of(const State& state, const TimeSliceTurned& e) {
  for (const auto& [list, cause] : {std::pair{&e.suspended, Cause::suspended}, std::pair{&e.resumed, Cause::resumed}})
    for (const JobKey key : *list) {
      if (auto wrong = job_missing(state, key)) return wrong;
      if (!next_state(state.job(key).state, cause)) return about(key, "has no turn to begin or end");
    }
  return std::nullopt;
}

Words words_of(const State& state, const StepsReported& e) {
  if (!state.job(e.key).is_on_nodes()) return about(e.key, "is on no node");
  const StepTally* tally = state.step_tallies.find(e.key);
  std::uint32_t next = tally && tally->attempt == e.attempt ? tally->next_id : 0;
  std::vector<std::uint32_t> running;
  for (const StepStart& step : e.started) {
    if (step.id < next || !step.nodes || state.steps.contains({e.key, e.attempt, step.id}))
      return "step " + std::to_string(step.id) + " has started before";
    if (step.id != interactive_step) next = step.id + 1;
    running.push_back(step.id);
  }
  const auto is_running = [&](std::uint32_t id) {
    return std::ranges::find(running, id) != running.end() || state.running_steps.contains({e.key, e.attempt, id});
  };
  for (const StepChange& change : e.changed)
    if (!is_running(change.id)) return "step " + std::to_string(change.id) + " does not run";
  std::vector<std::uint32_t> over;
  for (const StepEnd& step : e.ended) {
    if (!is_running(step.id) || step.outcome == Outcome::none || std::ranges::find(over, step.id) != over.end())
      return "step " + std::to_string(step.id) + " does not run";
    over.push_back(step.id);
  }
  return std::nullopt;
}

Words words_of(const State& state, const HetJobPlaced& e) {
  if (e.components.empty()) return "no components";
  const Job* leader = state.find_job(e.components.front().key);
  if (!leader || whole_of(*leader).size() != e.components.size()) return "not the components of one job";
  for (std::size_t i = 0; i < e.components.size(); ++i) {
    const JobPlaced& each = e.components[i];
    const Job* job = state.find_job(each.key);
    if (!job || job->attempt != each.attempt || !next_state(job->state, Cause::placed) ||
        each.key.value != leader->key.value + i)
      return about(each.key, "does not wait");
    if (auto wrong = words_of(state, each)) return wrong;
  }
  return std::nullopt;
}

Words words_of(const State& state, const NodeDeleted& e) {
  return state.node(e.node).jobs.empty() ? Words{} : Words{"the node has jobs"};
}
Words words_of(const State& state, const NodeCreated& e) {
  const auto found = state.find_node(e.def.name);
  return found && state.node(*found).configured ? Words{"there is a node of that name"} : Words{};
}
Words words_of(const State& state, const PartitionStateChanged& e) {
  return partition_missing(state, e.partition.value);
}
Words words_of(const State& state, const PartitionDeleted& e) { return partition_missing(state, e.partition.value); }

Words words_of(const State& state, const AssociationChanged& e) {
  if (e.association.id.value == 0) return "an association without a number";
  for (AssociationId above = e.association.parent; above.value != 0;) {
    if (above == e.association.id) return "an association above itself";
    const Association* found = state.find_association(above);
    if (!found) return "association " + std::to_string(above.value) + " is not there";
    above = found->parent;
  }
  return std::nullopt;
}
Words words_of(const State&, const QosChanged& e) {
  return e.qos.id.value != 0 ? Words{} : Words{"a QOS without a number"};
}

// Facts whose key is that of a job which need not be there (any more).
template <class E>
constexpr bool names_a_job = requires(const E& e) { JobKey{e.key}; } && !std::is_same_v<E, JobSubmitted> &&
                             !std::is_same_v<E, ArrayTaskSplit> && !std::is_same_v<E, RecordAnnotated>;

template <class E>
Words why(const State& state, const E& e) {
  if constexpr (names_a_job<E>) {
    if (auto wrong = job_missing(state, e.key)) return wrong;
    const Job& job = state.job(e.key);
    if constexpr (requires { e.attempt; })
      if (job.attempt != e.attempt) return about(e.key, "is at another attempt");
    if (cause_of<E> && !next_state(job.state, *cause_of<E>))
      return about(e.key, "is in a state that does not allow it");
  }
  if constexpr (requires { NodeIndex{e.node}; })
    if (auto wrong = node_missing(state, e.node)) return wrong;
  if constexpr (requires { e.nodes.front() == NodeIndex{}; })
    for (const NodeIndex node : e.nodes)
      if (auto wrong = node_missing(state, node)) return wrong;
  return words_of(state, e);
}

}  // namespace

std::optional<std::string> why_impossible(const State& state, const Event& event) {
  return std::visit([&](const auto& e) { return why(state, e); }, static_cast<const EventKinds&>(event));
}

std::string_view kind_of(const Event& event) {
  return std::visit([](const auto& e) { return std::decay_t<decltype(e)>::event.name; },
                    static_cast<const EventKinds&>(event));
}

}  // namespace millrace
