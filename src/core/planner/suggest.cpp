// src/core/planner/suggest.cpp - see suggest.h.
#include "core/planner/suggest.h"

#include <algorithm>

#include "core/ledger/apply.h"
#include "core/ledger/obstacle.h"

namespace millrace {
namespace {

constexpr std::size_t shown_most = 3, partitions_most = 20;
constexpr std::uint32_t a_year_of_minutes = 365 * 24 * 60;

bool is_better(const Trial& found, const Trial& than) {
  return found.start.is_set() && (!than.start.is_set() || found.start < than.start);
}

// To whoever may use it: nobody is led to where he is refused.
bool is_open(const Partition& partition) {
  const PartitionDef& def = partition.def;
  return partition.configured && def.availability == Availability::up && !def.root_only && def.allow_groups.empty() &&
         def.allow_accounts.empty() && def.allow_qos.empty() && def.deny_accounts.empty() && def.deny_qos.empty();
}

}  // namespace

std::string count_of(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string span_words(Duration span) {
  if (span > Duration{0} && span < minutes(1)) return count_of((span.value + 999'999) / 1'000'000, "second");
  const std::int64_t minutes = std::max<std::int64_t>((span + Duration{59'999'999}).value / 60'000'000, 0);
  if (minutes < 120) return count_of(minutes, "minute");
  if (minutes < 48 * 60)
    return count_of(minutes / 60, "hour") + (minutes % 60 == 0 ? "" : " " + count_of(minutes % 60, "minute"));
  return count_of(minutes / (24 * 60), "day") +
         (minutes / 60 % 24 == 0 ? "" : " " + count_of(minutes / 60 % 24, "hour"));
}

void Suggesting::shorter() {
  const std::uint32_t limit = std::min(job_.time_limit_minutes, a_year_of_minutes);
  const std::uint32_t least = std::max(job_.spec->resource_request().time_min_minutes, 1u);
  largest(least, limit, [](std::uint32_t minutes_left) {
    JobModified change;
    change.time_limit_minutes = minutes_left;
    return Change{std::move(change), "with a time limit of up to " + span_words(minutes(minutes_left))};
  });
}

void Suggesting::fewer_nodes() {
  const JobSpec& spec = *job_.spec;
  largest(1, std::max(spec.min_nodes, 1u), [&spec](std::uint32_t nodes) {
    JobModified change;
    change.min_nodes = change.max_nodes = nodes;
    if (!spec.resource_request().node_counts.empty()) {
      change.resources = spec.resource_request();
      change.resources->node_counts = {};
    }
    change.tasks = std::max<std::uint32_t>(
        static_cast<std::uint32_t>(std::uint64_t{spec.tasks} * nodes / std::max(spec.min_nodes, 1u)), nodes);
    std::string words = "on " + count_of(nodes, "node") + " with " + count_of(*change.tasks, "task");
    return Change{std::move(change), std::move(words)};
  });
}

void Suggesting::fewer_tasks() {
  if (job_.spec->min_nodes > 1) return;
  largest(1, job_.spec->tasks, [](std::uint32_t tasks) {
    JobModified change;
    change.tasks = tasks;
    return Change{std::move(change), "with " + count_of(tasks, "task")};
  });
}

void Suggesting::elsewhere_from(std::uint32_t partition, std::size_t tried) {
  while (partition < state_.partitions->size() &&
         (PartitionIndex{partition} == job_.spec->partition || !is_open(state_.partition(PartitionIndex{partition}))))
    ++partition;
  if (partition >= state_.partitions->size() || tried >= partitions_most) return;
  JobModified change;
  change.partition = PartitionIndex{partition};
  with(change, [this, change, partition, tried](const Trial& found) {
    if (is_better(found, as_is_))
      add({change, "in partition " + state_.partition(PartitionIndex{partition}).def.name}, found);
    elsewhere_from(partition + 1, tried + 1);
  });
}

std::vector<Suggestion> Suggesting::take() {
  std::ranges::stable_sort(found_, {}, &Suggestion::start);
  if (found_.size() > shown_most) found_.resize(shown_most);
  return std::move(found_);
}

void Suggesting::with(const JobModified& change, Trials::Then then) {
  State copy = state_;
  JobModified event = change;
  event.key = job_.key;
  event.at = now_;
  apply(copy, event);
  const Job& changed = copy.job(job_.key);
  if (!is_queueable(changed) || standing_obstacle(copy, changed, now_) != Reason::none) return then({});
  trials_.ask(copy, job_.key, &memo_, std::move(then));
}

// If the least helps: the most, below `all`, with which it starts as early.
void Suggesting::largest(std::uint32_t least, std::uint32_t all, Making make) {
  if (least >= all) return;
  const auto search = std::make_shared<Search>(Search{std::move(make), least, all});
  with(search->make(least).event, [this, search](const Trial& found) {
    if (!is_better(found, as_is_)) return;
    search->best = found;
    halve(search);
  });
}

void Suggesting::halve(const std::shared_ptr<Search>& search) {
  if (search->high - search->low <= 1) return add(search->make(search->low), search->best);
  const std::uint32_t middle = search->low + (search->high - search->low) / 2;
  with(search->make(middle).event, [this, search, middle](const Trial& found) {
    const Trial& best = search->best;
    const bool as_early = found.start.is_set() && found.start <= best.start && found.now == best.now;
    (as_early ? search->low : search->high) = middle;
    if (as_early) search->best = found;
    halve(search);
  });
}

void Suggesting::add(Change change, const Trial& found) {
  change.event.key = job_.key;
  change.event.at = now_;
  found_.push_back({std::move(change.words), found.start, found.now, std::move(change.event)});
}

}  // namespace millrace
