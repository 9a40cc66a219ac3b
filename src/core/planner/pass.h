// src/core/planner/pass.h - one look through the queue in order: who starts now, who is planned for when, who may
// overtake.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/ledger/limits.h"
#include "core/planner/memo.h"
#include "core/planner/plan.h"

namespace millrace {

// Works on a snapshot, in slices of counted steps, on any thread; between slices it may be thrown away for a newer one.
class Pass {
 public:
  // With a memo, what the last pass learnt is used again; it must not be used by two passes at once.
  Pass(State snapshot, PlannerSettings settings, Time now, Memo* memo = nullptr);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  // Does about this many steps more; true when the pass is finished.
  bool advance(std::int64_t steps);
  std::int64_t steps() const { return begun_ ? tried_ + memo_->timeline().steps() : 0; }  // done so far
  Plan take() { return std::move(plan_); }

 private:
  enum class Tried : std::uint8_t { placed, blocked, skipped };
  void begin();
  Tried try_entry(const QueueEntry& entry);
  Tried try_in_window(const QueueEntry& listed);
  bool start_now(const QueueEntry& entry, Shape& shape);
  void note_start(const QueueEntry& entry, const Shape& shape, std::vector<NodeShare> shares);
  // Some CPUs that are taken for others are there for it: those it may share, those of suspended jobs that give way to
  // it.
  bool sees_more_cpus(const QueueEntry& entry);
  std::optional<std::vector<NodeShare>> fit_by_rows(const QueueEntry& entry, Shape& shape,
                                                    const std::vector<JobKey>& suspends);
  void note_start_by_rows(const QueueEntry& entry, const Shape& shape, std::vector<NodeShare> shares);
  // Starts it on CPUs of jobs that are suspended for it at once. False: there are none, or not enough.
  bool suspend_others(const QueueEntry& entry, Shape& shape);
  // Which of these it needs; the first of them go first. Nothing: all together are not enough.
  std::optional<std::vector<const Job*>> needed_of(const QueueEntry& entry, Shape& shape, std::vector<const Job*> able);
  bool fits_in_open_cpus(const QueueEntry& entry, Shape& shape);
  // With the longest limit, not below what the job allows, that fits before what is promised to others.
  void grow(const QueueEntry& entry, const Shape& shape, std::vector<NodeShare>& shares);
  bool start_shorter(const QueueEntry& entry, Shape& shape);
  void block(const QueueEntry& entry, Shape& shape);
  void promise(const Claim& claim, PartitionIndex partition, Duration span);
  // Makes others go to make room; they are gone in a later pass. False: there are none, or not enough.
  bool preempt(const QueueEntry& entry, Shape& shape);
  struct Wanting {
    const Job* job;
    PartitionIndex partition;
  };
  using Fitter = std::function<std::optional<std::vector<NodeShare>>()>;
  std::optional<std::vector<NodeShare>> make_room(std::span<const Wanting> wanting, const Fitter& fit);
  // Running jobs that must make room for a waiting one of a QOS in a partition.
  struct Yielding {
    std::vector<JobKey> going;                      // they have been told to already
    std::vector<const Job*> by_suspension, by_end;  // who goes first comes first
  };
  Yielding& yielding_to(const Wanting& wanting);
  void take_until(const std::vector<NodeShare>& shares, PartitionIndex partition, Time until);
  std::vector<const Job*> victims_for(const std::vector<NodeShare>& shares, const std::vector<const Job*>& able);
  void count_promises();
  // Where nobody overtakes: the head of the partition comes first.
  Time not_before(PartitionIndex partition) const;
  void note_head(PartitionIndex partition, Time start);
  const QueueEntry& at_place(std::size_t place) const { return memo_->queue()[ordered_ ? order_[place] : place]; }
  void pass_over();
  void end_place(const QueueEntry& entry);
  bool may_claim(const QueueEntry& entry) const;
  bool has_promise(const QueueEntry& entry) const;  // may claim, and not only because it is watched
  void lay_promises();
  bool keep_promise(const QueueEntry& entry);  // or give it up
  bool is_settled(const Job& job) const;       // placed by this pass; of an array's rest: all its tasks
  std::uint32_t started_tasks(JobKey array) const;
  bool has_obstacle(const QueueEntry& entry) const;
  bool is_limited(const QueueEntry& entry);
  bool take_limits(const QueueEntry& entry, const std::vector<NodeShare>& shares);
  // Licences it needs that are not free: it waits for them and keeps nobody else waiting.
  bool lacks_licences(const QueueEntry& entry);
  // Which it would take of these, not counting what reservations keep from it.
  std::optional<std::vector<LicenceAsk>> licences_for(const ResourceRequest& ask, Duration span,
                                                      std::vector<LicenceAsk> free) const;
  void sort_the_rest();
  void guard_the_old();
  Shape& shape_of(const QueueEntry& entry) { return shape_at(entry.shape); }
  Shape& shape_at(std::uint32_t index);
  void ask_for(const Job& job, PartitionIndex where, Shape& shape);
  bool known_to_fail(const QueueEntry& entry);
  bool failed_alike(const QueueEntry& entry, const Shape& shape) const;

