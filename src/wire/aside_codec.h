// src/wire/aside_codec.h - the event of records that were put aside, as bytes of the log.
#pragma once

#include "core/ledger/event.h"
#include "events.pb.h"

namespace millrace {

void put(const RecordsPutAside& from, log::RecordsPutAside& to);
RecordsPutAside get(const log::RecordsPutAside& from);

}  // namespace millrace
