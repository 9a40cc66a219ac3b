// src/apps/log_dump.cpp - see log_dump.h.
#include "apps/log_dump.h"

#include "base/text.h"
#include "store/payload.h"
#include "store/recover.h"
#include "wire/event_codec.h"
#include "wire/event_text.h"

namespace millrace {
namespace {

std::string payload_text(std::string_view body, bool whole) {
  const auto parts = split_payload(body);
  if (!parts) return "without its name";
  const auto& digest = parts->first.digest;
  std::string out = to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()}) + " " +
                    std::to_string(parts->second.size()) + " bytes";
  if (whole) out += " " + quote_text(parts->second);
  return out;
}

std::string snapshot_text(std::string_view body) {
  const auto state = decode_state(body);
  if (!state) return "cannot be read: " + state.error().story;
  return "version=" + std::to_string(state->version) + " epoch=" + std::to_string(state->epoch.value) +
         " jobs=" + std::to_string(state->jobs.size()) + " nodes=" + std::to_string(state->nodes.size()) +
         " next_key=" + std::to_string(state->next_key.value) + " last_id=" + std::to_string(state->last_id.value);
}

// Empty: nothing is to be said about records of this type.
std::string text_of(const ScannedRecord& record, const LogDumpOptions& options) {
  if (record.type == "damaged") return record.story;
  if (record.type == "payload") return payload_text(record.body, options.payloads);
  if (record.type == "snapshot") return snapshot_text(record.body);
  if (record.type != "event") return {};
  const auto event = decode_event(record.body);
  return event ? describe_event(*event) : "cannot be read: " + event.error().story;
}

}  // namespace

Result<LogDumpCounts> dump_log(Filesystem& files, const LogDumpOptions& options,
                               const std::function<void(std::string_view)>& line) {
  LogDumpCounts counts;
  const auto scanned = scan_log(files, [&](const ScannedRecord& record) {
    const bool damaged = record.type == "damaged";
    ++counts.records;
    if (damaged) ++counts.damaged;
    if (record.type == "payload") ++counts.payloads;
    if (record.type == "event") {
      ++counts.events;
      counts.last_index = record.index;
    }
    // Where a segment begins tells what the damage near it may have hit, so both are always shown.
    if (record.index < options.from && !damaged && record.type != "segment") return;
    const std::string text = text_of(record, options);
    line(record.file + " " + std::to_string(record.offset) + " " + std::to_string(record.index) + " " + record.type +
         " " + std::to_string(record.size) + (text.empty() ? "" : " " + text));
  });
  if (!scanned) return std::unexpected(scanned.error());
  return counts;
}

}  // namespace millrace
