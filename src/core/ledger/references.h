// src/core/ledger/references.h - whether what a state names is there: asked before anything is derived from one that
// was read.
#pragma once

#include <optional>
#include <string>

#include "core/ledger/state.h"

namespace millrace {

// The first thing that is named and is not there, or has a value that means nothing, in words. broken_law() and the
// indexes rely on it.
std::optional<std::string> dangling_reference(const State& state);

}  // namespace millrace
