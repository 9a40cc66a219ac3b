// src/apps/local_questions.cpp - see local_questions.h.
#include "apps/local_questions.h"

#include <poll.h>
#include <time.h>

#include <set>

#include "cli/ask.h"
#include "client.pb.h"

namespace millrace {
namespace {

Time now_on(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return {static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000};
}

struct Queue {
  std::set<std::uint32_t> active;  // ids of jobs with processes
  std::uint32_t running = 0, pending = 0;
};

Result<Queue> read_queue(Session& session) {
  wire::Request ask;
  ask.mutable_query_jobs()->set_brief(true);
  MR_TRY(const wire::Reply reply, ask_all(session, ask));
  Queue queue;
  for (const wire::JobView& job : reply.jobs().jobs()) {
    if (job.state() == wire::RUNNING || job.completing()) queue.active.insert(job.job_id());
    if (job.state() == wire::RUNNING && !job.completing()) ++queue.running;
    if (job.state() == wire::PENDING && !job.completing()) ++queue.pending;
  }
  return queue;
}

Result<void> cancel_running(Session& session) {
  wire::Request ask;
  ask.mutable_cancel()->set_state("RUNNING");
  const auto answer = ask_all(session, ask);
  if (!answer && answer.error().code != Errc::refused)
    return std::unexpected(answer.error());  // refused: none runs any more
  return {};
}

// Those that there are now: scontrol may have made and deleted some.
Result<void> close_partitions(Session& session) {
  wire::Request question;
  question.mutable_query_partitions();
  MR_TRY(const wire::Reply known, ask_all(session, question));
  for (const wire::PartitionView& partition : known.partitions().partitions()) {
    wire::Request ask;
    ask.mutable_update_partition()->set_name(partition.name());
    ask.mutable_update_partition()->set_state("DOWN");  // until the next start, which reads the configuration again
    MR_TRY_VOID(ask_all(session, ask));
  }
  return {};
}

std::string state_words(const wire::NodeView& node) {
  std::string out = node.name() + " is ";
  if (node.base() == wire::NodeView::DOWN)
    out += "down";
  else if (node.base() == wire::NodeView::UNKNOWN)
    out += "not registered";
  else if (node.drain())
    out += "drained";
  else
    out += "not responding";
  return node.reason().empty() ? out : out + ": " + node.reason();
}

}  // namespace

SessionOptions session_options(const Configuration& configuration, Duration patience) {
  return SessionOptions{configuration.socket_path, configuration.message_timeout, patience, configuration.cluster_name,
                        configuration.controller_port};
}

Result<NodeCounts> count_nodes(Session& session) {
  wire::Request ask;
  ask.mutable_query_nodes();
  MR_TRY(const wire::Reply reply, ask_all(session, ask));
  NodeCounts counts;
  for (const wire::NodeView& node : reply.nodes().nodes()) {
    ++counts.all;
    const bool registered = node.base() == wire::NodeView::IDLE || node.base() == wire::NodeView::ALLOCATED ||
                            node.base() == wire::NodeView::MIXED;
    if (registered && !node.not_responding() && !node.drain())
      ++counts.ready;
    else
      counts.not_ready.push_back(state_words(node));
  }
  return counts;
}

Result<Duration> clock_difference(Session& session) {
  wire::Request ask;
  ask.mutable_query_nodes();
  const Time before = now_on(CLOCK_REALTIME);
  MR_TRY(const wire::Reply reply, ask_all(session, ask));
  const Time after = now_on(CLOCK_REALTIME);
  if (reply.nodes().now_us() == 0) return fail(Errc::not_found, "the controller does not tell its time");
  return Duration{reply.nodes().now_us() - (before.value + after.value) / 2};
}

Result<EndedJobs> end_running_jobs(const Configuration& configuration, Duration patience) {
  Session session{session_options(configuration, seconds(2))};
  MR_TRY_VOID(close_partitions(session));
  EndedJobs ended;
  std::set<std::uint32_t> seen;
  const Time until = now_on(CLOCK_MONOTONIC) + patience;
  for (;;) {
    MR_TRY(const Queue queue, read_queue(session));
    seen.insert(queue.active.begin(), queue.active.end());
    ended.cancelled = static_cast<std::uint32_t>(seen.size());
    ended.pending = queue.pending;
    if (queue.active.empty()) return ended;
    if (now_on(CLOCK_MONOTONIC) > until)
      return fail(Errc::unavailable, std::to_string(queue.active.size()) + " jobs have not ended in time");
    // Again and again: a placement that was decided before the partitions closed may start one more.
    if (queue.running > 0) MR_TRY_VOID(cancel_running(session));
    poll(nullptr, 0, 50);
  }
}

}  // namespace millrace
