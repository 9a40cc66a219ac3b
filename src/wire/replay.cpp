// src/wire/replay.cpp - see replay.h.
#include "wire/replay.h"

#include "core/ledger/apply.h"
#include "wire/event_codec.h"

namespace millrace {

Result<State> replay(const Recovered& recovered) {
  State state;
  if (recovered.snapshot_index > 0) {
    MR_TRY(state, in_context(decode_state(recovered.snapshot), "snapshot " + std::to_string(recovered.snapshot_index)));
    if (state.version != recovered.snapshot_index)
      return fail(Errc::corrupt, "snapshot is of another version than its name says");
  }
  for (const std::string& bytes : recovered.events) {
    MR_TRY(const Event event, in_context(decode_event(bytes), "event " + std::to_string(state.version + 1)));
    apply(state, event);
  }
  return state;
}

}  // namespace millrace
