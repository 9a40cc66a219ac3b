// src/wire/event_codec.h - facts and snapshots as bytes of the log, by the fields that records list
// (wire/record_writer.h, wire/record_reader.h), both ways.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/ledger/state.h"

namespace millrace {

std::string encode_event(const Event& event);
Result<Event> decode_event(std::string_view bytes);

std::string encode_state(const State& state);
Result<State> decode_state(std::string_view bytes);

}  // namespace millrace
