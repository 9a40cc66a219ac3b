// src/core/ledger/references.cpp - see references.h.
#include "core/ledger/references.h"

#include <algorithm>
#include <set>

namespace millrace {
namespace {

bool is_partition(const State& state, std::uint32_t index) { return index < state.partitions->size(); }

std::optional<std::string> check_job(const State& state, const Job& job) {
  const std::string which = "job " + std::to_string(job.id.value) + ": ";
  if (!job.spec || !job.spec->owner) return which + "it has no request or no owner";
  if (job.state > JobState::suspended || job.hold > Hold::admin || job.program > JobProgram::epilog)
    return which + "its state is none";
  if (!is_partition(state, job.spec->partition.value)) return which + "its partition is not there";
  for (const std::uint32_t more : job.spec->resource_request().more_partitions)
    if (!is_partition(state, more)) return which + "one of its partitions is not there";
  if (job.array.value != 0 && !state.arrays.contains(job.array)) return which + "its array is not there";
  if (job.het && (job.het->offset >= job.het->size || job.het->size > state.jobs.size()))
    return which + "a component of more than there are";
  if (!job.is_on_nodes()) return std::nullopt;
  if (!job.placement || job.placement->shares.empty()) return which + "runs nowhere";
  for (const NodeShare& share : job.placement->shares)
    if (!state.nodes.contains(share.node)) return which + "runs on a node that is not there";
  return std::nullopt;
}

// Whoever looks for what holds for an association goes up to the top.
std::optional<std::string> check_parents(const State& state) {
  for (const auto& [id, association] : state.associations) {
    const Association* at = association.get();
    for (std::size_t steps = 0; at->parent.value != 0; ++steps) {
      at = state.find_association(at->parent);
      const std::string which = "association " + std::to_string(id.value) + ": ";
      if (at == nullptr) return which + "its parent is not there";
      if (steps > state.associations.size()) return which + "it is above itself";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> dangling_reference(const State& state) {
  for (const Partition& partition : *state.partitions)
    if (!std::ranges::all_of(partition.nodes, [&](NodeIndex node) { return state.nodes.contains(node); }))
      return "partition " + partition.def.name + ": it has a node that is not there";
  if (auto wrong = check_parents(state)) return wrong;
  if (state.tres_names->size() > tres_max || state.tres_names->size() <= tres_gpu)
    return "the resources that are counted are too many or too few";
  std::set<JobId> numbers;
  std::set<TaskKey> tasks;
  std::set<SubmissionOf> submissions;
  for (const auto& [key, job] : state.jobs) {
    if (auto wrong = check_job(state, *job)) return wrong;
    if (!numbers.insert(job->id).second) return "two jobs have the number " + std::to_string(job->id.value);
    if (job->array_task && !tasks.insert({job->array, *job->array_task}).second)
      return "two jobs are task " + std::to_string(*job->array_task) + " of one array";
  }
  for (const auto& [key, job] : state.jobs)
    if (job->spec->submission != SubmissionKey{} && (job->array.value == 0 || job->array == key) &&
        !submissions.insert({job->spec->owner->uid, job->spec->submission}).second)
      return "two jobs come from one submission";
  for (const auto& [number, kept] : state.kept)
    if (!kept->job->spec || !kept->job->spec->owner) return "a kept run has no request or no owner";
  return std::nullopt;
}

}  // namespace millrace
