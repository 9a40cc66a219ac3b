// src/core/ledger/invariants.h - the law book as code: what must hold of every state (architecture, "Invariants").
#pragma once

#include <optional>
#include <string>

#include "core/ledger/state.h"

namespace millrace {

// The first law that is broken, in words; nothing when all hold. Looks at everything: for tests and recovery.
std::optional<std::string> broken_law(const State& state);
// A number that two equal states share and two different ones all but never do.
std::uint64_t fingerprint(const State& state);

}  // namespace millrace
