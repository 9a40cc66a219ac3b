// src/core/ledger/put_aside.h - records that break a law leave the state, so that everything else can be served.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// Expects a state whose references hold (core/ledger/references). Jobs that depended on one that goes are told what
// they would be told of one that ended: afterany and after are met, the others never will be.
void put_aside(State& state, const RecordsPutAside& e);

}  // namespace millrace
