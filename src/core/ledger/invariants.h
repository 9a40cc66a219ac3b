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
  enum class Kind : std::uint8_t { none, job, node, crontab, trigger, kept_run, association, run_history };
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

// What a decision touched.
struct TouchedRecords {
  std::set<JobKey> jobs;
  std::set<NodeIndex> nodes;
  std::set<UserId> crontabs;
};
// The laws of these records alone, with a bound on the work: of jobs with many components or nodes with many shares
// only what costs little is looked at.
std::optional<std::string> broken_law_near(const State& state, const TouchedRecords& touched);

}  // namespace millrace
