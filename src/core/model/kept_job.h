// src/core/model/kept_job.h - what is still known of a run that is over when its job is forgotten, or waits for the
// next one.
#pragma once

#include <compare>
#include <vector>

#include "base/fields.h"
#include "core/model/job.h"

namespace millrace {

using KeptNumber = Id<struct KeptTag, std::uint64_t>;  // in the order in which they came

struct KeptJob {
  SharedValue<Job> job;     // ended, without what nobody is shown any more; outcome none: somebody had it requeued
  JobId array;              // the number of the array it was a task of; 0: none
  IndexSet rest;            // of the record for tasks that never got one of their own: which
  bool array_well = false;  // what had ended of that array by then had ended well
  bool requeued = false;    // the job lived on
  std::vector<SharedValue<Step>>
      steps{};  // in the order of their numbers; of a requeued run not before its job is forgotten
  Time at;      // since when it is kept
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(0, "job", self.job);
    visit(3, "array", self.array);
    visit(4, "rest", self.rest);
    visit(5, "array_well", self.array_well);
    visit(6, "requeued", self.requeued);
    visit(8, "steps", self.steps);
    visit(7, "at", self.at);
  }
};

// Under each number that people may give for it: its own, its array's, its leader's.
struct KeptName {
  JobId id;
  KeptNumber number;
  auto operator<=>(const KeptName&) const = default;
};

}  // namespace millrace
