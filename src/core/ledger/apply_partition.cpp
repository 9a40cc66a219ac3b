// src/core/ledger/apply_partition.cpp - see apply_partition.h.
#include "core/ledger/apply_partition.h"

#include <algorithm>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_job.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/apply_suspend.h"

namespace millrace {
namespace {

const std::string& name_of(const Partition& partition) { return partition.def.name; }

// Whether two readings of the configuration say the same. Which nodes "all" are and which number a group has is nothing
// the line says.
bool same_line(PartitionDef one, PartitionDef other) {
  if (one.all_nodes && other.all_nodes) one.nodes = other.nodes;
  one.allow_gids = other.allow_gids;
  return one == other;
}

bool stays(const Partition& partition, const PartitionDef& written, KeepPartitions keep) {
  if (!partition.changed) return false;
  if (keep == KeepPartitions::all) return partition.configured;  // what was deleted comes back
  return keep == KeepPartitions::not_rewritten && partition.written && same_line(*partition.written, written);
}

// The changes stay; what they did not touch and what is found out anew follows the configuration.
void keep_changes(Partition& partition, const PartitionDef& written) {
  if (partition.written && partition.def.nodes == partition.written->nodes) partition.def.nodes = written.nodes;
  if (partition.def.allow_groups == written.allow_groups) partition.def.allow_gids = written.allow_gids;
  partition.written = written;
  partition.def.availability = partition.afterwards.value_or(partition.def.availability);
  partition.afterwards.reset();
}

void follow(Partition& partition, const PartitionDef& written, bool keep_state) {
  const Availability before = partition.def.availability;
  partition.def = written;
  if (keep_state) partition.def.availability = before;
  partition.configured = true;
  partition.changed = false;
  partition.written.reset();
  partition.afterwards.reset();
}

// One that the configuration does not name (any more).
void follow_silence(Partition& partition, KeepPartitions keep) {
  const bool made = partition.changed && !partition.written;
  const bool stays =
      partition.configured && (keep == KeepPartitions::all || (keep == KeepPartitions::not_rewritten && made));
  partition.configured = partition.changed = stays;
  partition.written.reset();
  partition.def.availability = partition.afterwards.value_or(partition.def.availability);
  partition.afterwards.reset();
}

// What it is until now is what the configuration says, unless scontrol was there before.
void begin_change(Partition& partition) {
  if (partition.configured && !partition.changed) partition.written = partition.def;
  partition.changed = true;
}

}  // namespace

void configure_partitions(State& state, const ClusterConfigured& e) {
  std::vector<Partition>& partitions = state.partitions.edit();
  std::vector<bool> named(partitions.size());
  for (const PartitionDef& def : e.partitions) {
    auto it = std::ranges::find(partitions, def.name, name_of);
    const bool known = it != partitions.end();
    if (!known)
      it = partitions.insert(partitions.end(), Partition{});
    else
      named[static_cast<std::size_t>(it - partitions.begin())] = true;
    if (known && stays(*it, def, e.keep))
      keep_changes(*it, def);
    else
      follow(*it, def, known && it->configured && e.keep == KeepPartitions::states);
  }
  for (std::size_t i = 0; i < named.size(); ++i)
    if (!named[i]) follow_silence(partitions[i], e.keep);
  // There is one default; one that scontrol made it goes before what the configuration says.
  const auto is_default = [](const Partition& p) { return p.configured && p.def.is_default; };
  if (std::ranges::any_of(partitions, [&](const Partition& p) { return p.changed && is_default(p); }))
    for (Partition& partition : partitions)
      if (!partition.changed) partition.def.is_default = false;
}

void change_partition(State& state, const PartitionChanged& e) {
  settle_all(state, e.at);
  std::vector<Partition>& partitions = state.partitions.edit();
  for (Partition& other : partitions) {
    if (!e.def.is_default || !other.configured || !other.def.is_default || other.def.name == e.def.name) continue;
    begin_change(other);
    other.def.is_default = false;
  }
  auto it = std::ranges::find(partitions, e.def.name, name_of);
  if (it == partitions.end()) {
    it = partitions.insert(partitions.end(), Partition{});
    it->configured = false;
  }
  begin_change(*it);
  it->def = e.def;
  it->configured = true;
  it->afterwards.reset();
  fill_partitions(state);
  sort_queue(state);
  renew_over_times(state);
  turns_may_begin(state, e.at);
  recount(state, e.at);
}

void delete_partition(State& state, const PartitionDeleted& e) {
  settle_all(state, e.at);
  Partition& partition = state.partitions.edit().at(e.partition.value);
  begin_change(partition);
  partition.configured = false;
  partition.changed = partition.written.has_value();  // of one that scontrol made nothing is left to say
  partition.nodes.clear();
  recount(state, e.at);
}

void renew_over_times(State& state) {
  std::vector<JobKey> running;
  for (const auto& [key, nothing] : state.active)
    if (const Job& job = state.job(key);
        job.state != JobState::completing && job.over_time_minutes != over_time_of(state, job.spec->partition))
      running.push_back(key);
  for (const JobKey key : running) {
    Job& job = state.edit_job(key);
    clear_deadline(state, kill_time(job), key, DeadlineKind::time_limit);
    job.over_time_minutes = over_time_of(state, job.spec->partition);
    if (job.state == JobState::running && kill_time(job) != never)
      state.deadlines.set({kill_time(job), key, DeadlineKind::time_limit}, {});
  }
}

void sort_queue(State& state) {
  std::vector<JobKey> waiting;
  for (const auto& [place, nothing] : state.queue) waiting.push_back(place.key);
  state.queue = {};
  for (const JobKey key : waiting) state.queue.set(queue_key(state, state.job(key)), {});
}

}  // namespace millrace
