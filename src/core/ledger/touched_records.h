// src/core/ledger/touched_records.h - which records a decision touches, gathered around the application of each of its
// facts, so that their laws can be asked (core/ledger/invariants).
#pragma once

#include <map>

#include "core/ledger/invariants.h"

namespace millrace {

class RecordToucher final {
 public:
  void about_to_happen(const State& before, const Event& event);
  void happened(const State& after, const Event& event);
  const TouchedRecords& records() const { return touched_; }

 private:
  // What nodes see of a job.
  struct Held {
    std::size_t shares = 0;  // not released
    bool cpus = false, suspended = false;
    bool operator==(const Held&) const = default;
  };
  static Held held_by(const Job& job);
  void touch(const State& state, JobKey key);
  void touch_nodes(const State& after, JobKey key, bool names_node);

  TouchedRecords touched_;
  std::map<JobKey, Held> held_;  // before the fact
  KeptNumber next_kept_;
};

}  // namespace millrace
