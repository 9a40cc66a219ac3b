// tests/fuzz/fuzz_log.cpp - the event log: its files as they lie on a disk, its events and its states.
#include "golden_files.h"
#include "store/recover.h"
#include "store/segment.h"
#include "store/snapshot.h"
#include "target.h"
#include "wire/event_codec.h"
#include "wire/event_text.h"

using namespace millrace;

namespace {

void read_disk(fuzz::MemoryDisk disk) {
  fuzz::use(scan_log(disk, [](const ScannedRecord& record) { fuzz::use(record); }));
  if (!recover_log(disk)) return;
  fuzz::must(recover_log(disk).has_value(), "a log that was recovered is recovered again");
}

// Records of any kind with true checksums, for what lies behind them: a byte of kind, one of the index, the body.
std::string segment_of(fuzz::Pieces pieces) {
  const SegmentHeader header{1, 1, 7};
  std::string out = encode_segment_header(header);
  while (!pieces.empty()) {
    const auto type = static_cast<RecordType>(pieces.byte() % 5);
    const std::uint64_t index = pieces.byte(), group = pieces.byte() % 2 == 0 ? out.size() : segment_header_size;
    append_record(out, header, out.size(), group, type, index, pieces.sized());
  }
  return out;
}

}  // namespace

FUZZ_SEEDS(segment) {
  std::vector<std::string> out;
  for (const fuzz::MemoryDisk& disk : fuzz::golden_logs())
    if (disk.files.contains(segment_name(1))) out.push_back(disk.files.at(segment_name(1)).substr(0, 4096));
  return out;
}

FUZZ_TEXT(segment) {
  fuzz::MemoryDisk disk;
  disk.files[segment_name(1)] = input;
  read_disk(disk);
  disk.files[segment_name(1)] = segment_of(fuzz::Pieces(input));
  read_disk(disk);
}

FUZZ_SEEDS(snapshot) {
  std::vector<std::string> out;
  for (const fuzz::MemoryDisk& disk : fuzz::golden_logs())
    for (const auto& [name, bytes] : disk.files)
      if (name.starts_with("snapshot-")) out.push_back(bytes);
  return out;
}

FUZZ_TEXT(snapshot) {
  fuzz::MemoryDisk disk;
  disk.files[snapshot_name(5)] = input;
  fuzz::use(read_snapshot(disk, snapshot_name(5)));
  read_disk(disk);
}

FUZZ_SEEDS(event) { return fuzz::golden_events(); }

FUZZ_BINARY(event) {
  const auto event = decode_event(input);
  if (!event) return;
  fuzz::use(describe_event(*event));
  const std::string written = encode_event(*event);
  const auto again = decode_event(written);
  fuzz::must(again && encode_event(*again) == written, "an event that was read is written and read back");
}

FUZZ_SEEDS(state) { return fuzz::golden_states(); }

FUZZ_BINARY(state) {
  const auto state = decode_state(input);
  if (!state) return;
  const std::string written = encode_state(*state);
  const auto again = decode_state(written);
  fuzz::must(again && encode_state(*again) == written, "a state that was read is written and read back");
}
