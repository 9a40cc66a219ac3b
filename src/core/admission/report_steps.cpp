// src/core/admission/report_steps.cpp - see report_steps.h.
#include "core/admission/report_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"

namespace millrace {
namespace {

constexpr std::size_t name_length_max = 256;

// A step manager is not believed to be brief.
SharedValue<StepWishes> cut(const SharedValue<StepWishes>& from) {
  if (!from || *from == StepWishes{}) return {};
  StepWishes to = *from;
  for (std::string* text : {&to.gres, &to.tres_per_step, &to.tres_per_node, &to.tres_per_socket, &to.tres_per_task,
                            &to.cpus_per_tres, &to.mem_per_tres})
    if (text->size() > name_length_max) text->resize(name_length_max);
  return SharedValue(std::move(to));
}

// Names of nodes that all facts of one message may have together. A step manager sends less; a node that makes facts up
// may not keep the loop.
constexpr std::size_t names_max = 200'000;

class NodeLists {
 public:
  NodeLists(const State& state, const Job& job) {
    for (const NodeShare& share : job.placement->shares) nodes_.emplace(state.node(share.node).def->name, share.node);
  }
  // The nodes of a step; none: it names one that its job does not have.
  StepNodes resolve(const std::string& list) {
    const std::size_t most = std::min(nodes_.size(), names_left_);
    const auto names =
        most == 0 ? Result<std::vector<std::string>>{std::vector<std::string>{}} : expand_hostlist(list, most);
    if (!names) return {};
    names_left_ -= std::min(names_left_, names->size() + 1);
    std::vector<std::uint32_t> out;
    for (const std::string& name : *names) {
      const auto found = nodes_.find(name);
      if (found == nodes_.end()) return {};
      out.push_back(found->second.value);
    }
    return out.empty() ? StepNodes{} : StepNodes{std::move(out)};
  }

 private:
  std::map<std::string, NodeIndex> nodes_;  // of the job
  std::size_t names_left_ = names_max;
};

}  // namespace

std::vector<Event> decide_steps(const State& state, JobKey key, Attempt attempt,
                                const std::vector<ReportedStep>& reported, Time now) {
  const Job* job = state.find_job(key);
  if (!job || job->attempt != attempt || !job->placement || !job->is_on_nodes()) return {};
  if (job->is_component() && !job->placement->supervised) return {};
  NodeLists nodes(state, *job);
  const StepTally* tally = state.step_tallies.find(key);
  std::uint32_t next_id = tally && tally->attempt == attempt ? tally->next_id : 0;
  StepsReported out{.key = key, .attempt = attempt, .started = {}, .ended = {}, .at = now};
  std::map<std::uint32_t, Time> started;
  std::set<std::uint32_t> ended, changed;
  for (const ReportedStep& step : reported) {
    const std::uint32_t id = step.start.id;
    const bool fresh_shell =
        id == interactive_step && !started.contains(id) && !state.steps.contains({key, attempt, id});
    if ((id >= next_id && id < steps_of_attempt_max) || fresh_shell) {
      StepStart fact = step.start;
      fact.nodes = nodes.resolve(step.nodes);
      if (!fact.nodes) continue;
      if (fact.name.size() > name_length_max) fact.name.resize(name_length_max);
      if (fact.srun_host.size() > name_length_max) fact.srun_host.resize(name_length_max);
      if (fact.distribution.size() > name_length_max) fact.distribution.clear();
      fact.wishes = cut(fact.wishes);
      if (fact.ports.size() > name_length_max) fact.ports.clear();
      fact.at =
          std::clamp(fact.at, job->started_at, std::max(now, job->started_at));  // the clocks of nodes are their own
      if (!fresh_shell) next_id = id + 1;
      started[id] = fact.at;
      out.started.push_back(std::move(fact));
    } else if (const auto* known = state.steps.find({key, attempt, id});
               known && (*known)->is_running() && !started.contains(id) && !changed.contains(id) &&
               (*known)->start.time_limit_minutes != step.start.time_limit_minutes) {
      changed.insert(id);
      out.changed.push_back({id, step.start.time_limit_minutes});
    }
    if (!step.end || !(started.contains(id) || state.running_steps.contains({key, attempt, id})) ||
        !ended.insert(id).second)
      continue;
    StepEnd fact = *step.end;
    fact.id = id;
    if (fact.outcome == Outcome::none) fact.outcome = Outcome::failed;
    const auto* known = state.steps.find({key, attempt, id});
    const Time begun = known ? (*known)->start.at : started[id];
    fact.at = std::clamp(fact.at, begun, std::max(now, begun));
    out.ended.push_back(fact);
  }
  if (out.started.empty() && out.ended.empty() && out.changed.empty()) return {};
  return {std::move(out)};
}

}  // namespace millrace
