// src/core/planner/suggest.cpp - see suggest.h.
#include "core/planner/suggest.h"

#include <algorithm>
#include <functional>

#include "core/ledger/apply.h"
#include "core/ledger/obstacle.h"

namespace millrace {
namespace {

constexpr std::size_t shown_most = 3, partitions_most = 20;
constexpr std::uint32_t a_year_of_minutes = 365 * 24 * 60;

class Suggesting {
 public:
  Suggesting(const State& state, const PlannerSettings& settings, const Job& job, Time now, const Trial& as_is,
             Memo& memo)
      : state_(state), settings_(settings), job_(job), now_(now), as_is_(as_is), memo_(memo) {}

  void shorter() {
    const std::uint32_t limit = std::min(job_.time_limit_minutes, a_year_of_minutes);
    const std::uint32_t least = std::max(job_.spec->resource_request().time_min_minutes, 1u);
    largest(least, limit, [](std::uint32_t minutes_left) {
      JobModified change;
      change.time_limit_minutes = minutes_left;
      return Change{std::move(change), "with a time limit of up to " + span_words(minutes(minutes_left))};
    });
  }

  // Fewer nodes, and tasks in proportion.
  void fewer_nodes() {
    const JobSpec& spec = *job_.spec;
    largest(1, std::max(spec.min_nodes, 1u), [&](std::uint32_t nodes) {
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

  void fewer_tasks() {
    if (job_.spec->min_nodes > 1) return;
    largest(1, job_.spec->tasks, [](std::uint32_t tasks) {
      JobModified change;
      change.tasks = tasks;
      return Change{std::move(change), "with " + count_of(tasks, "task")};
    });
  }

  void elsewhere() {
    std::size_t tried = 0;
    for (std::uint32_t i = 0; i < state_.partitions->size() && tried < partitions_most; ++i) {
      const Partition& other = state_.partition(PartitionIndex{i});
      const bool open = other.configured && other.def.availability == Availability::up && !other.def.root_only &&
                        other.def.allow_groups.empty() && other.def.allow_accounts.empty() &&
                        other.def.allow_qos.empty() && other.def.deny_accounts.empty() && other.def.deny_qos.empty();
      if (!open || PartitionIndex{i} == job_.spec->partition) continue;
      ++tried;
      JobModified change;
      change.partition = PartitionIndex{i};
      if (const Trial found = with(change); is_better(found, as_is_))
        add({std::move(change), "in partition " + other.def.name}, found);
    }
  }

  std::vector<Suggestion> take() {
    std::ranges::stable_sort(found_, {}, &Suggestion::start);
    if (found_.size() > shown_most) found_.resize(shown_most);
    return std::move(found_);
  }

 private:
  struct Change {
    JobModified event;
    std::string words;
  };
  using Making = std::function<Change(std::uint32_t)>;

  static bool is_better(const Trial& found, const Trial& than) {
    return found.start.is_set() && (!than.start.is_set() || found.start < than.start);
  }

  Trial with(const JobModified& change) {
    State copy = state_;
    JobModified event = change;
    event.key = job_.key;
    event.at = now_;
    apply(copy, event);
    const Job& changed = copy.job(job_.key);
    if (!is_queueable(changed) || standing_obstacle(copy, changed, now_) != Reason::none) return {};
    return try_job(copy, settings_, job_.key, now_, &memo_);
  }

  // If the least helps: the most, below `all`, with which it starts as early.
  void largest(std::uint32_t least, std::uint32_t all, const Making& make) {
    if (least >= all) return;
    Trial best = with(make(least).event);
    if (!is_better(best, as_is_)) return;
    std::uint32_t low = least, high = all;  // low does, high does not
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      const Trial found = with(make(middle).event);
      const bool as_early = found.start.is_set() && found.start <= best.start && found.now == best.now;
      (as_early ? low : high) = middle;
      if (as_early) best = found;
    }
    add(make(low), best);
  }

  void add(Change change, const Trial& found) {
    change.event.key = job_.key;
    change.event.at = now_;
    found_.push_back({std::move(change.words), found.start, found.now, std::move(change.event)});
  }

  const State& state_;
  const PlannerSettings& settings_;
  const Job& job_;
  Time now_;
  const Trial& as_is_;
  Memo& memo_;
  std::vector<Suggestion> found_;
};

}  // namespace

std::string count_of(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string span_words(Duration span) {
  if (span > Duration{0} && span < minutes(1)) return count_of((span.value + 999'999) / 1'000'000, "second");
  const std::int64_t minutes = std::max<std::int64_t>((span.value + 59'999'999) / 60'000'000, 0);
  if (minutes < 120) return count_of(minutes, "minute");
  if (minutes < 48 * 60)
    return count_of(minutes / 60, "hour") + (minutes % 60 == 0 ? "" : " " + count_of(minutes % 60, "minute"));
  return count_of(minutes / (24 * 60), "day") +
         (minutes / 60 % 24 == 0 ? "" : " " + count_of(minutes / 60 % 24, "hour"));
}

std::vector<Suggestion> suggestions_for(const State& state, const PlannerSettings& settings, const Job& job, Time now,
                                        const Trial& as_is, Memo& memo) {
  Suggesting suggesting(state, settings, job, now, as_is, memo);
  suggesting.shorter();
  suggesting.fewer_nodes();
  suggesting.fewer_tasks();
  suggesting.elsewhere();
  return suggesting.take();
}

}  // namespace millrace
