// src/core/ledger/fingerprint.h - one number for a whole state, so that two of them can be compared.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// A number that two equal states share and two different ones all but never do.
std::uint64_t fingerprint(const State& state);

}  // namespace millrace
