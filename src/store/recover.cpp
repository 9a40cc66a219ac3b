// src/store/recover.cpp - see recover.h.
#include "store/recover.h"

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "store/high_mark.h"
#include "store/snapshot.h"

namespace millrace {

namespace {

std::unexpected<Error> damaged(const std::string& file, std::uint64_t offset, const std::string& what) {
  return fail(Errc::corrupt, "event log is damaged: " + file + ": at byte " + std::to_string(offset) + ": " + what);
}

struct Names {
  std::vector<std::uint64_t> segments, snapshots;  // ascending, because list() is sorted
};

Result<Names> list_names(Filesystem& files) {
  MR_TRY(const auto names, files.list());
  Names found;
  for (const std::string& name : names) {
    if (const auto number = segment_number(name)) found.segments.push_back(*number);
    if (const auto index = snapshot_index(name)) found.snapshots.push_back(*index);
  }
  return found;
}

// What one segment says. Views point into `bytes`.
struct Reading {
  std::string name;
  std::string bytes;
  SegmentHeader header;
  std::vector<Record> records;  // events and payloads
  std::uint64_t end = 0;        // of the last of them; a mark after it is overwritten by the next write
  std::uint64_t synced = 0;     // before this, everything was on stable storage
  std::uint64_t bad = 0;        // where the first thing lies that is no record; 0: everything was read
  bool complete = false;        // has its end record, and nothing after it
};

Reading read_records(std::string name, std::string bytes, const SegmentHeader& header) {
  Reading reading{std::move(name), std::move(bytes), header, {}, segment_header_size, segment_header_size, 0, false};
  std::uint64_t at = segment_header_size;
  const std::string_view all = reading.bytes;
  while (at < all.size()) {
    const auto record = parse_record(header, at, all.substr(at));
    if (!record || reading.complete) {
      reading.bad = at;
      break;
    }
    at += record->size;
    reading.synced = std::max(reading.synced, record->group);
    if (record->type == RecordType::end) reading.complete = true;
    if (record->type == RecordType::synced) continue;
    reading.end = at;
    if (record->type != RecordType::end) reading.records.push_back(*record);
  }
  return reading;
}

class Recovery {
 public:
  explicit Recovery(Filesystem& files) : files_(files) {}

  Result<RecoveredLog> run() {
    // First: while somebody only looks on, the log may grow.
    MR_TRY(acknowledged_, in_context(read_high_mark(files_), "event log"));
    MR_TRY(names_, list_names(files_));
    // After a mere kill the names we see may be in memory only; what is built on them must not outlive them.
    MR_TRY_VOID(files_.sync_directory());
    if (!names_.snapshots.empty()) {
      MR_TRY(Snapshot snapshot,
             in_context(read_snapshot(files_, snapshot_name(names_.snapshots.back())), "event log is damaged"));
      first_segment_ = snapshot.header.first_segment;
      log_.recovered.snapshot_index = snapshot.header.index;
      log_.recovered.snapshot = std::move(snapshot.state);
    }
    MR_TRY_VOID(read_segments());
    MR_TRY_VOID(check_reaches_snapshot());
    MR_TRY_VOID(check_reaches_mark());
    MR_TRY_VOID(remove_leftovers());
    return std::move(log_);
  }

 private:
  Result<void> read_segments() {
    std::erase_if(names_.segments, [&](std::uint64_t number) {
      if (number >= first_segment_) return false;
      obsolete_.push_back(segment_name(number));  // a crash came between a snapshot and the removal of what it replaced
      return true;
    });
    log_.next_segment = first_segment_;
    for (const std::uint64_t number : names_.segments) {
      if (number != log_.next_segment) return missing(log_.next_segment);
      MR_TRY_VOID(read_segment(number, number == names_.segments.back()));
    }
    // The one that a snapshot needs was there when the snapshot was written.
    if (log_.segments.empty() && !names_.snapshots.empty()) return missing(first_segment_);
    return {};
  }

  std::unexpected<Error> missing(std::uint64_t number) const {
    return damaged(segment_name(number), 0, "the segment is missing");
  }

