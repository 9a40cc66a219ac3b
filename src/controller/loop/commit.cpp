// src/controller/loop/commit.cpp - see commit.h.
#include "controller/loop/commit.h"

#include "core/ledger/apply.h"
#include "core/ledger/touched_records.h"
#include "wire/credential.h"
#include "wire/event_codec.h"

namespace millrace {

PayloadId payload_id(std::string_view bytes) {
  const std::string digest = sha256(bytes);
  PayloadId id;
  for (std::size_t i = 0; i < id.digest.size(); ++i) id.digest[i] = static_cast<std::uint8_t>(digest[i]);
  return id;
}

Commit::Commit(Loop& loop, EventLog& log, State recovered, Hooks hooks)
    : loop_(loop),
      log_(log),
      hooks_(std::move(hooks)),
      decided_(std::move(recovered)),
      durable_(decided_),
      base_(decided_) {}

void Commit::note(const Event& event, Changes& changes) const {
  const auto touch = [&](JobKey named) {
    changes.jobs.insert(named);
    const Job* found = decided_.find_job(named);
    if (!found) return;
    for (const JobKey key : whole_of(*found)) {  // components share what happens to one of them
      changes.jobs.insert(key);
      const Job* job = decided_.find_job(key);
      if (job && job->placement)
        for (const NodeShare& share : job->placement->shares) changes.nodes.insert(share.node);
    }
  };
  std::visit(
      [&](const auto& e) {
        using E = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<E, StepsReported> || std::is_same_v<E, TriggerSet> ||
                      std::is_same_v<E, TriggerRemoved>)
          return;  // no order and no plan follows from it
        if constexpr (requires { e.key; }) touch(e.key);
        if constexpr (requires { e.components; }) touch(e.components.front().key);
        if constexpr (std::is_same_v<E, CrontabSet>) {
          for (const JobSubmitted& job : e.submitted) touch(job.key);
          if (const auto* crontab = decided_.crontabs.find(e.uid))
            for (const CrontabJob& entry : (*crontab)->jobs) touch(entry.key);
        }
        if constexpr (requires { e.node; }) changes.nodes.insert(e.node);
        if constexpr (std::is_same_v<E, NodeRegistered>) {
          // Jobs that waited for it to be powered up or to reboot may begin, on all their nodes, and whoever waits for
          // them hears of it.
          const Node& node = decided_.node(e.node);
          if (!node.is_ready())
            for (const JobKey key : node.jobs) touch(key);
        }
        if constexpr (std::is_same_v<E, NodesPowered>) {
          changes.nodes.insert(e.nodes.begin(), e.nodes.end());
          if (e.change == PowerChange::told) return;  // nobody else is concerned
        }
        if constexpr (std::is_same_v<E, TimeSliceTurned>) {
          for (const JobKey key : e.suspended) touch(key);
          for (const JobKey key : e.resumed) touch(key);
        }
        // What only takes resources or records can let nobody start.
        if constexpr (std::is_same_v<E, JobSubmitted> || std::is_same_v<E, HetJobSubmitted> ||
                      std::is_same_v<E, CrontabSet>)
          changes.jobs_added = true;
        else if constexpr (!std::is_same_v<E, JobPlaced> && !std::is_same_v<E, HetJobPlaced> &&
                           !std::is_same_v<E, JobForgotten> && !std::is_same_v<E, ArrayTaskSplit> &&
                           !std::is_same_v<E, JobResumed> && !std::is_same_v<E, TimeSliceTurned>)
          changes.room_made = true;
        if constexpr (std::is_same_v<E, ClusterConfigured> || std::is_same_v<E, NodeLost> ||
                      std::is_same_v<E, NodeStateChanged> || std::is_same_v<E, DevicesJudged> ||
                      std::is_same_v<E, NodeModified> || std::is_same_v<E, NodesPowered> ||
                      std::is_same_v<E, NodeCreated> || std::is_same_v<E, NodeDeleted> ||
                      std::is_same_v<E, PartitionChanged> || std::is_same_v<E, NodeClockJudged> ||
                      std::is_same_v<E, ClockStepped>)
          changes.ground_shifted = true;
      },
      event);
}

