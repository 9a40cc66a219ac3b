// src/controller/readers/client_watch.cpp - see client_watch.h.
#include "controller/readers/client_watch.h"

#include <algorithm>

#include "core/admission/cancel_job.h"
#include "core/admission/job_selection.h"

namespace millrace {

void ClientWatch::recovered(const State& state) { absent_.expect_all(state, c_.loop.steady()); }

void ClientWatch::advanced(const Advance& step) {
  if (waiters_.empty()) return;
  std::set<JobKey> touched = step.changes.jobs;
  for (const JobKey key : step.changes.jobs)
    if (const Job* job = step.now.find_job(key); job && job->array.value != 0) touched.insert(job->array);
  for (const JobKey key : touched) tell(key);
}

void ClientWatch::time(Time now) {
  const auto name = [&](JobKey key) {
    return "job " + shown_name(c_.commit.decided(), c_.commit.decided().job(key)) + ": its srun or salloc is gone";
  };
  for (const JobKey key : absent_.take_due(c_.commit.decided(), c_.settings.inactive_limit, now, c_.loop.steady())) {
    c_.hooks.say(name(key) + " (InactiveLimit): ended");
    c_.commit.happen({Event{JobTimedOut{key, now, true}}});
  }
  for (const JobKey key : absent_.take_abandoned(c_.commit.decided())) {
    auto ended = decide_cancel(c_.commit.decided(), {key, std::nullopt}, {UserId{0}, true}, now);
    if (!ended) continue;
    c_.hooks.say(name(key) + " while it waits: cancelled");
    c_.commit.happen(*std::move(ended));
  }
}

// ---- who waits ----

void ClientWatch::client_left(ClientId client) {
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const bool had_client = std::ranges::any_of(it->second, &Waiter::as_client);
    std::erase_if(it->second, [&](const Waiter& waiter) { return waiter.client == client; });
    if (had_client && std::ranges::none_of(it->second, &Waiter::as_client))
      absent_.left(c_.commit.durable(), it->first, c_.loop.steady());
    it = it->second.empty() ? waiters_.erase(it) : std::next(it);
  }
}

// How far a job has come; an array has ended when all of its tasks have, with the worst of their exit codes.
wire::JobProgress ClientWatch::progress_of(JobKey key) const {
  const State& state = c_.commit.durable();
  wire::JobProgress progress;
  const Job* job = state.find_job(key);
  if (!job) {
    progress.set_ended(true);
    return progress;
  }
  progress.set_state(shown_state(*job));
  progress.set_exit_code(job->exit_code);
  progress.set_exit_signal(job->exit_signal);
  progress.set_reason(shown_reason(view_(), *job));
  progress.set_ended(job->state == JobState::ended);
  if (job->placement) {
    progress.set_nodes(hostlist_of(state, job->placement->shares));
    for (const NodeShare& share : job->placement->shares) progress.add_tasks_per_node(share.tasks);
    if (job->spec->extra_request().no_kill) show_lost(state, *job, progress);
  }
  if (const ArrayState* array = state.find_array(job->array); array && job->array == key) {
    progress.set_ended(array->ended == array->spec.tasks.size());
    for (auto it = state.tasks.lower_bound({key, 0}); it != state.tasks.end() && (*it).first.array == key; ++it) {
      const Job& task = state.job((*it).second);
      progress.set_exit_code(std::max(progress.exit_code(), task.exit_code));
      progress.set_exit_signal(std::max(progress.exit_signal(), task.exit_signal));
    }
  }
  return progress;
}

ClientWatch::Standing ClientWatch::standing_of(JobKey key) const {
  Standing out{progress_of(key), false, 0};
  const Job* job = c_.commit.durable().find_job(key);
  out.started = out.progress.state() != wire::PENDING && !(job && (job->program == JobProgram::prolog || job->boots));
  if (job && job->placement)
    out.lost = static_cast<std::size_t>(std::ranges::count_if(job->placement->shares, &NodeShare::lost));
  return out;
}

std::optional<wire::Reply> ClientWatch::news_for(Waiter& waiter, const Standing& standing) {
  const bool lost_more = standing.lost > waiter.told_lost && !waiter.until_started;
  const bool ended = standing.progress.ended();
  if (!ended && (!standing.started || (waiter.told_start && !lost_more))) return std::nullopt;
  waiter.told_start = true;
  waiter.told_lost = standing.lost;
  wire::Reply reply;
  reply.set_number(waiter.number);
  *reply.mutable_job_progress() = standing.progress;
  reply.set_more(!ended && !waiter.until_started);
  return reply;
}

void ClientWatch::wait_for(JobKey key, Waiter waiter) {
  if (waiter.as_client) absent_.came(key);
  const auto news = news_for(waiter, standing_of(key));
  if (!news || news->more()) {
    waiters_[key].push_back(waiter);
    c_.clients.waits(waiter.client, waiter.number);
  }
  if (news) c_.clients.reply(waiter.client, *news);
}

void ClientWatch::tell(JobKey key) {
  const auto it = waiters_.find(key);
  if (it == waiters_.end()) return;
  const Standing standing = standing_of(key);
  std::vector<std::pair<ClientId, wire::Reply>> told;
  std::erase_if(it->second, [&](Waiter& waiter) {
    auto news = news_for(waiter, standing);
    if (!news) return false;
    const bool last = !news->more();
    told.emplace_back(waiter.client, *std::move(news));
    return last;
  });
  if (it->second.empty()) waiters_.erase(it);
  for (const auto& [client, reply] : told) c_.clients.reply(client, reply);  // which may end it, and what it waits for
}

}  // namespace millrace