  Result<void> read_segment(std::uint64_t number, bool last) {
    const std::string name = segment_name(number);
    MR_TRY(const auto file, files_.open(name));
    MR_TRY(const std::uint64_t size, file->size());
    MR_TRY(std::string bytes, file->read_at(0, size));
    const auto header = decode_segment_header(bytes);
    if (!header && header.error().code == Errc::invalid) return fail(Errc::invalid, name + ": " + header.error().story);
    if (!header) {
      // The header is on stable storage before the first record is written: without records it was never finished. The
      // first one that a snapshot needs always was.
      const bool unfinished =
          last && bytes.size() <= segment_header_size && (names_.snapshots.empty() || number != first_segment_);
      if (!unfinished) return damaged(name, 0, header.error().story);
      log_.recovered.cut_bytes += bytes.size();
      obsolete_.push_back(name);
      return {};
    }
    if (header->number != number) return damaged(name, 16, "it is segment " + std::to_string(header->number));
    MR_TRY_VOID(check_first_index(name, *header));
    const Reading reading = read_records(name, std::move(bytes), *header);
    MR_TRY_VOID(take_records(reading));
    log_.segments.emplace(number, *header);
    log_.next_segment = number + 1;
    if (!last) return check_complete(reading);
    return finish_last(reading, *file);
  }

  Result<void> check_first_index(const std::string& name, const SegmentHeader& header) {
    if (log_.segments.empty()) {
      log_.next_index = header.first_index;
      const std::uint64_t newest = log_.recovered.snapshot_index + 1;
      if (header.first_index >= 1 && header.first_index <= newest) return {};
      return damaged(
          name, 24,
          "events " + std::to_string(newest) + " to " + std::to_string(header.first_index - 1) + " are missing");
    }
    if (header.first_index == log_.next_index) return {};
    return damaged(name, 24,
                   "it begins with event " + std::to_string(header.first_index) + " instead of " +
                       std::to_string(log_.next_index));
  }

  Result<void> take_records(const Reading& reading) {
    for (const Record& record : reading.records) {
      if (record.index != log_.next_index)
        return damaged(
            reading.name, record.offset,
            "event " + std::to_string(record.index) + " where " + std::to_string(log_.next_index) + " must be");
      if (record.type == RecordType::payload) {
        const auto payload = split_payload(record.body);
        if (!payload) return damaged(reading.name, record.offset, "a payload without its name");
        log_.payloads.placed(payload->first, {reading.header.number, record.offset, record.size, record.index});
        continue;
      }
      ++log_.next_index;
      if (record.index <= log_.recovered.snapshot_index) continue;
      log_.recovered.events.emplace_back(record.body);
      log_.bytes_since_snapshot += record.size;
    }
    return {};
  }

  Result<void> check_reaches_snapshot() const {
    if (log_.next_index > log_.recovered.snapshot_index) return {};
    return damaged(segment_name(log_.next_segment - 1), 0,
                   "the log ends at event " + std::to_string(log_.next_index - 1) +
                       " although the snapshot is of event " + std::to_string(log_.recovered.snapshot_index));
  }

  // What was answered as durable is in the log, or the log is not what it was.
  Result<void> check_reaches_mark() const {
    if (log_.next_index > acknowledged_) return {};
    const std::string name = log_.segments.empty() ? "the log" : segment_name(log_.segments.rbegin()->first);
    return fail(Errc::corrupt,
                "event log has lost its end: " + name + " ends with event " + std::to_string(log_.next_index - 1) +
                    ", and events up to " + std::to_string(acknowledged_) + " were acknowledged (so says the file '" +
                    std::string{high_mark_name} +
                    "' beside it): " + std::to_string(acknowledged_ - log_.next_index + 1) +
                    " are missing. Nothing was changed. Restore the log from where it is whole; `millrace log repair "
                    "--accept-loss` goes on without them");
  }

  // A segment with a successor was completed and synced before the successor got its name.
  Result<void> check_complete(const Reading& reading) {
    if (reading.bad != 0) return damaged(reading.name, reading.bad, "there is no record here, in a complete segment");
    if (!reading.complete) return damaged(reading.name, reading.bytes.size(), "the segment ends too early");
    return {};
  }

