// src/step/step_manager/step_allocator.h - who of a job's steps has which CPUs, memory and devices of its allocation;
// gives out their numbers. Pure: no process, no socket.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "step/step_manager/step_resources.h"

namespace millrace::wire {
class CreateStep;
class LaunchPlan;
class ResourceWishes;
}  // namespace millrace::wire

namespace millrace {

struct StepShare {
  std::uint32_t node = 0;           // its place in the allocation
  std::vector<std::uint32_t> cpus;  // of the allocation's CPUs there, counted from 0
  std::uint32_t tasks = 0;
  NodeTaking taking{};  // memory and devices
  bool operator==(const StepShare&) const = default;
};

struct StepPlacement {
  std::vector<StepShare> shares;
  std::uint32_t tasks = 0;
  std::vector<std::string> notes;  // to be told to the user
};

class StepAllocator {
 public:
  // As the first node's launch plan describes the allocation. `first_id`: srun's own job has used step 0 already.
  StepAllocator(const wire::LaunchPlan& allocation, std::uint32_t first_id);

  // Where it can run now. Errc::unavailable: CPUs, memory or devices of other steps are in the way, later it can;
  // anything else: never.
  Result<StepPlacement> find_room(const wire::CreateStep& ask) const;
  // Takes what was found; the number of the step, never given out again.
  // At least `least_id`, so that the parts of a step in several components have one number.
  std::uint32_t start(const StepPlacement& placement, bool overlap, std::uint32_t least_id = 0);
  // The shell of an salloc: beside all others, and not counted among them. Once for an allocation.
  std::uint32_t start_shell(const StepPlacement& placement);
  bool had_shell() const { return had_shell_; }
  // Nothing of the step is left on this node. True: nor on any other, and its CPUs are free.
  bool node_ended(std::uint32_t step, const std::string& node);

  // The node has failed or was given up, and the job goes on without it: no step begins there any more. False: that was
  // known, or it is not of the job.
  bool lose(const std::string& node);
  const std::vector<std::string>& nodes() const { return nodes_; }
  const NodeBelongings& belongings(std::uint32_t node) const { return belongings_[node]; }
  bool knows_devices() const { return defaults_.knows_devices; }
  std::uint32_t next_id() const { return next_id_; }            // none from here on has been given out
  std::vector<std::string> nodes_of(std::uint32_t step) const;  // where it still runs
  // Which of its tasks, counted from 0, are on this node.
  std::vector<std::uint32_t> tasks_on(std::uint32_t step, const std::string& node,
                                      const wire::ResourceWishes& wishes) const;
  // Those of each share.
  std::vector<std::vector<std::uint32_t>> ranks_of(const std::vector<StepShare>& shares,
                                                   const wire::ResourceWishes& wishes) const;
  std::vector<std::uint32_t> running_on(const std::string& node) const;  // steps

 private:
  struct Running {
    std::vector<StepShare> shares;
    std::set<std::uint32_t> nodes;  // not ended there
    bool overlap = false;
  };
  std::vector<std::uint32_t> free_cpus(std::uint32_t node) const;
  NodeStock free_stock(std::uint32_t node) const;
  struct Room;
  Room room_on(std::uint32_t node, const StepNeeds& needs, bool in_the_end) const;
  Result<void> fill(std::vector<StepShare>& shares, const StepNeeds& needs) const;
  Result<std::vector<std::uint32_t>> candidates(const wire::CreateStep& ask) const;

  std::vector<std::string> nodes_;
  std::set<std::uint32_t> lost_;            // failed; they keep their places
  std::vector<std::uint32_t> cpus_;         // by node
  std::vector<NodeBelongings> belongings_;  // likewise
  StepDefaults defaults_;
  void occupy(std::uint32_t id, const StepPlacement& placement, bool overlap);

  std::uint32_t next_id_;
  bool had_shell_ = false;
  std::map<std::uint32_t, Running> running_;
};

}  // namespace millrace
