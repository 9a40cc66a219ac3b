// src/core/ledger/apply.h - folds one event into the state. Total: same state, same event, same result; no errors, only
// assertions.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void apply(State& state, const Event& event);

}  // namespace millrace
