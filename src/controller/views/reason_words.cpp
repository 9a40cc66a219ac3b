// src/controller/views/reason_words.cpp - see reason_words.h.
#include "controller/views/reason_words.h"

#include <algorithm>
#include <cstring>

#include "controller/views/views.h"

namespace millrace {
namespace {

// Of the nodes a job could have: how many are in order, and how many of those reservations keep from it while it would
// run.
struct Candidates {
  std::size_t usable = 0, in_maintenance = 0, reserved = 0;
};

Candidates count_candidates(const State& state, const Job& job, Time now) {
  const Time until = job.time_limit_minutes == unlimited ? Time{INT64_MAX} : now + minutes(job.time_limit_minutes);
  const std::vector<std::uint32_t>& required = job.spec->rare_request().required_nodes;
  std::vector<const Reservation*> maintenance, others;
  for (const auto& [id, reservation] : state.reservations) {
    if (!reservation->crosses(now, until, now) || lends_to(*reservation, *job.spec)) continue;
    (reservation->has(reserve_maint) ? maintenance : others).push_back(reservation.get());
  }
  Candidates out;
  const auto look_at = [&](std::uint32_t node) {
    if (!state.node(NodeIndex{node}).is_usable()) return;
    const auto holds = [&](const Reservation* one) { return std::ranges::binary_search(one->nodes, node); };
    ++out.usable;
    if (std::ranges::any_of(maintenance, holds))
      ++out.in_maintenance;
    else if (std::ranges::any_of(others, holds))
      ++out.reserved;
  };
  if (required.empty())
    for (const NodeIndex node : state.partition(job.spec->partition).nodes) look_at(node.value);
  else
    for (const std::uint32_t node : required) look_at(node);
  return out;
}

std::string unavailable_nodes(const State& state, const Job& job) {
  std::vector<std::uint32_t> gone;
  for (const std::uint32_t node : job.spec->rare_request().required_nodes)
    if (!state.node(NodeIndex{node}).is_usable()) gone.push_back(node);
  return gone.empty() ? "" : ", UnavailableNodes:" + hostlist_of(state, gone);
}

std::string signal_word(std::uint32_t signal) {
  return "RaisedSignal:" + std::to_string(signal) + "(" + strsignal(static_cast<int>(signal)) + ")";
}

}  // namespace

std::string reason_words(const State& state, const Job& job, Reason reason, Time now) {
  const std::string word = slurm_word(reason);
  if (reason == Reason::required_node_not_available) return word + unavailable_nodes(state, job);
  if (reason != Reason::resources || state.reservations.empty() || !job.spec->resource_request().reservation.empty())
    return word;
  const bool names_nodes = !job.spec->rare_request().required_nodes.empty();
  const Candidates found = count_candidates(state, job, now);
  const std::size_t least = names_nodes ? found.usable : std::max<std::size_t>(job.spec->min_nodes, 1);
  const std::string not_there = slurm_word(Reason::required_node_not_available);
  if (found.in_maintenance > 0 && found.usable - found.in_maintenance < least)
    return not_there + ", Reserved for maintenance";
  if (names_nodes && found.reserved > 0) return not_there + ", May be reserved for other job";
  return word;
}

std::string end_words(const Job& job) {
  if (job.state == JobState::ended && job.end_reason == Reason::raised_signal) return signal_word(job.exit_signal);
  const std::string word = slurm_word(job.end_reason);
  const bool told = job.end_reason == Reason::launch_failure && job.trouble && !job.trouble->words.empty();
  return told ? word + ", " + job.trouble->words : word;
}

std::string trouble_words(const State& state, const Job& job) {
  return "its last start, on " + state.node(job.trouble->node).def->name + ", failed" +
         (job.trouble->words.empty() ? "" : ": " + job.trouble->words);
}

}  // namespace millrace
