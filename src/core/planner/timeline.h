// src/core/planner/timeline.h - every node's free amounts now and later: who gives back what when, and what has been
// promised ahead.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/ledger/state.h"
#include "core/model/fit.h"
#include "core/planner/cpu_view.h"
#include "core/planner/partition_caps.h"
#include "core/planner/plan.h"
#include "core/planner/profile.h"
#include "core/planner/shape.h"

namespace millrace {

// How long a waiting job is planned to run. One without a limit is planned as a year, as Slurm does.
Duration planned_span(const Job& job, const PlannerSettings& settings);
// When a running job is expected to be gone; always after `now`.
Time planned_release(const Job& job, const PlannerSettings& settings, Time now);

struct Claim {
  Time start;
  std::vector<NodeShare> shares;
};

// Kept from pass to pass and told of what changed; promises of a pass (taken nodes, claims) are laid over it and wiped
// by the next.
class Timeline {
 public:
  explicit Timeline(const State& state);

  // ---- what is so ----
  void set_node(NodeIndex index, const Node& node, bool reachable);
  // null: it is gone
  void job_changed(const State& state, JobKey key, const SharedValue<Job>* job, const PlannerSettings& settings,
                   Time now);
  // Jobs that should have been gone by now are planned anew.
  void pass_to(const State& state, Time now, const PlannerSettings& settings);

  // ---- what a pass does ----
  // Wipes the promises of the last one; reserved nodes are taken for as long as they are.
  void begin_pass(const State& state, Time now);
  // For jobs of that reservation its nodes are there; to be closed again afterwards.
  void open_window(ReservationId id, bool open);
  bool has_windows() const { return !windows_.empty(); }
  std::uint64_t windows_digest() const { return windows_digest_; }
  // The job's shares if it started at this time for this span: `now` for a start, later for a plan. `by_claims` tells
  // whether the answer might be better without the promises made ahead.
  std::optional<std::vector<NodeShare>> fit(Shape& shape, Time at, Duration span, bool starting_now, bool& by_claims) {
    return fit_in(order(shape), shape, at, span, starting_now, by_claims);
  }
  // The same for a start now that failed at that moment: only what came free since can help.
  std::optional<std::vector<NodeShare>> fit_since(std::size_t moment, Shape& shape, Time now, Duration span,
                                                  bool& by_claims);
  // What running jobs hold is there (or taken again) while the question stands whether they should go.
  void imagine_gone(std::span<const Job* const> jobs, bool gone);
  const Amounts& free_now(NodeIndex node) const { return profile(node.value).now(); }
  // The earliest time at which it fits, if everyone runs as long as planned.
  std::optional<Claim> earliest(Shape& shape, Time now, Duration span);
  void take(const std::vector<NodeShare>& shares, PartitionIndex partition, Time from, Time until);
  // Whose job is tried next; the others of its shape may be other users'.
  void set_asker(const Job& job, PartitionIndex where) { asker_ = {&job, where}; }
  // CPUs that are taken for most and not for this one are there until they are closed again: those it may share as the
  // `row`-th, those of suspended jobs that give way to it, those of running ones that would be suspended for it.
  void open_cpus(std::uint32_t row, std::span<const JobKey> suspends = {});
  // While they are open: more jobs would be suspended for it, or some would not after all.
  void suspend(std::span<const JobKey> keys, bool suspended);
  void close_cpus();
  // The job starts there now.
  void place(const Shape& shape, const std::vector<NodeShare>& shares, Time until);
  void give(const std::vector<NodeShare>& shares, PartitionIndex partition, Time from,
            Time until);  // what was taken in this pass
  void unplace(const NodeShare& share, PartitionIndex partition,
               Time until);  // the last that was placed on its node; alone on its CPUs
  // Laid to see whether something else fits beside it; taken back in the reverse order, everything is as before.
  struct Trying {
    std::vector<NodeShare> shares;
    PartitionIndex partition;
    Time from, until;
    struct Before {
      std::uint32_t index = 0, placed_for = 0;
      bool placed_exclusive = false;
      Amounts lowest;
      std::optional<NodeUse> use{};
    };
    std::vector<Before> before{};
  };
  Trying lay(const Shape& shape, const std::vector<NodeShare>& shares, Time from, Time until, bool starting_now);
  void take_back(const Trying& trying);
  // From then on, when anything changes on a node that the shape may use; not on nodes in `seen`, to which it adds
  // them.
  void add_changes(const Shape& shape, Time from, std::vector<Time>& out, std::set<std::uint32_t>& seen);
  std::int64_t free_cpus_at(PartitionIndex partition, Time at);  // on its nodes
  struct Hold {
    const std::vector<NodeShare>* shares;
    PartitionIndex partition;
    Time from, until;
  };
  // Takes each that still has room beside those before it; tells which.
  std::vector<char> take_all(const std::vector<Hold>& holds);
  // This pass lets the job run until then; should it be gone sooner, its nodes have improved.
  void expect(JobKey key, Time until) { expected_[key] = until; }

  // Nodes on which more became free, one after the other since the beginning; a place in this list is a moment. What
  // could not start at a moment, and not for the sake of promises, can only start thanks to a node named after it.
  std::size_t improvements() const { return improved_before_ + improved_.size(); }
  // How many of them are of use to it (one may count twice); SIZE_MAX when too much has happened to tell.
  std::size_t useful_since(const Shape& shape, std::size_t moment) const;
  std::size_t found() const {
    return found_;
  }  // nodes with room in the last fit that looked at all; SIZE_MAX: it did not
  bool remembers(std::size_t moment) const { return moment >= improved_before_ && improvements() - moment <= 512; }
  bool refused_an_owner() const {
    return refused_an_owner_;
  }  // in the last fit: another user's job might have had the node
  bool anything_free() const { return free_cpus_ > 0; }
  std::int64_t steps() const { return steps_; }  // nodes looked at, for budgets
  NodeClasses& classes() { return classes_; }
  const FitRules& rules() const { return rules_; }

