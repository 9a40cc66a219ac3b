// src/step/mpi/step_mpi.h - what the tasks of a parallel program get on this node so that they find each other: PMI or
// PMIx.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "base/result.h"
#include "mpi/exchange_hub.h"
#include "step/launch/launch.h"
#include "task.pb.h"

namespace millrace {

class StepMpi {
 public:
  virtual ~StepMpi() = default;
  // False: not yet, ask again after handle() and at start_by_us(). An error: tasks can never start.
  virtual Result<bool> can_start(std::int64_t /*now_us*/) { return true; }
  virtual std::int64_t start_by_us() const { return INT64_MAX; }
  // What the task's environment and descriptors get; task_started() after its fork.
  virtual Result<void> prepare_task(std::uint32_t rank, TaskSpec& spec) = 0;
  virtual void task_started(const TaskSpec& spec) = 0;
  virtual void task_ended(std::uint32_t rank, bool failed) = 0;

  // `may_read`: what tasks say can be passed on; else it waits, and so do they.
  virtual void add_polls(std::vector<pollfd>& polls, bool may_read) const = 0;
  virtual bool handle(const pollfd& ready) = 0;  // false: the descriptor is none of ours
  virtual void hear(const wire::MpiToNode& message) = 0;
  virtual std::vector<wire::MpiFromNode> take_outgoing() = 0;
  virtual void end() {}  // every task has ended
};

// The node of each task of the step, by the positions of `plan.nodes()`.
Result<std::vector<std::uint32_t>> node_of_each_task(const wire::LaunchPlan& plan);
// How many nodes have tasks.
std::uint32_t nodes_with_tasks(const wire::LaunchPlan& plan);

std::unique_ptr<StepMpi> make_pmi(const wire::LaunchPlan& plan, const std::vector<std::uint32_t>& node_of_task);
// Starts the PMIx server in a process of its own, as the user and in the job's cgroup. `common` is what tasks are
// started with.
Result<std::unique_ptr<StepMpi>> start_pmix(const wire::LaunchPlan& plan,
                                            const std::vector<std::uint32_t>& node_of_task, TaskSpec common,
                                            std::int64_t now_us);

}  // namespace millrace
