// src/controller/client_watch.cpp - what becomes of jobs when the client that waits for them is gone
// (absent_clients.h).
#include <algorithm>

#include "controller/controller.h"
#include "core/admission/cancel_job.h"
#include "core/admission/job_selection.h"

namespace millrace {

void Controller::client_left(ClientId client) {
  lines_.debug3([&] { return "client " + std::to_string(client) + " is gone"; });
  step_client_left(client);
  std::erase_if(asked_ports_, [&](const auto& asked) { return asked.first.first == client; });
  requests_.client_left(client);
  long_changes_.client_left(client);
  query_worker_.client_left(client);
  script_reads_.client_left(client);
  long_answers_.client_left(client);
  std::erase_if(inquiries_, [&](const auto& one) {
    if (one.second.client != client) return false;
    loop_.cancel(one.second.timer);
    return true;
  });
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const bool had_client = std::ranges::any_of(it->second, &Waiter::as_client);
    std::erase_if(it->second, [&](const Waiter& waiter) { return waiter.client == client; });
    if (had_client && std::ranges::none_of(it->second, &Waiter::as_client))
      absent_clients_.left(commit_.durable(), it->first, loop_.steady());
    it = it->second.empty() ? waiters_.erase(it) : std::next(it);
  }
}

// Once a second.
void Controller::end_absent(Time now) {
  const auto name = [&](JobKey key) {
    return "job " + shown_name(commit_.decided(), commit_.decided().job(key)) + ": its srun or salloc is gone";
  };
  for (const JobKey key : absent_clients_.take_due(commit_.decided(), settings_.inactive_limit, now, loop_.steady())) {
    hooks_.say(name(key) + " (InactiveLimit): ended");
    commit_.happen({Event{JobTimedOut{key, now, true}}});
  }
  for (const JobKey key : absent_clients_.take_abandoned(commit_.decided())) {
    auto ended = decide_cancel(commit_.decided(), {key, std::nullopt}, {UserId{0}, true}, now);
    if (!ended) continue;
    hooks_.say(name(key) + " while it waits: cancelled");
    commit_.happen(*std::move(ended));
  }
}

}  // namespace millrace
