// src/core/planner/arrange.h - which of the nodes that have room a job gets, when it minds: features, neighbours,
// switches, spreading.
#pragma once

#include <optional>
#include <vector>

#include "core/ledger/state.h"
#include "core/model/features.h"
#include "core/model/fit.h"

namespace millrace {

// What a request says about the set of its nodes, read once per shape.
struct Wishes {
  FeatureExpression features, prefer;
  bool prefers = false;
  bool contiguous = false, spread = false, fewest = false;
  std::uint32_t switches = 0;  // at most so many leaf switches; 0: as few as can be had
  bool near = false;           // several nodes, and there are switches
  std::uint32_t segment = 0;   // nodes in groups of so many, each within one block
  bool spread_segments = false, consolidate_segments = false;
  bool idlest = false;  // the partition fills the least loaded nodes first
  // Something to choose: all candidates must be seen before any is taken.
  bool any() const {
    return features.alternatives.size() > 1 || !features.counted.empty() || prefers || contiguous || spread || fewest ||
           near || idlest || segment > 0;
  }
};

Wishes wishes_of(const State& state, const JobSpec& spec, const PartitionDef& partition);

// As choose_nodes, for a request with wishes; the candidates are in the partition's order of filling. `any_switches`:
// the job has waited long enough for its switches. Adds the nodes it looks at to `steps`: about as many as there are,
// some dozen times at the most.
std::optional<std::vector<NodeShare>> arrange(const Wishes& wishes, const JobSpec& spec,
                                              const std::vector<Candidate>& candidates, std::size_t required,
                                              const FitRules& rules, const SwitchTree& tree, bool any_switches,
                                              std::int64_t& steps);

}  // namespace millrace
