// src/core/ledger/impossible.h - whether an event can have happened in a state: asked of what a log says before it is
// applied, because apply() knows no errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Why it cannot: what it names is not there, or is in a state that does not allow it. What it does beyond that may
// still be against an assertion of apply().
std::optional<std::string> why_impossible(const State& state, const Event& event);

std::string_view kind_of(const Event& event);  // "JobPlaced"

// One that a replay passed over.
struct SkippedEvent {
  std::uint64_t index = 0;
  std::string words;
};

}  // namespace millrace
