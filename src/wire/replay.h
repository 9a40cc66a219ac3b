// src/wire/replay.h - the state is the fold of the log: the snapshot, then every event after it.
#pragma once

#include <vector>

#include "core/ledger/impossible.h"
#include "core/ledger/state.h"
#include "ports/event_log.h"

namespace millrace {

// Everybody who reads a log back does it with this: the controller, its simulation, and whoever looks at a log. The
// laws are not asked here: who serves the state asks core/admission/put_records_aside.
//
// An event that cannot have happened in the state before it is damage, as bytes that cannot be read are: the log of a
// release with a bug, or not written by us. Nothing is replayed then, unless the caller takes `skipped`: the event is
// passed over and named there. One that a start has put on record (RecordsPutAside.skipped) is not named again.
Result<State> replay(const Recovered& recovered, std::vector<SkippedEvent>* skipped = nullptr);

}  // namespace millrace