  Result<void> finish_last(const Reading& reading, File& file) {
    MR_TRY_VOID(check_reaches_snapshot());  // before anything is cut: a damaged log is left as it is
    if (reading.bad != 0) {
      // Only what the very last write left may be torn. Any later record that was written after the bad place had been
      // synced proves that this was once a true record.
      std::uint64_t from = reading.bad;
      while (const auto later = next_record_after(reading.header, reading.bytes, from)) {
        if (later->group > reading.bad)
          return damaged(reading.name, reading.bad,
                         "there is no record here, but a later one at byte " + std::to_string(later->offset) +
                             " was written after it");
        from = later->offset;
      }
      if (reading.complete) return damaged(reading.name, reading.bad, "there are bytes after the end of the segment");
      log_.recovered.cut_bytes += reading.bytes.size() - reading.bad;
    }
    MR_TRY_VOID(check_reaches_mark());
    if (reading.bytes.size() > reading.end) {
      MR_TRY_VOID(file.truncate(reading.end));
    }
    // After a mere kill the last records may be in memory only, and we are about to believe them. If it came after a
    // failed sync, the kernel even holds them to be written: so they are written once more before they are synced.
    if (reading.synced < reading.end) {
      MR_TRY_VOID(file.write_at(reading.synced,
                                std::string_view{reading.bytes}.substr(reading.synced, reading.end - reading.synced)));
    }
    MR_TRY_VOID(file.sync_data());
    log_.append_at = reading.complete ? 0 : reading.end;
    return {};
  }

  Result<void> remove_leftovers() {
    MR_TRY(const auto names, files_.list());
    for (const std::string& name : names)
      if (name == snapshot_temporary_name || name == segment_temporary_name) obsolete_.push_back(name);
    if (names_.snapshots.size() > 1) {
      names_.snapshots.pop_back();
      for (const std::uint64_t index : names_.snapshots) obsolete_.push_back(snapshot_name(index));
    }
    if (obsolete_.empty()) return {};
    for (const std::string& name : obsolete_) {
      MR_TRY_VOID(files_.remove(name));
    }
    return files_.sync_directory();
  }

  Filesystem& files_;
  Names names_;
  RecoveredLog log_;
  std::uint64_t first_segment_ = 1, acknowledged_ = 0;
  std::vector<std::string> obsolete_;
};

std::string name_of(RecordType type) {
  switch (type) {
    case RecordType::event:
      return "event";
    case RecordType::payload:
      return "payload";
    case RecordType::synced:
      return "synced";
    case RecordType::end:
      return "end";
  }
  return "unknown";
}

Result<void> scan_segment(Filesystem& files, const std::string& name,
                          const std::function<void(const ScannedRecord&)>& visit) {
  MR_TRY(const auto file, files.open(name));
  MR_TRY(const std::uint64_t size, file->size());
  MR_TRY(const std::string bytes, file->read_at(0, size));
  const auto header = decode_segment_header(bytes);
  if (!header) {
    visit({name, 0, bytes.size(), "damaged", 0, false, {}, header.error().story});
    return {};
  }
  visit({name, 0, segment_header_size, "segment", header->first_index, true, {}, {}});
  const std::string_view all = bytes;
  for (std::uint64_t at = segment_header_size; at < all.size();) {
    if (const auto record = parse_record(*header, at, all.substr(at))) {
      visit({name, at, record->size, name_of(record->type), record->index, true, record->body, {}});
      at += record->size;
      continue;
    }
    const auto later = next_record_after(*header, all, at);
    const std::uint64_t until = later ? later->offset : all.size();
    visit({name, at, until - at, "damaged", 0, false, {}, "no record here"});
    at = until;
  }
  return {};
}

}  // namespace

Result<RecoveredLog> recover_log(Filesystem& files) { return Recovery(files).run(); }

Result<void> scan_log(Filesystem& files, const std::function<void(const ScannedRecord&)>& visit) {
  MR_TRY(const Names names, list_names(files));
  for (const std::uint64_t index : names.snapshots) {
    const std::string name = snapshot_name(index);
    const auto snapshot = read_snapshot(files, name);
    if (snapshot)
      visit({name, 0, snapshot_header_size + snapshot->state.size(), "snapshot", index, true, snapshot->state, {}});
    else
      visit({name, 0, 0, "damaged", index, false, {}, snapshot.error().story});
  }
  for (const std::uint64_t number : names.segments) {
    MR_TRY_VOID(scan_segment(files, segment_name(number), visit));
  }
  return {};
}

}  // namespace millrace
