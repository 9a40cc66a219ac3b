// src/wire/event_text.h - facts as one line of text each, for people who read a log.
#pragma once

#include <string>
#include <string_view>

#include "core/ledger/event.h"

namespace millrace {

// "JobPlaced key=3 attempt=0 ... at=2026-01-31T12:00:00.000000Z". Names as in event.h; what is not set is left out.
// Never holds a line break or another control character, whatever users wrote. Secrets of srun are not shown.
std::string describe_event(const Event& event);
std::string_view outcome_word(Outcome outcome);  // completed, out_of_memory

std::string describe_time(Time at);              // in UTC, to the microsecond
std::string quote_text(std::string_view bytes);  // in quotes; control characters and bytes above 126 as \xNN

}  // namespace millrace
