// src/core/planner/cpu_view.h - the CPUs of one node one by one: who is on each or wants it back, until when it is
// taken for everybody, and until when for the job that asks.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/ledger/cpu_holders.h"

namespace millrace {

// Kept for a whole pass and told of what changes: made anew for each question, the holders of a large node times the
// questions of a pass would take minutes.
class CpuView {
 public:
  struct Holder {
    CpuHolder holder;
    Time until;
  };
  // By time: how many CPUs more (or fewer) are free from then on.
  using Changes = std::map<Time, std::int64_t>;

  // The holders that are there, in key order.
  CpuView(std::size_t cpus, std::vector<Holder> there);
  const std::vector<Holder>& holders() const { return holders_; }
  // By CPU: until when, for everybody; since ever: it is free.
  const std::vector<Time>& taken() const { return taken_; }

  // One that the pass places, and the last of them taken back; tells what changes for everybody.
  Changes add(Holder holder);
  Changes remove_last();

  // From here on until it is closed it also knows what is free for the job that asks.
  void open(const State& state, const CpuAsker& asker);
  bool is_open() const { return open_; }
  // A job that is there would be suspended for the one who asks, or not after all.
  void suspend(JobKey key, bool suspended);
  // What changed for the one who asks since this was last called.
  Changes take_changes();
  // Tells what takes back all that take_changes() told.
  Changes close();
  // CPUs that the one who asks cannot have as the `row`-th on them.
  CpuBits closed(std::uint32_t row) const;

  // Holders and CPUs looked at since this was last called, for budgets.
  std::int64_t take_steps() { return std::exchange(steps_, 0); }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Link {
    std::uint32_t holder, next;
  };
  void link(std::uint32_t index);
  Time taken_for_all(std::size_t cpu) const;
  Time taken_for_asker(std::size_t cpu, std::uint32_t row) const;
  void look_again(std::uint32_t holder);

  std::vector<Holder> holders_;
  std::size_t there_;                 // of them, before those that the pass places
  std::vector<std::uint32_t> heads_;  // by CPU: the first of its links, that of its last holder
  std::vector<Link> links_;
  std::vector<Time> taken_;  // by CPU: until when, for everybody
  bool open_ = false;
  std::uint32_t row_ = 1;
  PartitionIndex where_;
  std::vector<Standing> plain_, stands_;  // by holder: without suspending any, and as asked
  std::vector<Time> asked_;               // by CPU: until when, for the one who asks
  Changes fresh_, told_;
  std::int64_t steps_ = 0;
};

}  // namespace millrace
