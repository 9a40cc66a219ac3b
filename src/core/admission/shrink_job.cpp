// src/core/admission/shrink_job.cpp - see shrink_job.h.
#include "core/admission/shrink_job.h"

#include <algorithm>

#include "core/admission/submit_job.h"

namespace millrace {
namespace {

std::expected<void, Refusal> check_may_shrink(const Job& job, const Actor& actor) {
  if (!may_change(job, actor)) return refuse(RefusalCode::access_denied);
  if (job.state == JobState::ended || job.state == JobState::completing) return refuse(RefusalCode::already_finished);
  if (job.state != JobState::running)
    return refuse(RefusalCode::suspended, "a suspended job keeps its nodes until it is resumed");
  if (job.het) return refuse(RefusalCode::not_supported, "a component of a heterogeneous job keeps the nodes it has");
  if (!job.spec->is_batch())
    return refuse(RefusalCode::not_supported, "the tasks of an srun that is a job of its own are on all its nodes");
  if (job.boots || job.program != JobProgram::none)
    return refuse(RefusalCode::nodes_busy, "the nodes of the job are still being made ready");
  return {};
}

std::expected<std::vector<NodeIndex>, Refusal> named(const State& state, const std::vector<NodeIndex>& has,
                                                     const std::string& names) {
  auto wanted = resolve_nodes(state, names);
  if (!wanted) return std::unexpected(std::move(wanted).error());
  std::vector<NodeIndex> out;
  for (const auto& each : *wanted) {
    const NodeIndex node{each};
    if (std::ranges::find(has, node) == has.end())
      return refuse(RefusalCode::node_configuration_unavailable,
                    "node " + state.node(node).def->name +
                        " is not one of the job's: a running job can give up nodes, and get no others");
    out.push_back(node);
  }
  if (std::ranges::find(out, has.front()) == out.end())
    return refuse(
        RefusalCode::node_configuration_unavailable,
        "node " + state.node(has.front()).def->name + " has to stay: the job's script or its step manager runs there");
  return out;
}

}  // namespace

bool resizes(const Job& job, const ModifyJob& ask) {
  return job.state != JobState::pending && (ask.change.min_nodes || ask.change.max_nodes || ask.required_nodes);
}

Decision decide_shrink(const State& state, const Job& job, const ModifyJob& ask, const Actor& actor, Time now) {
  if (auto may = check_may_shrink(job, actor); !may) return std::unexpected(std::move(may).error());
  std::vector<NodeIndex> has;
  for (const NodeShare& share : job.placement->shares)
    if (!share.lost) has.push_back(share.node);
  std::vector<NodeIndex> keeps = has;
  if (ask.required_nodes) {
    auto list = named(state, has, *ask.required_nodes);
    if (!list) return std::unexpected(std::move(list).error());
    keeps = *std::move(list);
  }
  if (ask.change.min_nodes) {
    const std::uint32_t count = *ask.change.min_nodes;
    if (count == 0 || count > keeps.size())
      return refuse(RefusalCode::invalid_node_count, "the job has " + std::to_string(has.size()) +
                                                         " nodes; a running job can give up nodes, and get no others");
    if (ask.required_nodes && count != keeps.size())
      return refuse(RefusalCode::invalid_node_count,
                    "as many nodes are named as NumNodes says, or NumNodes is left out");
    keeps.resize(count);
  }
  JobShrunk out{job.key, job.attempt, {}, now};
  std::ranges::copy_if(has, std::back_inserter(out.nodes),
                       [&](NodeIndex node) { return std::ranges::find(keeps, node) == keeps.end(); });
  if (out.nodes.empty()) return std::vector<Event>{};
  return std::vector<Event>{std::move(out)};
}

}  // namespace millrace
