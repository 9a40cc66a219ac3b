// src/wire/node_codec.h - events of what nodes said of themselves, as bytes of the log and as words.
#pragma once

#include "core/ledger/event.h"
#include "events.pb.h"
#include "wire/fact_text.h"

namespace millrace {

void put(const NodeRegistered& from, log::NodeRegistered& to);
void put(const DevicesJudged& from, log::DevicesJudged& to);
void put(const NodeClockJudged& from, log::NodeClockJudged& to);
void put(const ClockStepped& from, log::ClockStepped& to);
NodeRegistered get(const log::NodeRegistered& from);
DevicesJudged get(const log::DevicesJudged& from);
NodeClockJudged get(const log::NodeClockJudged& from);
ClockStepped get(const log::ClockStepped& from);

fact_text::Line describe(const NodeRegistered& e);
fact_text::Line describe(const DevicesJudged& e);
fact_text::Line describe(const NodeClockJudged& e);
fact_text::Line describe(const ClockStepped& e);

}  // namespace millrace