Room Commit::room(const std::vector<Event>& events, std::uint64_t payload_bytes) const {
  std::uint64_t bytes = batch_bytes_ + payload_bytes;
  for (const Event& event : events) bytes += encode_event(event).size();
  return log_.room(bytes);
}

bool Commit::happen(std::vector<Event> events, Answer answer) {
  RecordToucher toucher;
  Changes changes;
  const std::size_t before = batch_.events.size();
  const Diagnostics::Counts counted = diagnostics_ ? diagnostics_->counts() : Diagnostics::Counts{};
  for (const Event& event : events) {
    note(event, changes);  // before: a requeue forgets where the attempt was
    toucher.about_to_happen(decided_, event);
    if (diagnostics_) diagnostics_->about_to_happen(decided_, event);
    apply(decided_, event);
    toucher.happened(decided_, event);
    if (diagnostics_) diagnostics_->happened(decided_, event);
    if (fact_log_) fact_log_->happened(decided_, event);
    note(event, changes);
    batch_.events.push_back(encode_event(event));
    batch_bytes_ += batch_.events.back().size();
  }
  const auto law = asks_all_laws_ ? broken_law(decided_) : broken_law_near(decided_, toucher.records());
  if (law) {
    if (diagnostics_) diagnostics_->put_back(counted);
    if (fact_log_) fact_log_->forget();
    take_back(before);
    refused_ = true;
    hooks_.broken(*law, events);
    return false;
  }
  if (fact_log_) fact_log_->tell();
  changes_.jobs.merge(changes.jobs);
  changes_.nodes.merge(changes.nodes);
  changes_.room_made |= changes.room_made;
  changes_.jobs_added |= changes.jobs_added;
  changes_.ground_shifted |= changes.ground_shifted;
  facts_.insert(facts_.end(), std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
  kept_payloads_ = batch_.payloads.size();
  when_durable(std::move(answer));
  return true;
}

// What this batch held before is applied again to what was last kept of it: keeping a copy of the state for each
// decision would cost every one of them. What comes of it is kept, so that a fact is applied again once at most,
// however many decisions somebody has taken back.
void Commit::take_back(std::size_t events) {
  for (std::size_t i = events; i < batch_.events.size(); ++i) batch_bytes_ -= batch_.events[i].size();
  batch_.events.resize(events);
  for (; batch_.payloads.size() > kept_payloads_; batch_.payloads.pop_back())
    batch_bytes_ -= batch_.payloads.back().second.size();
  decided_ = base_;
  for (; base_events_ < events; ++base_events_, ++applied_again_) {
    const auto event = decode_event(batch_.events[base_events_]);
    MR_ASSERT(event.has_value());
    apply(decided_, *event);
  }
  base_ = decided_;
}

PayloadId Commit::add_payload(std::string bytes) {
  const PayloadId id = payload_id(bytes);
  if (log_.has_payload(id)) return id;
  for (const auto& [known, data] : batch_.payloads)
    if (known == id) return id;
  batch_bytes_ += bytes.size();
  batch_.payloads.emplace_back(id, std::move(bytes));
  return id;
}

void Commit::when_durable(Answer answer) {
  if (answer) answers_.push_back(std::move(answer));
  if (flush_posted_) return;
  flush_posted_ = true;
  loop_.post([this] { flush(); });
}

void Commit::flush() {
  flush_posted_ = false;
  Batch batch = std::exchange(batch_, {});
  base_ = decided_;
  base_events_ = kept_payloads_ = batch_bytes_ = 0;
  log_.append(std::move(batch),
              [this, snapshot = decided_, facts = std::exchange(facts_, {}), changes = std::exchange(changes_, {}),
               answers = std::exchange(answers_, {})](Result<std::uint64_t> index) mutable {
                if (!index) return hooks_.fatal(index.error());
                durable_now(std::move(snapshot), facts, changes, std::move(answers));
              });
}

void Commit::durable_now(State snapshot, const std::vector<Event>& facts, const Changes& changes,
                         std::vector<Answer> answers) {
  const State before = std::exchange(durable_, std::move(snapshot));
  for (Answer& answer : answers) answer();
  hooks_.advanced({before, durable_, facts, changes});
}

}  // namespace millrace
