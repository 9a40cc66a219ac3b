// src/store/wal.cpp - the loop's half of the event log; see wal.h.
#include "store/wal.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"
#include "store/compaction.h"
#include "store/recover.h"

namespace millrace {

Wal::Wal(Filesystem& files, Worker& worker, Settings settings)
    : files_(files), worker_(worker), settings_(settings), writer_(files, settings) {}

Wal::~Wal() = default;

Result<std::pair<std::unique_ptr<Wal>, Recovered>> Wal::open(Filesystem& files, Worker& worker, Settings settings) {
  MR_TRY(RecoveredLog log, recover_log(files));
  std::unique_ptr<Wal> wal(new Wal(files, worker, settings));
  if (log.append_at != 0) {
    MR_TRY_VOID(in_context(wal->writer_.reopen(log.segments.rbegin()->second, log.append_at), "open the event log"));
  } else {
    MR_TRY_VOID(
        in_context(wal->writer_.begin_first(log.next_segment, log.next_index), "begin a segment of the event log"));
    log.segments.emplace(log.next_segment, wal->writer_.segment());
  }
  wal->payloads_ = std::move(log.payloads);
  wal->segments_ = std::move(log.segments);
  wal->next_index_ = log.next_index;
  wal->durable_index_ = log.next_index - 1;
  wal->bytes_since_snapshot_ = log.bytes_since_snapshot;
  wal->snapshot_index_ = log.recovered.snapshot_index;
  wal->reserved_room_ = wal->writer_.room();
  // Where there is no room for it the log is opened all the same; sync_high_mark() says what is wrong.
  (void)wal->writer_.high_mark().open(wal->durable_index_);
  return std::pair{std::move(wal), std::move(log.recovered)};
}

void Wal::append(Batch batch, Durable done) {
  LogItem item;
  item.first_index = next_index_;
  next_index_ += batch.events.size();
  item.events = std::move(batch.events);
  for (auto& [id, bytes] : batch.payloads) {
    SharedValue<std::string> shared{std::move(bytes)};
    payloads_.sent(id, shared);
    item.payloads.emplace_back(id, std::move(shared));
  }
  item.done = std::move(done);
  bytes_since_snapshot_ += item.size();
  enqueue(std::move(item));
}

void Wal::enqueue(LogItem item) {
  queued_bytes_ += item.size();
  queue_.push_back(std::move(item));
  if (!running_) start_group();
}

// Everything that waits goes into one write and one sync. A new segment is begun by the group that asks for it first.
void Wal::start_group() {
  MR_ASSERT(!running_);
  if (queue_.empty()) return;
  running_ = std::make_unique<LogGroup>();
  const auto stop = std::ranges::find_if(queue_.begin() + 1, queue_.end(), &LogItem::begin_segment);
  running_->items.assign(std::move_iterator(queue_.begin()), std::move_iterator(stop));
  queue_.erase(queue_.begin(), stop);
  if (poison_) running_->outcome = std::unexpected(*poison_);
  worker_.run(
      [this] {
        if (running_->outcome) writer_.write(*running_);
      },
      [this] { finish_group(); });
}

void Wal::finish_group() {
  const std::unique_ptr<LogGroup> group = std::move(running_);
  if (!group->outcome && !poison_) {
    poison_ = group->outcome.error();
    poison_->story.insert(0, "the event log cannot be written any more: ");
  }
  reserved_room_ = group->room;
  for (const SegmentHeader& segment : group->begun) segments_.emplace(segment.number, segment);
  std::size_t place = 0;
  for (LogItem& item : group->items) {
    queued_bytes_ -= item.size();
    if (poison_) continue;
    durable_index_ = item.first_index + item.events.size() - 1;
    for (const auto& [id, bytes] : item.payloads) payloads_.placed(id, group->places.at(place++));
  }
  if (!queue_.empty()) start_group();  // before the answers: the disk need not wait for them
  for (LogItem& item : group->items) {
    if (!item.done) continue;
    if (poison_)
      item.done(std::unexpected(*poison_));
    else
      item.done(item.first_index + item.events.size() - 1);
  }
}

Room Wal::room(std::uint64_t bytes) const {
  if (poison_) return Room::reserve_only;
  if (reserved_room_ >= settings_.reserve_size + room_for(bytes)) return Room::enough;
  // A large batch, a busy moment, or a full disk. Only the last one lasts, and only a try tells when it is over.
  ask_for_room(room_for(bytes));
  if (was_short_) return Room::reserve_only;
  // What is small need not wait for the answer: the reserve is far larger than all that comes before it.
  const bool small = bytes <= settings_.reserve_size / 512 && taken_ahead_ + bytes <= settings_.reserve_size / 8;
  if (!small) return Room::asked;
  taken_ahead_ += bytes;
  return Room::enough;
}

// Events are small: a header and padding for each may be half of them again.
std::uint64_t Wal::room_for(std::uint64_t bytes) const { return queued_bytes_ + bytes + bytes / 2 + 1024; }

void Wal::ask_for_room(std::uint64_t bytes) const {
  if (room_question_) return;
  room_question_ = std::make_unique<std::uint64_t>(bytes);  // the worker puts its answer in the same place
  worker_.run(
      [this] {
        writer_.reserve(*room_question_);
        *room_question_ = writer_.room();
      },
      [this, bytes] {
        reserved_room_ = *std::exchange(room_question_, nullptr);
        taken_ahead_ = 0;
        was_short_ = reserved_room_ < settings_.reserve_size + bytes;
      });
}

void Wal::sync_high_mark(std::move_only_function<void(Result<void>)> done) {
  auto* outcome = new Result<void>;
  worker_.run(
      [this, outcome] { *outcome = writer_.high_mark().sync(); },
      [owned = std::unique_ptr<Result<void>>(outcome), done = std::move(done)]() mutable { done(std::move(*owned)); });
}

Result<std::string> Wal::read_record(Filesystem& files, const SegmentHeader& segment, const PayloadPlace& place) {
  const std::string name = segment_name(place.segment);
  MR_TRY(const auto file, files.open(name));
  MR_TRY(const std::string bytes, file->read_at(place.offset, place.size));
  const auto record = parse_record(segment, place.offset, bytes);
  const auto payload = record && record->type == RecordType::payload ? split_payload(record->body) : std::nullopt;
  if (!payload)
    return fail(Errc::corrupt, "event log is damaged: " + name + ": at byte " + std::to_string(place.offset) +
                                   ": the payload that was written here is not here any more");
  return std::string{payload->second};
}

void Wal::read_payload(const PayloadId& id, std::move_only_function<void(Result<std::string>)> done) {
  if (const auto* bytes = payloads_.in_flight(id)) return done(std::string{**bytes});
  const PayloadPlace* place = payloads_.stored(id);
  if (!place) return done(fail(Errc::not_found, "no such payload in the event log"));
  // The place is read before anything that compaction does to it later, because the worker keeps the order.
  struct Reading {
    SegmentHeader segment;
    PayloadPlace place;
    std::move_only_function<void(Result<std::string>)> done;
    Result<std::string> bytes;
  };
  auto* reading = new Reading{segments_.at(place->segment), *place, std::move(done), {}};
  worker_.run([this, reading] { reading->bytes = read_record(files_, reading->segment, reading->place); },
              [owned = std::unique_ptr<Reading>(reading)] { owned->done(std::move(owned->bytes)); });
}

// --- snapshots
// ---------------------------------------------------------------------------------------------------------

void Wal::write_snapshot(std::uint64_t index, std::string state, std::vector<PayloadId> live,
                         std::move_only_function<void(Result<void>)> done) {
  MR_ASSERT(index <= durable_index_);
  if (poison_) return done(std::unexpected(*poison_));
  if (compaction_) return done(fail(Errc::refused, "another snapshot is being written"));
  // The one with the highest index counts when the log is opened, so it must also be the last one written.
  if (index < snapshot_index_) return done(fail(Errc::refused, "there is a snapshot of a later event"));
  compaction_ = std::make_unique<Compaction>(index, std::move(state), std::move(live), std::move(done));
  compaction_->bytes_before = bytes_since_snapshot_;
  payloads_.forget_dead(index, compaction_->live);
  // A new segment first, so that the present one can go with this snapshot or, if newer events are in it, with the
  // next.
  LogItem item;
  item.begin_segment = true;
  item.first_index = next_index_;
  item.done = [this](Result<std::uint64_t> begun) {
    if (!begun) return end_compaction(std::unexpected(begun.error()));
    begin_compaction();
  };
  enqueue(std::move(item));
}

void Wal::begin_compaction() {
  // The segment that holds the first event after the snapshot, or will hold it.
  auto first = segments_.begin();
  for (auto it = segments_.begin(); it != segments_.end(); ++it)
    if (it->second.first_index <= compaction_->index + 1) first = it;
  compaction_->first_segment = first->first;
  // Whatever has_payload() has said yes to since the call is carried along, whether `live` names it or not.
  compaction_->to_copy = payloads_.before(compaction_->first_segment);
  copy_payloads();
}

// A piece at a time, through the same groups as everything else; when the last one is on stable storage the old
// segments hold nothing that is needed.
void Wal::copy_payloads() {
  Compaction& work = *compaction_;
  if (work.to_copy.empty()) return write_snapshot_file();
  work.copying.clear();
  std::uint64_t size = 0;
  while (!work.to_copy.empty() && size < Compaction::piece_size) {
    const PayloadId id = work.to_copy.back();
    work.to_copy.pop_back();
    const PayloadPlace* place = payloads_.stored(id);
    MR_ASSERT(place != nullptr);
    size += place->size;
    work.copying.push_back({id, segments_.at(place->segment), *place, {}});
  }
  worker_.run(
      [this, wanted = room_for(size)] {
        compaction_->has_room = writer_.reserve(wanted);
        for (auto& piece : compaction_->copying) piece.bytes = read_record(files_, piece.segment, piece.place);
      },
      [this] {
        if (!compaction_->has_room)
          return end_compaction(fail(Errc::unavailable, "no room on the disk to copy the payloads of live jobs along"));
        LogItem item;
        item.first_index = next_index_;
        for (auto& piece : compaction_->copying) {
          if (!piece.bytes) return end_compaction(std::unexpected(piece.bytes.error()));
          item.payloads.emplace_back(piece.id, SharedValue<std::string>{*std::move(piece.bytes)});
        }
        item.done = [this](Result<std::uint64_t> copied) {
          if (!copied) return end_compaction(std::unexpected(copied.error()));
          copy_payloads();
        };
        enqueue(std::move(item));
      });
}

void Wal::write_snapshot_file() {
  if (!compaction_->file) {
    snapshot_index_ = compaction_->index;  // even if it fails: its last step may have succeeded all the same
    compaction_->file.emplace(SnapshotHeader{compaction_->index, compaction_->first_segment},
                              std::move(compaction_->state));
  }
  worker_.run(
      [this] {
        compaction_->written = compaction_->file->advance(files_);
        if (!compaction_->written) (void)files_.remove(snapshot_temporary_name);  // it may be what fills the disk
      },
      [this] {
        if (!compaction_->written) return end_compaction(std::unexpected(compaction_->written.error()));
        *compaction_->written ? remove_old() : write_snapshot_file();
      });
}

void Wal::remove_old() {
  const std::uint64_t first = compaction_->first_segment;
  MR_ASSERT(payloads_.before(first).empty());
  segments_.erase(segments_.begin(), segments_.lower_bound(first));
  bytes_since_snapshot_ -= compaction_->bytes_before;
  worker_.run([this] { remove_obsolete_files(files_, compaction_->index, compaction_->first_segment); },
              [this] { end_compaction({}); });
}

void Wal::end_compaction(Result<void> outcome) {
  const std::unique_ptr<Compaction> ended = std::move(compaction_);
  ended->done(std::move(outcome));
}

}  // namespace millrace
