// src/sim/cluster_steps.cpp - what must be true of the steps of a simulated cluster when all is over.
#include <algorithm>
#include <map>

#include "sim/cluster.h"

namespace millrace {
namespace {

std::string name_of_step(const StepRecord& record) {
  return "step " + std::to_string(record.fact.id()) + " of job key " + std::to_string(record.job_key) + " attempt " +
         std::to_string(record.attempt) + ": ";
}

// What a step manager was told to be in the log is there, whatever has crashed since, and says what the manager saw.
std::optional<std::string> judge_facts(const State& state, const StepRecord& record) {
  if (!record.start_heard || !state.find_job(JobKey{record.job_key})) return std::nullopt;
  const auto* step = state.steps.find({JobKey{record.job_key}, Attempt{record.attempt}, record.fact.id()});
  if (!step) return "acknowledged, and not in the ledger";
  if ((*step)->start.name != record.fact.name()) return "another step has its number";
  if ((*step)->is_running()) return "it still runs";
  if (!record.end_heard) return std::nullopt;
  if ((*step)->start.time_limit_minutes != record.fact.time_limit_minutes())
    return "its time limit is not the one its step manager knew";
  if ((*step)->end.exit_code != record.fact.exit_code()) return "it did not end as its step manager saw it";
  return std::nullopt;
}

}  // namespace

// Where its node was lost, by itself or by what the ledger says, others may know less of a step than it did.
bool SimCluster::was_lost(const State& state, const StepRunRecord& run) const {
  const auto node = std::ranges::find(nodes_, run.node, [](const auto& each) { return each->name(); });
  if (std::ranges::any_of((*node)->crashes(), [&](Time at) { return at >= run.started_at; })) return true;
  const Job* job = state.find_job(JobKey{run.name.job_key});
  if (!job || !job->placement || job->attempt.value != run.name.attempt) return true;
  return std::ranges::any_of(job->placement->shares, [&](const NodeShare& share) {
    return share.lost && state.node(share.node).def->name == run.node;
  });
}

// A step runs once on each of its nodes; its srun hears of its end after all of them, and the log has how it ended
// there.
std::optional<std::string> SimCluster::judge_runs(const State& state, const StepRecord& record,
                                                  const std::vector<const StepRunRecord*>& runs) const {
  std::set<std::string> nodes;
  std::uint32_t worst = 0;
  bool whole = !runs.empty();
  for (const StepRunRecord* run : runs) {
    if (!nodes.insert(run->node).second) return "was started twice on " + run->node;
    if (!run->ended_at.is_set()) return "runs for ever on " + run->node;
    if (was_lost(state, *run)) {
      whole = false;
      continue;
    }
    if (record.end_told_at.is_set() && run->ended_at > record.end_told_at)
      return "its srun heard of its end before it had ended on " + run->node;
    whole = whole && run->whole;
    worst = std::max(worst, run->exit_code);
  }
  const bool ended_well = record.fact.ended() && record.fact.end() == wire::StepFact::EXITED;
  if (whole && ended_well && record.fact.exit_signal() == 0 && record.fact.exit_code() != worst)
    return "ended with " + std::to_string(worst) + " and counts as " + std::to_string(record.fact.exit_code());
  if (record.fact.ended() && record.end_told_at.is_set() && runs.empty() && ended_well &&
      record.fact.exit_signal() == 0)
    return "is said to have run well, and ran nowhere";
  return std::nullopt;
}

std::optional<std::string> SimCluster::judge_steps(const State& state) const {
  std::map<AttemptName, std::vector<const StepRunRecord*>> runs;
  for (const auto& node : nodes_)
    for (const StepRunRecord& run : node->step_runs()) runs[run.name].push_back(&run);
  for (const auto& node : nodes_)
    for (const StepRecord& record : node->steps()) {
      auto wrong = judge_facts(state, record);
      if (!wrong)
        wrong = judge_runs(state, record, runs[{record.job_key, record.attempt, std::int64_t{record.fact.id()}}]);
      if (wrong) return name_of_step(record) + *wrong;
    }
  return std::nullopt;
}

std::size_t SimCluster::steps_heard() const {
  std::size_t count = 0;
  for (const auto& node : nodes_)
    for (const StepRecord& record : node->steps()) count += record.end_heard ? 1 : 0;
  return count;
}

std::size_t SimCluster::steps_on_several_nodes() const {
  std::map<AttemptName, std::size_t> nodes;
  for (const auto& node : nodes_)
    for (const StepRunRecord& run : node->step_runs()) ++nodes[run.name];
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](const auto& each) { return each.second > 1; }));
}

std::string SimCluster::what_runs() const {
  std::string out;
  for (const auto& node : nodes_) out += node->what_runs();
  return out;
}

}  // namespace millrace
