// src/controller/views/diagnostics.h - what the controller has done since it started or was last told to count anew; in
// memory only.
#pragma once

#include <map>
#include <string>

#include "client.pb.h"
#include "core/ledger/state.h"
#include "core/planner/plan.h"

namespace millrace {

class Diagnostics final {
 public:
  // What facts are counted as.
  struct Counts {
    std::uint64_t submitted = 0, started = 0, completed = 0, cancelled = 0, failed = 0, backfilled = 0,
                  backfilled_since_start = 0, backfilled_components = 0;
  };

  // Around the application of a fact to the state it is applied to. A decision that is taken back puts back what was
  // counted before it.
  void about_to_happen(const State& before, const Event& event);
  void happened(const State& after, const Event& event);
  const Counts& counts() const { return counts_; }
  void put_back(const Counts& before) { counts_ = before; }

  void pass_finished(const Plan& plan, std::size_t queued, bool backfills, Duration took, Time at);
  void pass_given_up(bool backfills);
  void answered(const wire::Request& request, UserId uid, Duration took);
  // Who that is: asked for once, so that those who look at the numbers need not.
  bool wants_name(UserId uid) { return names_.size() < users_max && names_.try_emplace(uid.value).second; }
  void is_called(UserId uid, const std::string& name) { names_[uid.value] = name; }

  void reset(Time now);
  void show(wire::Diagnostics& out) const;

 private:
  using Passes = wire::Diagnostics::Passes;
  static constexpr std::size_t users_max = 10'000;  // those who come later are counted by request only
  struct Calls {
    std::uint64_t count = 0;
    Duration total;
  };

  Time since_;
  Counts counts_;
  std::vector<JobKey> not_over_;  // of the fact that is about to happen
  Passes main_, backfill_;
  std::map<std::uint32_t, Calls> by_type_, by_user_;
  std::map<std::uint32_t, std::string> names_;  // empty: not known
};

// Slurm's name and number for a request of ours that does the same; one of ours that Slurm does not have gets a name
// alike.
struct CallName {
  const char* name;
  std::uint32_t number;
};
CallName call_name(wire::Request::BodyCase body);

}  // namespace millrace
