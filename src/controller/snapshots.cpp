// src/controller/snapshots.cpp - the part of the controller that has the log write snapshots; see controller.h.
#include <memory>
#include <set>
#include <utility>

#include "controller/controller.h"
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

void Controller::maybe_snapshot() {
  if (snapshot_running_ || log_.bytes_since_snapshot() < settings_.snapshot_bytes) return;
  snapshot_running_ = true;
  query_worker_.ask(of_nobody, 0, [this] {
    auto made = std::make_shared<MadeSnapshot>(MadeSnapshot{commit_.durable(), {}, {}});
    return FairWorker::Piece{[made] { make(*made); },
                             [this, made] { write_snapshot(made->state, std::move(made->bytes), made->live); }};
  });
}

void Controller::write_snapshot(const State& state, std::string bytes, const std::vector<PayloadId>& of_state) {
  // Jobs submitted meanwhile name payloads too; they lie in newer segments, or are named here.
  std::set<PayloadId> live(of_state.begin(), of_state.end());
  for (auto it = commit_.decided().jobs.lower_bound(state.next_key); it != commit_.decided().jobs.end(); ++it) {
    live.insert(PayloadId{(*it).second->spec->script});
    live.insert(PayloadId{(*it).second->spec->environment});
  }
  live.erase(PayloadId{});
  log_.write_snapshot(state.version, std::move(bytes), {live.begin(), live.end()}, [this](Result<void> done) {
    snapshot_running_ = false;
    hooks_.peak_passed();
    if (!done) complain("snapshot not written: " + done.error().story);
  });
}

}  // namespace millrace
