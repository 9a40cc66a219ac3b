// src/cli/squeue_filter.cpp - see squeue_filter.h.
#include "cli/squeue_filter.h"

#include <unistd.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/console.h"

namespace millrace {
namespace {

void fill(NameSet& set, const std::optional<std::string>& list) {
  if (!list) return;
  for (const std::string_view word : split(*list, ','))
    if (!trim(word).empty()) set.emplace(trim(word));
}

// Licences are asked for with a count: "matlab:2,fluent"; each name without it.
bool holds_licence(const NameSet& wanted, std::string_view licences) {
  for (std::string_view word : split(licences, ',')) {
    word = trim(word);
    if (wanted.contains(word.substr(0, word.find_first_of(":*=")))) return true;
  }
  return false;
}

}  // namespace

bool JobFilter::state_matches(const wire::JobView& job) const {
  if (all_states) return true;
  if (states.empty()) return !is_ended(job) || job.completing();
  return std::ranges::any_of(states, [&](StateFilter state) { return matches(state, job); });
}

bool JobFilter::node_matches(const wire::JobView& job) const {
  if (nodes.empty()) return true;
  const auto allocated = expand_hostlist(job.nodes());
  return allocated && std::ranges::any_of(*allocated, [&](const std::string& name) { return nodes.contains(name); });
}

// A waiting job may stand in several.
bool JobFilter::partition_matches(const wire::JobView& job) const {
  if (partitions.empty() || partitions.contains(job.partition())) return true;
  const auto words = split(job.partition(), ',');
  return std::ranges::any_of(words, [&](std::string_view word) { return partitions.contains(word); });
}

bool JobFilter::operator()(const wire::JobView& job, std::int64_t now_us) const {
  const auto in = [](const auto& set, const auto& value) { return set.empty() || set.contains(value); };
  if (!state_matches(job) || !in(users, job.uid()) || job.uid() == not_user || !partition_matches(job) ||
      !in(names, job.name()))
    return false;
  if (!in(accounts, job.account()) || !in(qos, job.qos()) || !node_matches(job)) return false;
  if (!licences.empty() && !holds_licence(licences, job.resources().licenses())) return false;
  if (!in(reservations, job.resources().reservation())) return false;
  if (!running_over_seconds && !running_under_seconds) return true;
  if (job.state() != wire::RUNNING && job.state() != wire::SUSPENDED) return false;
  const std::int64_t ran = run_seconds(job, now_us);
  return (!running_over_seconds || ran > *running_over_seconds) &&
         (!running_under_seconds || ran < *running_under_seconds);
}

Result<JobFilter> make_job_filter(const JobFilterWords& words) {
  JobFilter out;
  if (words.waiting_only) out.states.push_back(*parse_state("PD"));
  if (words.states) {
    for (const std::string_view word : split(*words.states, ',')) {
      if (trim(word).empty()) continue;
      if (equals_ignoring_case(trim(word), "all"))
        out.all_states = true;
      else if (const auto state = parse_state(trim(word)))
        out.states.push_back(*state);
      else
        return fail(Errc::refused, "Invalid job state specified: " + std::string{word} +
                                       "\nValid job states include: " + known_states());
    }
  }
  if (words.users) {
    for (const std::string_view word : split(*words.users, ',')) {
      const auto uid = parse_user(trim(word));
      out.users.insert(uid.value_or(UINT32_MAX));  // nobody has this number
      if (!uid) out.unknown_users.emplace_back(trim(word));
    }
  }
  if (words.me) out.users.insert(getuid());
  if (words.not_me) out.not_user = getuid();
  if (words.nodes) {
    auto names = expand_hostlist(*words.nodes);
    if (!names) return fail(Errc::refused, names.error().story);
    out.nodes.insert(names->begin(), names->end());
  }
  fill(out.partitions, words.partitions);
  fill(out.names, words.names);
  fill(out.accounts, words.accounts);
  fill(out.qos, words.qos);
  fill(out.licences, words.licences);
  fill(out.reservations, words.reservations);
  out.running_over_seconds = words.running_over_seconds;
  out.running_under_seconds = words.running_under_seconds;
  return out;
}

}  // namespace millrace
