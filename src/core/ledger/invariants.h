// src/core/ledger/invariants.h - the law book as code: what must hold of every state (architecture, "Invariants").
//
// Three askers. Tests, simulation and recovery look at everything (broken_laws). The controller asks before a decision
// becomes a fact, about the records the decision touched alone (broken_law_near): a law that is broken then refuses one
// request, where the same law found at the next start would have to put records aside.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Which record to leave out so that the law holds again. `none`: a count or an index is wrong, which follows from the
// records and only has to be made anew.
struct BrokenRecord {
  enum class Kind : std::uint8_t {
    none,
    job,
    node,
    crontab,
    trigger,
    kept_run,
    association,
    run_history,
    reservation,
    qos
  };
  Kind kind = Kind::none;
  std::uint64_t number = 0;  // a JobKey, NodeIndex, UserId ... as the kind says
};

struct BrokenLaw {
  std::string words;
  BrokenRecord record{};
};

// Every job that breaks a law of its own, and of each further law the first record that breaks it. Looks at everything.
std::vector<BrokenLaw> broken_laws(const State& state);
// The first law that is broken, in words; nothing when all hold.
std::optional<std::string> broken_law(const State& state);

// What a decision touched (core/ledger/touched_records gathers it).
struct TouchedRecords {
  std::set<JobKey> jobs;
  std::set<JobKey> moved;  // of these: those that came to other nodes, or whose nodes changed
  std::set<NodeIndex> nodes;
  std::set<UserId> crontabs;
  std::set<StepKey> steps;
  std::set<KeptNumber> kept_runs;
  std::set<TriggerId> triggers;
  std::set<ReservationId> reservations;
  std::set<AssociationId> associations;
  std::set<QosId> qos;
  std::set<UseKey> uses;
};
// The first law of these records alone that is broken. Costs about what it cost to change them: no table is looked at
// as a whole, so that sums over all jobs of an account or tasks of an array are left to those who ask everything.
std::optional<std::string> broken_law_near(const State& state, const TouchedRecords& touched);

}  // namespace millrace
