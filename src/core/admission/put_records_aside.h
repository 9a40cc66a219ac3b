// src/core/admission/put_records_aside.h - what a start does about laws that are broken in the state it recovered.
#pragma once

#include <optional>
#include <string>

#include "core/ledger/event.h"
#include "core/ledger/state.h"

namespace millrace {

struct LedgerRepair {
  RecordsPutAside event;
  std::optional<std::string> still_broken;  // a law that does not hold even then: the state cannot be served
};

// Nothing: every law holds. As few records as possible go: none, where indexes and counts alone are wrong.
std::optional<LedgerRepair> decide_repair(const State& state, Time now);

}  // namespace millrace
