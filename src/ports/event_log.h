// src/ports/event_log.h - durable, ordered storage for facts and for the payloads (scripts, environments) they name.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace millrace {

// SHA-256 of the bytes, first half: equal payloads are stored once, wherever they lie.
struct PayloadId {
  std::array<std::uint8_t, 16> digest{};
  auto operator<=>(const PayloadId&) const = default;
};

struct Batch {
  std::vector<std::pair<PayloadId, std::string>> payloads;  // only ones not has_payload(); written before the events
  std::vector<std::string> events;                          // encoded; each gets the next index
};

enum class Room : std::uint8_t {
  enough,        // anything may be appended
  asked,         // more than was made ready ahead; whether there is so much is being tried
  reserve_only,  // the disk is full: submissions must be refused; ends and cancels still fit
};

class EventLog {
 public:
  virtual ~EventLog() = default;

  // Ordered; several may be in flight; `done` is called on the loop with the index of the batch's last event once
  // everything up to it is on stable storage. An error poisons the log: `done` gets it, later batches get it too, and
  // the process must stop, because what a failed sync left on disk is unknown.
  using Durable = std::move_only_function<void(Result<std::uint64_t>)>;
  virtual void append(Batch batch, Durable done) = 0;

  // Whether a batch of this many bytes may be accepted now. Space is reserved ahead, so a yes holds.
  virtual Room room(std::uint64_t bytes) const = 0;

  virtual bool has_payload(const PayloadId& id) const = 0;  // stored or in flight
  virtual void read_payload(const PayloadId& id, std::move_only_function<void(Result<std::string>)> done) = 0;

  // `state` is the encoded state after event `index`; afterwards older segments may go, and with them every payload
  // that `live` does not name. Runs beside appends. An error leaves everything as it was and is not fatal.
  virtual void write_snapshot(std::uint64_t index, std::string state, std::vector<PayloadId> live,
                              std::move_only_function<void(Result<void>)> done) = 0;
  // Bytes of log that a recovery would have to replay after the last snapshot.
  virtual std::uint64_t bytes_since_snapshot() const = 0;
};

// What a log held when it was opened.
struct Recovered {
  std::uint64_t snapshot_index = 0;  // 0: no snapshot
  std::string snapshot;
  std::vector<std::string> events;  // those after snapshot_index, in order
  std::uint64_t cut_bytes = 0;      // of a torn tail, for the daemon's log
};

}  // namespace millrace
