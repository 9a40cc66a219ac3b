// src/core/planner/profile.h - what is free on one node from now into the future: a step function of time.
#pragma once

#include <vector>

#include "core/model/resources.h"

namespace millrace {

// Steps in rising time; the first holds since ever. Each amount holds until the next step.
class Profile {
 public:
  struct Step {
    Time at;
    Amounts free;
  };

  Profile() = default;
  explicit Profile(const Amounts& free) : steps_{{Time{INT64_MIN}, free}} {}

  const Amounts& now() const { return steps_.front().free; }
  const std::vector<Step>& steps() const { return steps_; }
  // When it first changes; `never` when it does not.
  Time next_change() const { return steps_.size() > 1 ? steps_[1].at : never; }
  // The first change after this time.
  Time next_change_after(Time at) const;

  // Takes the amounts away (or gives them back) between two times; `from` Time{INT64_MIN}: since ever.
  void take(Time from, Time until, const Amounts& amounts);
  void give(Time from, Time until, const Amounts& amounts);

  // Takes much at once: each amount from its time on (a negative one is given back). Tells whether enough was free all
  // the time.
  bool take_all(std::vector<Step> changes);

  // The least that is free over the whole of a span.
  Amounts least(Time from, Time until) const;

  // The earliest time not before `from` at which `need` stays free for `span`; `never` if there is none.
  Time first_fit(const Amounts& need, Time from, Duration span) const;

 private:
  std::size_t step_at(Time at) const;  // the step that holds at this time
  std::size_t split(Time at);          // a step that begins there, made if need be
  void join(std::size_t first, std::size_t last);
  template <class Change>
  void change(Time from, Time until, Change change);

  std::vector<Step> steps_;
};

inline bool covers(const Amounts& free, const Amounts& need) {
  if (free.cpus < need.cpus || free.memory < need.memory) return false;
  // Less than nothing is free where a job still has a device that is out of order; whoever wants none does not mind.
  for (std::size_t i = 0; i < free.gres.size(); ++i)
    if (need.gres[i] > 0 && free.gres[i] < need.gres[i]) return false;
  return true;
}

// Never, where there is no such time; also from before 1970 on.
inline Time plus(Time at, Duration span) { return at + span; }

}  // namespace millrace
