// tests/fuzz/fuzz_replay.cpp - a log whose events are not what happened: lost, doubled, in another order, changed. It
// is read all the same, and says where.
#include "golden_files.h"
#include "store/recover.h"
#include "target.h"
#include "wire/event_codec.h"
#include "wire/record_reader.h"
#include "wire/replay.h"

using namespace millrace;

namespace {

// An event is one field of a message, so that a log is a message of many fields.
std::vector<std::string> events_in(std::string_view input) {
  std::vector<std::string> out;
  record_bytes::Raw raw;
  for (std::string_view rest = input; !rest.empty();) {
    const std::string_view before = rest;
    if (!record_bytes::next_field(rest, raw)) break;
    std::string event{before.substr(0, before.size() - rest.size())};
    if (decode_event(event)) out.push_back(std::move(event));
  }
  return out;
}

}  // namespace

FUZZ_SEEDS(replay) {
  std::vector<std::string> out;
  for (fuzz::MemoryDisk& disk : fuzz::golden_logs()) {
    const auto log = recover_log(disk);
    if (!log || log->recovered.snapshot_index > 0) continue;
    std::string whole;
    for (const std::string& event : log->recovered.events) whole += event;
    out.push_back(std::move(whole));
  }
  return out;
}

FUZZ_BINARY(replay) {
  Recovered log;
  log.events = events_in(input);
  std::vector<SkippedEvent> skipped;
  const auto state = replay(log, &skipped);
  fuzz::must(state.has_value(), "events that can be read are replayed");
  fuzz::must(state->version == log.events.size(), "every event has its number");
  fuzz::must(!skipped.empty() || replay(log).has_value(), "whoever skips nothing reads the same");
}
