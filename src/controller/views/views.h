// src/controller/views/views.h - what people are shown: rows of jobs, nodes and partitions made from one durable
// snapshot, on any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client.pb.h"
#include "core/ledger/state.h"
#include "core/planner/plan.h"
#include "core/planner/priority.h"

namespace millrace {

// What is known besides the ledger, as values a worker may read while the loop goes on.
struct Observed {
  std::map<NodeIndex, wire::Telemetry> telemetry;
  std::map<NodeIndex, bool> responding;
  std::map<NodeIndex, std::set<JobKey>> in_prolog;  // jobs whose prolog runs there
};

struct PlanReport {
  std::map<JobKey, Finding> findings;
  Time made_at;                     // not set: no pass has looked at the queue yet
  JobKey looked_at_before;          // jobs from this key on were submitted after the pass
  std::vector<Cpus> largest_nodes;  // by partition: CPUs of the largest node
};

struct ReadView {
  State state;
  SharedValue<Observed> observed;
  SharedValue<PlanReport> plan;
  Time now;
};

// Of a waiting job: as many as it is planned for, or will need at the least.
std::uint32_t planned_node_count(const ReadView& snapshot, const Job& job);

// `kept`: the job is that of this record, and no longer among the others.
void show_job(const ReadView& snapshot, const Priorities& priorities, const Job& job, bool brief, wire::JobView& out,
              const KeptJob* kept = nullptr);
void show_node(const ReadView& snapshot, NodeIndex index, const Node& node, wire::NodeView& out);
void show_partition(const ReadView& snapshot, const Partition& partition, wire::PartitionView& out);

wire::JobStateName shown_state(const Job& job);
const char* kind_word(DependencyKind kind);  // afterok
std::string shown_reason(const ReadView& snapshot, const Job& job);
std::string hostlist_of(const State& state, const std::vector<NodeShare>& shares);
// Which nodes failed while it went on, and which of srun's tasks are gone with them.
void show_lost(const State& state, const Job& job, wire::JobProgress& out);
// Without those that failed while the job went on.
std::vector<NodeShare> left_of(const Placement& placement);
std::string hostlist_of(const State& state, const std::vector<std::uint32_t>& nodes);

}  // namespace millrace
