// src/core/admission/job_selection.h - which job records a person means by 12, 12_3, 12_[1-4] or 12+1.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct JobName {
  JobId id;
  std::string tasks;  // "", "3" or "[1-4,7]"; "+1": a component of a heterogeneous job
};

struct SelectedJob {
  JobKey key;
  std::optional<std::uint32_t> task;  // still inside the record of the array's rest: it must be split off first
  bool component =
      false;  // of a heterogeneous job this component alone; else the number of the leader named all of them
  auto operator<=>(const SelectedJob&) const = default;
};

// "12_3" as people write it.
std::string shown_name(const State& state, const Job& job);
std::string shown_name(const JobName& name);

// All records meant; for an array number the rest and every task, for the number of a heterogeneous job its components,
// the leader first. Refused when there is no such job.
std::expected<std::vector<SelectedJob>, Refusal> select_jobs(const State& state, const JobName& name);
// `looked_at` grows by the records and ranges that were looked at, also where it is refused.
std::expected<std::vector<SelectedJob>, Refusal> select_jobs(const State& state, const JobName& name,
                                                             std::uint64_t& looked_at);

// The jobs that one request names, one name after the other. Each record is given out once, however often it is named,
// and a request that would have more records looked at than `most` gets no further: a few bytes can name an array of
// any size, and a request has tens of thousands of names. The first name is always looked up.
class JobSelector {
 public:
  static constexpr std::uint64_t usual_most = 100'000;  // where it is all done in one turn of the loop
  explicit JobSelector(std::uint64_t most = usual_most) : most_(most) {}
  // Empty: all of them have been given out before.
  std::expected<std::vector<SelectedJob>, Refusal> select(const State& state, const JobName& name);
  bool is_exhausted() const { return looked_at_ >= most_; }
  std::uint64_t looked_at() const { return looked_at_; }
  static Refusal refusal() {
    return {RefusalCode::not_supported, {"the request names too many jobs at once; name fewer in each"}};
  }

 private:
  std::uint64_t most_, looked_at_ = 0;
  std::set<SelectedJob> given_;
};

// The number of the record with this key (a SLUID names it), also of one that is over and known to accounting alone.
std::optional<JobId> number_of(const State& state, JobKey key);

// Splits the task off where needed; returns the key to act on and appends the event.
JobKey split_if_needed(const State& state, const SelectedJob& selected, Time now, std::vector<Event>& events);

bool may_change(const Job& job, const Actor& actor);
// Whether it may run something as the job's owner, or have the owner's processes write where it says: the owner, root
// and SlurmUser, and nobody who only manages the job.
bool may_act_as_owner(const Job& job, const Actor& actor);

// What is done to a heterogeneous job as a whole is done by its leader's event; its other components refuse it, which
// counts only where the leader does.
inline bool follows_leader(const Job& job, const SelectedJob& which) { return job.is_component() && !which.component; }

}  // namespace millrace
