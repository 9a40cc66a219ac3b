// src/controller/loop/commit.h - decided and durable: facts become visible to the outside only once the log holds them.
//
// A decision is asked about the laws of the records it touched before it becomes a fact. One that breaks a law is a bug
// of ours that somebody found a way to: it is taken back as if it had never been decided, `broken` hears of it, and the
// caller gets false. No count, no line of the log and no payload stays of it. Nothing that leads to an impossible state
// reaches the log, so that no request can keep the controller from starting again.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "controller/loop/fact_log.h"
#include "controller/views/diagnostics.h"
#include "core/ledger/state.h"
#include "ports/event_log.h"
#include "ports/loop.h"

namespace millrace {

// What changed between two durable versions, for those who act on it.
struct Changes {
  std::set<NodeIndex> nodes;
  std::set<JobKey> jobs;
  bool room_made = false;       // something that may let a waiting job start
  bool jobs_added = false;      // new ones, which may start if there is room
  bool ground_shifted = false;  // nodes or rules are others than before: what is being planned on them is worth little
};

// The durable state before and after, the facts that lie between the two, and whom they touch.
struct Advance {
  const State& before;
  const State& now;
  const std::vector<Event>& facts;
  const Changes& changes;
};

class Commit final {
 public:
  using Answer = std::move_only_function<void()>;

  struct Hooks {
    std::move_only_function<void(const Error&)> fatal;       // the log failed: the process must stop
    std::move_only_function<void(const Advance&)> advanced;  // after each step of the durable version
    std::move_only_function<void(const std::string& law, const std::vector<Event>&)> broken;  // and not done
  };
  Commit(Loop& loop, EventLog& log, State recovered, Hooks hooks);

  const State& decided() const { return decided_; }  // what the next decision sees; never shown to anyone
  const State& durable() const { return durable_; }  // what queries, planner, intents and answers see

  // Whether the log has room for what these facts and `payload_bytes` of new payloads will really take, besides what is
  // on its way. Every request of a person asks this first; ends, cancels and what nodes report live on the reserve.
  Room room(const std::vector<Event>& events, std::uint64_t payload_bytes = 0) const;
  bool has_room(const std::vector<Event>& events, std::uint64_t payload_bytes = 0) const {
    return room(events, payload_bytes) == Room::enough;
  }
  // Facts of one decision. `answer` runs when they are durable. False: they break a law and do not happen.
  bool happen(std::vector<Event> events, Answer answer = {});
  // Whether a decision was taken back in this run; whoever tries again by itself does it slowly then.
  bool has_refused() const { return refused_; }
  // How many facts were applied once more because of decisions that were taken back: never more than were decided.
  std::uint64_t applied_again() const { return applied_again_; }
  // To be stored with the facts of the next decision, if it is not there yet. Returns its name.
  PayloadId add_payload(std::string bytes);
  void count_in(Diagnostics& diagnostics) { diagnostics_ = &diagnostics; }
  void tell(FactLog& log) { fact_log_ = &log; }
  // Every law is asked before each decision becomes a fact, not only those of the records it touched: for tests.
  void ask_all_laws() { asks_all_laws_ = true; }
  // Everything decided so far is durable when this runs.
  void when_durable(Answer answer);

 private:
  void flush();
  void durable_now(State snapshot, const std::vector<Event>& facts, const Changes& changes,
                   std::vector<Answer> answers);
  void note(const Event& event, Changes& changes) const;
  void take_back(std::size_t events);

  Loop& loop_;
  EventLog& log_;
  Hooks hooks_;
  State decided_, durable_;
  // What was decided when the present batch began, or when a decision of it was last taken back, and how many of its
  // facts that holds.
  State base_;
  std::size_t base_events_ = 0;
  Batch batch_;
  std::vector<Event> facts_;       // of the batch
  std::size_t kept_payloads_ = 0;  // of the batch: those of decisions that hold
  std::uint64_t batch_bytes_ = 0, applied_again_ = 0;
  Changes changes_;
  std::vector<Answer> answers_;
  bool flush_posted_ = false;
  bool refused_ = false;
  bool asks_all_laws_ = false;
  Diagnostics* diagnostics_ = nullptr;
  FactLog* fact_log_ = nullptr;
};

PayloadId payload_id(std::string_view bytes);

}  // namespace millrace