  // ---- heterogeneous jobs (components.cpp) ----
  struct Place {
    PartitionIndex partition;
    std::uint32_t shape = 0;
  };
  struct Part {
    const Job* job;
    Duration span;
    std::vector<Place> places;  // one of them
    std::uint32_t kind = 0;     // alike in all that decides where it fits: the same number
    std::int64_t nodes = 0;     // of all its places: what a try costs at the most
  };
  struct Whole {
    std::vector<Part> parts;
    std::vector<std::vector<std::size_t>> orders;  // in which the parts are laid, the usual one first
    std::int64_t looks = 0;                        // at nodes, that may still go into other orders and moments
  };
  struct Fit {
    Place place;
    std::vector<NodeShare> shares;
  };
  Tried try_parts(const QueueEntry& entry, bool leader_fails);
  std::vector<Part> parts_of(const QueueEntry& entry);
  bool are_limited(const std::vector<Part>& parts, const std::vector<Fit>* fits);
  bool lack_licences(const std::vector<Part>& parts);
  std::optional<Fit> fit_part(const Part& part, Time at, bool starting_now);
  std::vector<std::vector<std::size_t>> orders_of(const std::vector<Part>& parts);
  bool lack_cpus(const std::vector<Part>& parts, Time at);
  bool fit_alone(const std::vector<Part>& parts, Time at, bool starting_now);
  std::optional<std::vector<Fit>> fit_in_order(Whole& whole, const std::vector<std::size_t>& order, Time at,
                                               bool starting_now);
  bool may_look(const Whole& whole) const { return whole.looks > 0 && looks_ > 0; }
  std::optional<std::vector<Fit>> fit_parts(Whole& whole, Time at, bool starting_now);
  Time soonest_alone(const Part& part);
  Time all_alone(const std::vector<Part>& parts);
  std::optional<std::pair<Time, std::vector<Fit>>> earliest_parts(Whole& whole);
  void note_alone(JobKey key, Time start);
  void start_parts(const QueueEntry& entry, const std::vector<Part>& parts, std::vector<Fit> fits);
  void block_parts(const QueueEntry& entry, Whole& whole);
  bool preempt_parts(const QueueEntry& entry, Whole& whole);

  State snapshot_;
  PlannerSettings settings_;
  Memo own_memo_;
  Memo* memo_;
  bool begun_ = false;
  std::vector<std::uint32_t> order_;  // positions in the memo's queue, when they are not simply one after the other
  bool ordered_ = false;
  std::size_t next_ = 0;
  std::vector<char> guarded_;  // Backfill::guarded, by place in the order: has its start promised
  std::vector<char> blocked_;  // by partition: someone of higher rank waits there
  bool anyone_blocked_ = false;
  bool watched_done_ = false;
  PromiseCount count_;
  std::map<PartitionIndex, Time> head_starts_;  // Backfill::none
  std::uint64_t claims_digest_ = 1;
  bool preempts_ = false;
  bool any_sharing_ = false;
  std::set<JobKey> suspended_;     // by this pass
  std::uint32_t fitting_row_ = 1;  // of the last fit_by_rows
  std::vector<JobKey> fitting_without_;
  // By shape and QOS, until this pass suspends somebody: what was found about them.
  using Kind = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Kind, bool> claims_give_way_;
  std::map<Kind, Duration> failed_by_rows_, suspended_in_vain_;  // jobs so long or longer
  std::optional<std::vector<LicenceAsk>> licences_;  // free ones, this pass's starts taken off; asked for by few
  std::set<JobKey> told_to_go_;                      // by this pass
  std::map<std::pair<std::uint32_t, std::uint32_t>, Yielding> yielding_;  // by QOS and partition
  bool all_nodes_anew_ = false;                                           // while others are imagined gone
  std::set<std::pair<std::uint32_t, std::uint32_t>> preempt_in_vain_;     // shape and QOS
  Time shadow_ = never;                            // Backfill::strict: everyone else must be gone before
  std::set<JobKey> placed_;                        // jobs, in this partition or another
  std::map<JobKey, std::uint32_t> started_tasks_;  // by array: of this pass
  std::map<JobKey, const Promise*> promises_;      // laid over the timeline, not yet given up
  std::optional<LimitUse> limits_;
  struct LimitedKind {
    std::uint32_t group = 0, shape = 0, minutes = 0;
    auto operator<=>(const LimitedKind&) const = default;
  };
  std::vector<char> limited_kinds_;  // by QueueEntry::kind, for a quick answer
  std::set<LimitedKind> limited_;    // no limit is given back during a pass
  std::int64_t tried_ = 0;
  std::int64_t looks_ = 4'000'000;  // as Whole::looks, of all heterogeneous jobs
  Plan plan_;
};

}  // namespace millrace
