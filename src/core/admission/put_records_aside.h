// src/core/admission/put_records_aside.h - what a start does about laws that are broken in the state it recovered.
#pragma once

#include <optional>
#include <string>

#include "core/ledger/event.h"
#include "core/ledger/impossible.h"
#include "core/ledger/state.h"

namespace millrace {

struct LedgerRepair {
  RecordsPutAside event;
  std::vector<std::string> skipped{};       // what the log says that cannot have happened, in words
  std::optional<std::string> still_broken;  // a law that does not hold even then: the state cannot be served
};

// Nothing: every law holds, and no event was passed over when the log was read. As few records as possible go: none,
// where indexes and counts alone are wrong.
std::optional<LedgerRepair> decide_repair(const State& state, Time now, const std::vector<SkippedEvent>& skipped = {});

}  // namespace millrace
