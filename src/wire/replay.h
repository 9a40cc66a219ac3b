// src/wire/replay.h - the state is the fold of the log: the snapshot, then every event after it.
#pragma once

#include "core/ledger/state.h"
#include "ports/event_log.h"

namespace millrace {

// Everybody who reads a log back does it with this: the controller, its simulation, and whoever looks at a log. The
// laws are not asked here: who serves the state asks core/admission/put_records_aside.
Result<State> replay(const Recovered& recovered);

}  // namespace millrace
