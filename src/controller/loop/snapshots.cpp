// src/controller/loop/snapshots.cpp - see snapshots.h.
#include "controller/loop/snapshots.h"

#include <memory>
#include <set>
#include <utility>

#include "wire/event_codec.h"

namespace millrace {

namespace {

constexpr UserId of_nobody{UINT32_MAX};  // takes its turn with the questions of users

struct MadeSnapshot {
  State state;
  std::string bytes;
  std::vector<PayloadId> live;
};

// Walks every job: on the worker.
void make(MadeSnapshot& out) {
  std::set<PayloadId> live;
  for (const auto& [key, job] : out.state.jobs) {
    live.insert(PayloadId{job->spec->script});
    live.insert(PayloadId{job->spec->environment});
  }
  const std::uint32_t stored = out.state.policy->store_flags;
  for (const auto& [number, kept] : out.state.kept) {
    if ((stored & store_script) != 0) live.insert(PayloadId{kept->job->spec->script});
    if ((stored & store_environment) != 0) live.insert(PayloadId{kept->job->spec->environment});
  }
  live.erase(PayloadId{});
  out.live.assign(live.begin(), live.end());
  out.bytes = encode_state(out.state);
}

}  // namespace

void Snapshots::write_where_due() {
  if (running_ || log_.bytes_since_snapshot() < c_.settings.snapshot_bytes) return;
  running_ = true;
  worker_.ask(of_nobody, 0, [this] {
    auto made = std::make_shared<MadeSnapshot>(MadeSnapshot{c_.commit.durable(), {}, {}});
    return FairWorker::Piece{[made] { make(*made); },
                             [this, made] { write(made->state, std::move(made->bytes), made->live); }};
  });
}

void Snapshots::write(const State& state, std::string bytes, const std::vector<PayloadId>& of_state) {
  // Jobs submitted meanwhile name payloads too; they lie in newer segments, or are named here.
  std::set<PayloadId> live(of_state.begin(), of_state.end());
  for (auto it = c_.commit.decided().jobs.lower_bound(state.next_key); it != c_.commit.decided().jobs.end(); ++it) {
    live.insert(PayloadId{(*it).second->spec->script});
    live.insert(PayloadId{(*it).second->spec->environment});
  }
  live.erase(PayloadId{});
  log_.write_snapshot(state.version, std::move(bytes), {live.begin(), live.end()}, [this](Result<void> done) {
    running_ = false;
    c_.hooks.peak_passed();
    if (!done) c_.lines.complain("snapshot not written: " + done.error().story);
  });
}

}  // namespace millrace
