// src/core/admission/put_records_aside.cpp - see put_records_aside.h.
#include "core/admission/put_records_aside.h"

#include <algorithm>

#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

constexpr int rounds_max = 1000;

template <class Id>
bool add(std::vector<Id>& list, std::uint64_t number) {
  const Id id{static_cast<decltype(Id::value)>(number)};
  if (std::ranges::find(list, id) != list.end()) return false;
  list.push_back(id);
  return true;
}

// False: the record is named already, or there is none.
bool add(RecordsPutAside& event, const BrokenRecord& record) {
  switch (record.kind) {
    case BrokenRecord::Kind::none:
      return false;
    case BrokenRecord::Kind::job:
      return add(event.jobs, record.number);
    case BrokenRecord::Kind::node:
      return add(event.nodes, record.number);
    case BrokenRecord::Kind::crontab:
      return add(event.crontabs, record.number);
    case BrokenRecord::Kind::trigger:
      return add(event.triggers, record.number);
    case BrokenRecord::Kind::kept_run:
      return add(event.kept_runs, record.number);
    case BrokenRecord::Kind::association:
      return add(event.associations, record.number);
    case BrokenRecord::Kind::run_history:
      return add(event.run_histories, record.number);
    case BrokenRecord::Kind::reservation:
      return add(event.reservations, record.number);
    case BrokenRecord::Kind::qos:
      return add(event.qos, record.number);
  }
  return false;
}

}  // namespace

std::optional<LedgerRepair> decide_repair(const State& state, Time now, const std::vector<SkippedEvent>& skipped) {
  std::vector<BrokenLaw> broken = broken_laws(state);
  if (broken.empty() && skipped.empty()) return std::nullopt;
  LedgerRepair repair;
  repair.event.at = now;
  for (const SkippedEvent& each : skipped) {
    repair.event.skipped.push_back(each.index);
    repair.skipped.push_back(each.words);
  }
  for (const BrokenLaw& law : broken) repair.event.laws.push_back(law.words);
  // The first round makes only what follows from the records anew; each later one leaves out what is still wrong.
  for (int round = 0; round < rounds_max; ++round) {
    State trial = state;
    apply(trial, repair.event);
    broken = broken_laws(trial);
    if (broken.empty()) return repair;
    bool more = false;
    for (const BrokenLaw& law : broken) {
      if (!add(repair.event, law.record)) continue;
      more = true;
      if (std::ranges::find(repair.event.laws, law.words) == repair.event.laws.end())
        repair.event.laws.push_back(law.words);
    }
    if (!more) break;
  }
  repair.still_broken = broken.front().words;
  return repair;
}

}  // namespace millrace
