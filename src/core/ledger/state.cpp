// src/core/ledger/state.cpp - questions about the state that several rooms ask.
#include "core/ledger/state.h"

#include <algorithm>

#include "base/text.h"

namespace millrace {

std::uint64_t name_bits(std::string_view name) {
  std::uint64_t bits = 0xcbf29ce484222325ULL;
  for (const char c : name) bits = (bits ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return bits;
}

std::optional<NodeIndex> State::find_node(std::string_view name) const {
  for (const auto& [index, node] : nodes)
    if (node->configured && node->def->name == name) return index;
  return std::nullopt;
}

std::optional<PartitionIndex> State::find_partition(std::string_view name) const {
  for (std::uint32_t i = 0; i < partitions->size(); ++i)
    if ((*partitions)[i].configured && (*partitions)[i].def.name == name) return PartitionIndex{i};
  return std::nullopt;
}

const AccountUser* State::find_account_user(std::string_view name) const {
  const auto at = std::ranges::lower_bound(*account_users, name, {}, &AccountUser::name);
  return at != account_users->end() && at->name == name ? &*at : nullptr;
}

const Reservation* State::find_reservation(std::string_view name) const {
  for (const auto& [id, reservation] : reservations)
    if (reservation->name == name) return reservation.get();
  return nullptr;
}

const Qos* State::find_qos(std::string_view name) const {
  if (name.empty()) return nullptr;
  for (const auto& [id, each] : qos)
    if (each->name == name) return each.get();
  return nullptr;
}

std::vector<std::optional<NodeIndex>> find_nodes(const State& state, std::span<const std::string> names) {
  std::vector<std::string_view> wanted{names.begin(), names.end()};
  wanted.erase(std::ranges::unique(wanted).begin(), wanted.end());  // most repeats are neighbours
  std::ranges::sort(wanted);
  wanted.erase(std::ranges::unique(wanted).begin(), wanted.end());
  std::vector<std::optional<NodeIndex>> found(wanted.size());
  std::size_t left = wanted.size();
  for (const auto& [index, node] : state.nodes) {
    if (left == 0) break;
    if (!node->configured) continue;
    const auto at = std::ranges::lower_bound(wanted, std::string_view{node->def->name});
    if (at == wanted.end() || *at != node->def->name) continue;
    auto& one = found[static_cast<std::size_t>(at - wanted.begin())];
    if (one) continue;
    one = index;
    --left;
  }
  std::vector<std::optional<NodeIndex>> out;
  out.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && names[i] == names[i - 1])
      out.push_back(out.back());
    else
      out.push_back(found[static_cast<std::size_t>(std::ranges::lower_bound(wanted, std::string_view{names[i]}) -
                                                   wanted.begin())]);
  }
  return out;
}

JobId next_job_id(const State& state, JobId after) {
  const Policy& policy = *state.policy;
  JobId id{after.value + 1};
  for (std::uint64_t tried = 0; tried <= state.by_id.size() + 1; ++tried) {
    if (id.value < policy.first_job_id || id.value > policy.max_job_id) id = JobId{policy.first_job_id};
    if (!state.by_id.contains(id)) return id;
    ++id.value;
  }
  // Admission keeps fewer jobs than there are numbers, but the site may have lowered MaxJobId since.
  id = JobId{policy.max_job_id};
  while (state.by_id.contains(id)) ++id.value;
  return id;
}

std::optional<JobId> next_job_ids(const State& state, JobId after, std::uint32_t count) {
  JobId first = next_job_id(state, after);
  for (std::size_t tried = 0; tried < state.by_id.size() + 2; ++tried) {
    std::uint32_t free = 1;
    while (free < count && first.value + free <= state.policy->max_job_id &&
           !state.by_id.contains(JobId{first.value + free}))
      ++free;
    if (free == count) return first;
    first = next_job_id(state, JobId{first.value + free - 1});
  }
  return std::nullopt;
}

JobKey leader_of(const Job& job) { return job.het ? job.het->leader : job.key; }

std::vector<JobKey> whole_of(const Job& job) {
  if (!job.het) return {job.key};
  std::vector<JobKey> out;
  for (std::uint32_t i = 0; i < job.het->size; ++i) out.push_back(JobKey{job.het->leader.value + i});
  return out;
}

bool whole_has_ended(const State& state, const Job& job) {
  for (const JobKey key : whole_of(job))
    if (const Job* each = state.find_job(key); each && each->state != JobState::ended) return false;
  return true;
}

Time forget_time(const State& state, const Job& job) {
  if (job.is_component() || !whole_has_ended(state, job)) return never;
  Time last = job.ended_at;
  for (const JobKey key : whole_of(job))
    if (const Job* each = state.find_job(key)) last = std::max(last, each->ended_at);
  return last + seconds(state.policy->min_job_age_seconds);
}

Time limit_end(const Job& job) {
  if (job.time_limit_minutes == unlimited || job.state == JobState::suspended || job.boots) return never;
  return job.ran_from() + minutes(job.time_limit_minutes);
}

Time kill_time(const Job& job) {
  const Time end = limit_end(job);
  return end == never || job.over_time_minutes == over_time_for_ever ? never : end + minutes(job.over_time_minutes);
}

std::uint16_t over_time_of(const State& state, PartitionIndex partition) {
  const std::uint32_t allowed =
      state.partition(partition).def.over_time_minutes.value_or(state.policy->over_time_minutes);
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(allowed, over_time_for_ever));
}

QueueKey queue_key(const State& state, const Job& job) {
  const std::uint32_t tier = state.partition(job.spec->partition).def.priority_tier;
  return {unlimited - tier, unlimited - job.priority, job.key};
}

bool is_queueable(const Job& job) {
  return job.state == JobState::pending && job.hold == Hold::none && job.eligible_at.is_set() && !job.is_component();
}

Time latest_start(const Job& job) {
  if (!job.spec->resources || !job.spec->resources->deadline.is_set()) return never;
  const std::uint32_t shortest =
      job.spec->resources->time_min_minutes > 0 ? job.spec->resources->time_min_minutes : job.time_limit_minutes;
  return job.spec->resources->deadline - minutes(shortest == unlimited ? 0 : shortest) + microseconds(1);
}

}  // namespace millrace
