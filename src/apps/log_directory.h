// src/apps/log_directory.h - the event log of somebody else: where it lies, and what it comes to; nothing is changed
// there.
#pragma once

#include <memory>
#include <string>

#include "core/ledger/impossible.h"
#include "core/ledger/state.h"
#include "platform/real_filesystem.h"

namespace millrace {

// A directory of segments, or one above it: StateSaveLocation, or the directory of `millrace up`.
Result<std::string> find_log_path(const std::string& given);
Result<std::unique_ptr<RealFilesystem>> find_log(const std::string& given);

// What the log comes to, whether its laws hold or not, without the events that cannot have happened. The log may be
// written on meanwhile. `without_mark`: as if nothing had been acknowledged.
Result<State> recover_state(Filesystem& files, std::vector<SkippedEvent>& skipped, bool without_mark = false);
// What a controller would begin with if it started on this log now.
Result<State> read_state(Filesystem& files);

}  // namespace millrace
