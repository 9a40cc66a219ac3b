// src/store/wal.h - the event log on files: group commit, payloads, snapshots; docs/spec/event-log.md has the picture.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/event_log.h"
#include "ports/filesystem.h"
#include "ports/loop.h"
#include "store/payload.h"
#include "store/snapshot.h"
#include "store/writer.h"

namespace millrace {

// Lives on the loop; files are touched on the worker alone, once the log is open. Whoever destroys it must have emptied
// the worker's queue, or thrown it away as a crash does.
class Wal final : public EventLog {
 public:
  using Settings = WalSettings;
  // Blocks: at the start there is nothing else to do. The filesystem and the worker must outlive the log.
  static Result<std::pair<std::unique_ptr<Wal>, Recovered>> open(Filesystem& files, Worker& worker, Settings settings);

  ~Wal() override;

  void append(Batch batch, Durable done) override;
  Room room(std::uint64_t bytes) const override;
  bool has_payload(const PayloadId& id) const override { return payloads_.contains(id); }
  // At once when the payload is still in memory.
  void read_payload(const PayloadId& id, std::move_only_function<void(Result<std::string>)> done) override;
  // `live` names every payload that the state after `index` or any event appended since refers to.
  void write_snapshot(std::uint64_t index, std::string state, std::vector<PayloadId> live,
                      std::move_only_function<void(Result<void>)> done) override;
  // Now and then: the mark of what is acknowledged survives a power cut as it is then. An error loses nothing.
  void sync_high_mark(std::move_only_function<void(Result<void>)> done);
  std::uint64_t bytes_since_snapshot() const override { return bytes_since_snapshot_; }

  std::uint64_t next_index() const { return next_index_; }
  std::uint64_t durable_index() const { return durable_index_; }

 private:
  struct Compaction;
  Wal(Filesystem& files, Worker& worker, Settings settings);

  void enqueue(LogItem item);
  void start_group();
  void finish_group();
  std::uint64_t room_for(std::uint64_t bytes) const;  // besides the reserve, to take this many bytes now
  void ask_for_room(std::uint64_t bytes) const;
  static Result<std::string> read_record(Filesystem& files, const SegmentHeader& segment, const PayloadPlace& place);

  void begin_compaction();
  void copy_payloads();
  void write_snapshot_file();
  void remove_old();
  void end_compaction(Result<void> outcome);

  Filesystem& files_;
  Worker& worker_;
  const Settings settings_;
  mutable LogWriter writer_;  // the worker's
  PayloadIndex payloads_;
  std::map<std::uint64_t, SegmentHeader> segments_;
  std::uint64_t next_index_ = 1, durable_index_ = 0, snapshot_index_ = 0;
  std::uint64_t bytes_since_snapshot_ = 0;
  std::vector<LogItem> queue_;
  std::uint64_t queued_bytes_ = 0;  // not yet written, the running group included
  std::unique_ptr<LogGroup> running_;
  std::optional<Error> poison_;
  mutable std::uint64_t reserved_room_ = 0;  // as the worker last said
  mutable bool was_short_ = false;           // what was last asked for was not to be had
  mutable std::uint64_t taken_ahead_ = 0;    // that was called enough while nobody knew
  mutable std::unique_ptr<std::uint64_t> room_question_;
  std::unique_ptr<Compaction> compaction_;
};

}  // namespace millrace