 private:
  struct Slot {
    SharedValue<NodeDef> def;
    std::uint32_t node_class = 0;
    Profile base;    // running jobs
    Profile laid;    // with the promises of this pass, when there are any
    Amounts lowest;  // what was free at the end of the last pass, or is since; above it the node has improved
    bool usable = false;
    bool was_usable = false;
    bool touched = false;
    bool changed = false;               // since the last pass
    std::uint32_t exclusive_users = 0;  // running jobs that share only with their own user
    std::uint32_t placed_for = 0;       // in this pass: a user id plus one; unlimited: several users'
    bool placed_exclusive = false;      // ... one of them shares only with its own user
    std::vector<JobKey> holders;        // in key order
    std::uint32_t overlapping = 0;      // of them: those that share CPUs, or want them back from whoever is on them
    std::vector<std::pair<Time, std::int64_t>> counted_once;  // CPUs taken until then, where holders overlap
  };
  struct Window {
    ReservationId id;
    Time start, end;  // start since ever where it has begun
    std::vector<std::uint32_t> nodes;
  };
  static constexpr std::size_t steps_at_once = 16;  // of a profile, that take as long as a look at a node
  struct Active {
    SharedValue<Job> job;
    Time release;
  };
  // What decides most questions, side by side in memory.
  struct Quick {
    std::int64_t cpus = 0;
    Time next_change = never;
  };

  std::optional<std::vector<NodeShare>> fit_in(const std::vector<std::uint32_t>& list, Shape& shape, Time at,
                                               Duration span, bool starting_now, bool& by_claims);
  const Profile& profile(std::uint32_t index) const {
    return slots_[index].touched ? slots_[index].laid : slots_[index].base;
  }
  const std::vector<std::uint32_t>& order(const Shape& shape) const;
  void refresh(std::uint32_t index);
  bool admits(const Shape& shape, std::uint32_t index) const;
  // As many of the tasks as can really be given devices and sockets; cuts the free amounts to them.
  std::uint32_t exact_capacity(const Shape& shape, std::uint32_t index, std::uint32_t capacity, Amounts& free);
  std::optional<std::vector<NodeShare>> choose(const Shape& shape) {  // of the candidates
    if (!shape.minds) return choose_nodes(*shape.spec, candidates_, shape.required, rules_);
    return arrange(shape.wishes, *shape.spec, candidates_, shape.required, rules_, *state_->topology,
                   shape.any_switches, steps_);
  }
  Slot& touch(std::uint32_t index);
  // On this node, for jobs of the shape's partition.
  std::int64_t cpus_left(const Shape& shape, std::uint32_t index, Time from, Time until) const {
    return caps_.least(shape.partition, NodeIndex{index}, from, until);
  }
  void lay_cap(PartitionIndex partition, const NodeShare& share, Time from, Time until, bool give) {
    caps_.change_laid(partition, share.node, from, until, share.cpus.value, give);
  }
  void lay_window(const Reservation& reservation, Time now);
  void note_improvements();
  static Amounts kept_by(const Job& job, const NodeShare& share);
  // Of one node; takes what is listed, each from its time on.
  void change_laid(std::uint32_t index, std::vector<Profile::Step> taken);
  void count_each_apart(std::uint32_t index);
  void count_overlaps_once();
  std::vector<CpuView::Holder> holders_there(std::uint32_t index) const;
  CpuView& view(std::uint32_t index);
  CpuView& open_view(std::uint32_t index);
  void change_cpus(std::uint32_t index, const CpuView::Changes& changes);
  bool is_special(std::uint32_t index) const;
  NodeUse use_of(std::uint32_t index);  // CPUs and devices that the one who asks cannot have
  Time first_fit(const Shape& shape, std::uint32_t index, Time from, Duration span) const;
  Time kth_fit(const Shape& shape, Time from, Duration span);
  std::optional<Claim> search(Shape& shape, Time from, Duration span);

  FitRules rules_;
  PartitionCaps caps_;
  NodeClasses classes_;
  std::vector<Slot> slots_;
  std::vector<Quick> quick_;
  std::vector<std::vector<std::uint32_t>> partition_nodes_;
  std::vector<std::vector<std::uint32_t>> partition_places_;  // by partition and node: its place in that order
  std::map<JobKey, Active> active_;
  std::set<std::pair<Time, JobKey>> releases_;
  const State* state_ = nullptr;  // of the pass
  CpuAsker asker_;
  std::map<std::uint32_t, CpuView> views_;    // of nodes of which this pass looked at the CPUs
  std::vector<std::uint32_t> open_views_;     // for the one who asks
  std::vector<std::uint32_t> counted_apart_;  // nodes whose overlaps are to be counted once before the next pass
  std::map<std::uint32_t, std::vector<CpuView::Holder>> placed_;  // by this pass
  std::map<std::uint32_t, NodeUse> uses_;                         // of nodes on which this pass places jobs
  std::vector<Window> windows_;
  std::uint64_t windows_digest_ = 1;
  std::map<JobKey, Time> expected_;  // by the last pass
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint32_t> improved_;
  std::size_t improved_before_ = 0;    // of them dropped
  std::vector<Candidate> candidates_;  // reused
  std::vector<Time> heap_;             // reused
  std::int64_t free_cpus_ = 0;         // on usable nodes, promises of this pass taken off
  std::int64_t steps_ = 0;
  bool refused_an_owner_ = false;
  std::size_t found_ = SIZE_MAX;
};

}  // namespace millrace
