// src/apps/log_repair.h - what is done about a log that leads to an impossible state, or is damaged in the middle.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/admission/put_records_aside.h"
#include "ports/filesystem.h"

namespace millrace {

// Every file of the log under a second name, in a folder beside it, so that nothing that is repaired is lost. Gives the
// path of the folder: that of an earlier start where one has kept the same already. `whole`: as copies, because the
// files are about to be cut.
Result<std::string> keep_log(const std::string& directory, std::uint64_t version, bool whole = false);

// For the administrator, a line each: which laws were broken, and whose jobs and records are put aside.
std::vector<std::string> describe_repair(const State& before, const LedgerRepair& repair);

// What a start does about a state that breaks laws, or a log with events that cannot have happened: the fact with which
// it begins, or nothing. Keeps the log and says so, unless the state cannot be served even then.
Result<std::optional<RecordsPutAside>> repair_at_start(const std::string& directory, const State& recovered,
                                                       const std::vector<SkippedEvent>& skipped, Time now,
                                                       const std::function<void(const std::string&)>& say);

struct LogDamage {
  std::string file;
  std::uint64_t offset = 0;
  std::string story;
  std::uint64_t next_index = 0;    // of the event that should lie there
  std::uint64_t events_after = 0;  // that can be read behind it and are lost when the log is cut there
  bool snapshot = false;           // a snapshot is damaged, which no cut mends
};

// The first place that cannot be read, or where an event is missing. Changes nothing.
Result<std::vector<LogDamage>> find_damage(Filesystem& files);
// Everything from the damage on goes: the rest of its segment, and the segments after it. The mark of what was
// acknowledged goes, too.
Result<void> cut_log(Filesystem& files, const LogDamage& at);

}  // namespace millrace
