// src/core/planner/pass.cpp - see pass.h.
#include "core/planner/pass.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/ledger/apply_account.h"
#include "core/ledger/licences.h"
#include "core/ledger/obstacle.h"
#include "core/ledger/preempt_rule.h"

namespace millrace {

constexpr std::uint32_t switches_wait_default =
    300;  // seconds a job waits for its switches at most, where it does not say

Pass::Pass(State snapshot, PlannerSettings settings, Time now, Memo* memo)
    : snapshot_(std::move(snapshot)), settings_(std::move(settings)), memo_(memo ? memo : &own_memo_) {
  plan_.based_on = snapshot_.version;
  plan_.made_at = now;
  plan_.next_key = snapshot_.next_key;
}

void Pass::begin() {
  begun_ = true;
  memo_->update(snapshot_, settings_, plan_.made_at);
  plan_.largest_nodes = memo_->largest_nodes();
  claims_digest_ = memo_->timeline().windows_digest();
  preempts_ = memo_->state().policy->preempt_type != PreemptType::none;
  any_sharing_ = std::ranges::any_of(*memo_->state().partitions,
                                     [](const Partition& each) { return each.def.sharing != CpuSharing::no; });
  blocked_.assign(memo_->state().partitions->size(), 0);
  count_promises();
  limits_.emplace(memo_->state(), plan_.made_at);
  limited_kinds_.assign(memo_->kinds(), 0);
  const std::vector<QueueEntry>& queue = memo_->queue();
  if (settings_.promises && settings_.backfill == Backfill::conservative) lay_promises();
  if (!settings_.pinned) return;
  ordered_ = true;
  order_.resize(queue.size());
  std::iota(order_.begin(), order_.end(), 0u);
  const auto head =
      std::ranges::find(queue, settings_.pinned->key, [](const QueueEntry& entry) { return entry.job->key; });
  if (head == queue.end()) return;
  const auto at = order_.begin() + (head - queue.begin());
  std::rotate(order_.begin(), at, at + 1);
}

// Once someone is blocked, the others may come in an order of their own.
void Pass::sort_the_rest() {
  const std::vector<QueueEntry>& queue = memo_->queue();
  if (!ordered_) {
    order_.resize(queue.size());
    std::iota(order_.begin(), order_.end(), 0u);
    ordered_ = true;
  }
  if (settings_.backfill == Backfill::guarded) return guard_the_old();
  const auto rest = order_.begin() + static_cast<std::ptrdiff_t>(std::min(next_ + 1, order_.size()));
  if (settings_.backfill == Backfill::shortest_first)
    std::stable_sort(rest, order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return queue[a].span < queue[b].span; });
  else if (settings_.backfill == Backfill::strict)
    std::stable_sort(rest, order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair{queue[a].job->submitted_at, queue[a].job->key} <
             std::pair{queue[b].job->submitted_at, queue[b].job->key};
    });
}

// Behind the head the first few who have waited long come next in their tier, with promised starts of their own; so do
// the heads of partitions that are not blocked yet.
void Pass::guard_the_old() {
  const std::vector<QueueEntry>& queue = memo_->queue();
  std::size_t place = std::min(next_ + 1, order_.size());
  const std::vector<std::uint32_t> rest(order_.begin() + static_cast<std::ptrdiff_t>(place), order_.end());
  std::vector<std::uint32_t> promised(blocked_.begin(), blocked_.end()), first, others;
  guarded_.assign(order_.size(), 0);
  const auto end_tier = [&] {
    for (const std::uint32_t at : first) {
      guarded_[place] = 1;
      order_[place++] = at;
    }
    for (const std::uint32_t at : others) order_[place++] = at;
    first.clear();
    others.clear();
  };
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const QueueEntry& entry = queue[rest[i]];
    if (i > 0 && entry.tier_below_max != queue[rest[i - 1]].tier_below_max) end_tier();
    std::uint32_t& count = promised[entry.partition.value];
    const bool old = plan_.made_at - waits_since(*entry.job) >= seconds(GuardedRules::old_seconds);
    const bool wanted = (count == 0 || (old && count < GuardedRules::promised_starts)) && !has_obstacle(entry);
    count += wanted ? 1 : 0;
    (wanted ? first : others).push_back(rest[i]);
  }
  end_tier();
}

bool Pass::advance(std::int64_t steps_more) {
  if (!begun_) begin();
  const std::vector<QueueEntry>& queue = memo_->queue();
  const std::int64_t until = steps() + steps_more;
  bool finished = false;
  while (!finished && steps() < until) {
    // Nobody needs less than one CPU; who has a promised start has been planned, the rest waits behind them.
    const bool nothing_free = !preempts_ && !any_sharing_ && !memo_->timeline().anything_free() &&
                              !memo_->timeline().has_windows() && anyone_blocked_ && settings_.watched.value == 0;
    if (nothing_free && !count_.all_given()) pass_over();
    if (next_ >= queue.size() || watched_done_ || (nothing_free && count_.all_given())) {
      finished = true;
      break;
    }
    const QueueEntry& entry = at_place(next_);
    const Tried tried = try_entry(entry);
    const bool was_first = tried == Tried::blocked && !anyone_blocked_ && blocked_[entry.partition.value];
    if (was_first) {
      anyone_blocked_ = true;
      const bool in_order = settings_.backfill == Backfill::none || settings_.backfill == Backfill::easy ||
                            settings_.backfill == Backfill::conservative;
      if (!in_order) sort_the_rest();
    }
    // An array's rest stays at the front as long as its tasks find room.
    if (tried != Tried::placed || !entry.job->is_array_rest()) end_place(entry);
  }
  plan_.steps = steps();
  return finished;
}

Shape& Pass::shape_at(std::uint32_t index) {
  Shape& shape = memo_->shapes().at(index);
  // What failed once fails again in a pass, unless promises are given up on the way.
  if (shape.pass != memo_->pass() || settings_.promises) {
    shape.pass = memo_->pass();
    shape.cursor = 0;
    shape.searched = shape.hopeless = Duration{INT64_MAX};
  }
  return shape;
}

// The last try failed in the face of the same promises, with a job no longer than this one.
bool Pass::failed_alike(const QueueEntry& entry, const Shape& shape) const {
  if (shape.alone) return false;
  return !settings_.promises && entry.span >= shape.failed_span &&
         (shape.failed_behind == 0 || shape.failed_behind == claims_digest_);
}

// What failed before fails again while nothing came free that it could use, and the promises it ran into still stand. A
// later start reaches further into them, never less far.
bool Pass::known_to_fail(const QueueEntry& entry) {
  if (settings_.promises) return false;  // each job gives up its own on the way, so more may come free within the pass
  Duration& failed = memo_->shapes().failed(entry.shape);
  if (entry.span >= failed) return true;
  const Shape& shape = memo_->shapes().at(entry.shape);
  if (!failed_alike(entry, shape)) return false;
  const std::size_t useful = memo_->timeline().useful_since(shape, shape.failed_at);
  const bool too_few =
      shape.failed_behind == 0 && useful < shape.nodes_least && shape.failed_found < shape.nodes_least - useful;
  if (useful > 0 && !too_few) return false;
  failed = shape.failed_span;
  return true;
}

std::uint32_t Pass::started_tasks(JobKey array) const {
  if (array.value == 0) return 0;
  const auto it = started_tasks_.find(array);
  return it == started_tasks_.end() ? 0 : it->second;
}

bool Pass::is_settled(const Job& job) const {
  if (job.is_array_rest()) return started_tasks(job.array) >= memo_->state().arrays.at(job.array)->rest.size();
  return placed_.contains(job.key);
}

bool Pass::lacks_licences(const QueueEntry& entry) {
  const ResourceRequest& ask = entry.job->spec->resource_request();
  if (ask.licences.empty()) return false;
  if (!licences_) licences_ = licences_free(memo_->state());
  return !licences_for(ask, entry.span, *licences_);
}

std::optional<std::vector<LicenceAsk>> Pass::licences_for(const ResourceRequest& ask, Duration span,
                                                          std::vector<LicenceAsk> free) const {
  if (!memo_->state().reservations.empty())
    subtract(free, licences_kept_from(memo_->state(), ask.reservation, plan_.made_at, plus(plan_.made_at, span)));
  return choose_licences(ask, free);
}

bool Pass::has_obstacle(const QueueEntry& entry) const {
  return standing_obstacle(memo_->state(), *entry.job, plan_.made_at, started_tasks(entry.job->array),
                           entry.partition) != Reason::none;
}

// A limit keeps it back, however much is free; it keeps nobody else waiting.
bool Pass::is_limited(const QueueEntry& entry) {
  if (limits_->is_idle()) return false;
  if (limited_kinds_[entry.kind]) return true;
  const Job job = in_partition(memo_->state(), *entry.job, entry.partition);
  const LimitedKind kind{limits_->group_of(job), entry.shape, job.time_limit_minutes};
  if (limited_.contains(kind)) {
    limited_kinds_[entry.kind] = 1;
    return true;
  }
  if (limits_->blocks(job, requested_size(memo_->state(), job)) == Reason::none) return false;
  limited_.insert(kind);
  limited_kinds_[entry.kind] = 1;
  return true;
}

// Whole nodes may be more than was asked for, so what was found is looked at once more.
bool Pass::take_limits(const QueueEntry& entry, const std::vector<NodeShare>& shares) {
  if (limits_->is_idle()) return true;
  const Job job = in_partition(memo_->state(), *entry.job, entry.partition);
  const JobSize size = placed_size(memo_->state(), job, shares);
  if (limits_->blocks(job, size) != Reason::none) {
    limited_.insert({limits_->group_of(job), entry.shape, job.time_limit_minutes});
    return false;
  }
  limits_->take(job, size);
  return true;
}

Pass::Tried Pass::try_in_window(const QueueEntry& listed) {
  QueueEntry entry = listed;
  entry.in_window = false;
  entry.span = span_within(memo_->shapes().at(entry.shape), plan_.made_at, entry.span);
  return entry.span > Duration{0} ? try_entry(entry) : Tried::skipped;
}

Pass::Tried Pass::try_entry(const QueueEntry& entry) {
  if (entry.in_window) return try_in_window(entry);
  ++tried_;
  // The long way down a deep queue looks at nothing but the entry itself.
  if (limited_kinds_[entry.kind] && entry.score.key != settings_.watched) return Tried::skipped;
  const bool more_cpus = sees_more_cpus(entry);
  const bool fails = !more_cpus && known_to_fail(entry);
  if (fails && !may_claim(entry) && !preempts_ && !entry.shortens) return Tried::blocked;
  const Job& job = *entry.job;
  if (!plan_.placements.empty() && is_settled(job)) return Tried::skipped;
  if (job.het) return try_parts(entry, fails);
  const bool behind = blocked_[entry.partition.value] != 0;
  const bool watched = job.key == settings_.watched;
  const bool in_line = behind && settings_.backfill == Backfill::none;  // and it does not overtake
  if (in_line && !watched) return Tried::blocked;
  if (behind && settings_.backfill == Backfill::strict && plus(plan_.made_at, entry.span) >= shadow_ && !watched)
    return Tried::blocked;
  if (!promises_.empty() && keep_promise(entry)) return Tried::blocked;
  if (has_obstacle(entry) || is_limited(entry) || lacks_licences(entry)) return Tried::skipped;
  Shape& shape = shape_of(entry);
  ask_for(job, entry.partition, shape);
  // Nodes kept for a reservation are there for its jobs, and for them alone.
  const bool opens = shape.reservation.value != 0 && entry.span <= shape.opens_for;
  if (opens) memo_->timeline().open_window(shape.reservation, true);
  if (opens && shape.opens_for.value != INT64_MAX)
    shape.cursor = 0;  // a longer one of this shape was tried where these nodes are closed
  const bool in_time = plus(plan_.made_at, entry.span) <= shape.window_end;
  bool placed =
      !in_line && ((!fails && in_time && start_now(entry, shape)) || (entry.shortens && start_shorter(entry, shape)));
  const bool limited = !placed && !limited_.empty() && is_limited(entry);
  placed = placed || (!in_line && !limited && preempts_ && suspend_others(entry, shape));
  if (!placed && !limited && (in_line || !preempt(entry, shape)) && may_claim(entry)) block(entry, shape);
  if (opens) memo_->timeline().open_window(shape.reservation, false);
  if (placed || limited) return placed ? Tried::placed : Tried::skipped;
  if (watched && job.spec->resource_request().more_partitions.empty()) watched_done_ = true;
  return Tried::blocked;
}

void Pass::ask_for(const Job& job, PartitionIndex where, Shape& shape) {
  if (shape.wishes.switches > 0) {
    const std::uint32_t wait = job.spec->resource_request().switches_wait_seconds;
    shape.any_switches = plan_.made_at >= job.eligible_at + seconds(wait > 0 ? wait : switches_wait_default);
  }
  memo_->timeline().set_asker(job, where);
}

bool Pass::start_shorter(const QueueEntry& entry, Shape& shape) {
  const std::uint32_t least = entry.job->spec->resource_request().time_min_minutes;
  const auto fits = [&](std::uint32_t limit) {
    bool ignored = false;
    return plus(plan_.made_at, minutes(limit)) <= shape.window_end &&
           memo_->timeline().fit(shape, plan_.made_at, minutes(limit), true, ignored).has_value();
  };
  std::uint32_t low = least, high = static_cast<std::uint32_t>(
                                 std::min<std::int64_t>(entry.span.value / minutes(1).value, unlimited - 1));
  if (settings_.use_expected || low >= high || !fits(low)) return false;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  QueueEntry shorter = entry;
  shorter.span = minutes(low);
  if (!start_now(shorter, shape)) return false;
  plan_.placements.back().limit_minutes = low;
  return true;
}

// -N 2-5: as many of them as are free now and as limits allow, or as a list of sizes has (--use-min-nodes: not that).
void Pass::grow(const QueueEntry& entry, const Shape& shape, std::vector<NodeShare>& shares) {
  const JobSpec& spec = *shape.spec;
  const ResourceRequest& ask = spec.resource_request();
  if (spec.max_nodes <= spec.min_nodes || ask.use_min_nodes ||
      std::ranges::any_of(ask.gres, [](const GresAsk& gres) { return gres.scope == GresScope::job; }))
    return;
  std::vector<std::uint32_t> sizes;  // that it might have instead
  const Partition& partition = memo_->state().partition(entry.partition);
  const std::size_t there = shape.own_nodes ? shape.nodes.size() : partition.nodes.size();
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(
      {spec.max_nodes, partition.def.max_nodes, there, spec.tasks_asked ? spec.tasks : unlimited}));
  for (auto size = static_cast<std::uint32_t>(shares.size()) + 1; size <= most; ++size)
    if (ask.node_counts.empty() || ask.node_counts.contains(size)) sizes.push_back(size);
  const Job job = in_partition(memo_->state(), *entry.job, entry.partition);
  std::size_t low = 0, high = sizes.size();  // the first `low` fit
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    Shape wide = wider(memo_->state(), memo_->timeline().classes(), shape, sizes[middle]);
    bool ignored = false;
    auto more = memo_->timeline().fit(wide, plan_.made_at, entry.span, true, ignored);
    const bool fits =
        more && (ask.node_counts.empty() || ask.node_counts.contains(static_cast<std::uint32_t>(more->size()))) &&
        (limits_->is_idle() || limits_->blocks(job, placed_size(memo_->state(), job, *more)) == Reason::none);
    if (fits) shares = *std::move(more);
    (fits ? low : high) = fits ? middle + 1 : middle;
  }
}

bool Pass::start_now(const QueueEntry& entry, Shape& shape) {
  const Time now = plan_.made_at;
  bool by_claims = false;
  Timeline& timeline = memo_->timeline();
  if (sees_more_cpus(entry)) {
    const Kind kind{entry.shape, entry.job->qos.value};
    const auto failed = failed_by_rows_.find(kind);
    if (failed != failed_by_rows_.end() && entry.span >= failed->second) return false;
    auto shares = fit_by_rows(entry, shape, {suspended_.begin(), suspended_.end()});
    // Amounts only shrink while a pass runs, unless promises are given up on the way.
    if (!shares && !shape.alone && !settings_.promises) failed_by_rows_[kind] = entry.span;
    if (!shares || !take_limits(entry, *shares)) return false;
    note_start_by_rows(entry, shape, *std::move(shares));
    return true;
  }
  const bool again = failed_alike(entry, shape);
  auto shares = again ? timeline.fit_since(shape.failed_at, shape, now, entry.span, by_claims)
                      : timeline.fit(shape, now, entry.span, true, by_claims);
  if (!shares && (settings_.promises || timeline.refused_an_owner())) return false;
  if (!shares) {
    // Where only a part was looked at, what stood in the way of the rest still does.
    by_claims = by_claims || (again && shape.failed_behind != 0);
    shape.failed_span = by_claims ? entry.span : Duration{0};
    shape.failed_at = timeline.improvements();
    shape.failed_behind = by_claims ? claims_digest_ : 0;
    shape.failed_found = again && shape.single ? SIZE_MAX : timeline.found();
    if (!shape.alone) memo_->shapes().failed(entry.shape) = shape.failed_span;
    return false;
  }
  grow(entry, shape, *shares);
  if (!take_limits(entry, *shares)) return false;
  note_start(entry, shape, *std::move(shares));
  return true;
}

void Pass::note_start(const QueueEntry& entry, const Shape& shape, std::vector<NodeShare> shares) {
  const Job& job = *entry.job;
  const Time until = plus(plan_.made_at, entry.span);
  memo_->timeline().place(shape, shares, until);
  memo_->timeline().expect(job.key, until);
  if (licences_)
    if (const auto taken = licences_for(job.spec->resource_request(), entry.span, *licences_))
      subtract(*licences_, *taken);
  if (job.key == settings_.watched) watched_done_ = true;
  if (job.array.value != 0) ++started_tasks_[job.array];
  if (!job.is_array_rest()) placed_.insert(job.key);
  plan_.placements.push_back({job.key, job.attempt, std::move(shares), anyone_blocked_, entry.partition, 0});
  if (settings_.order == OrderPolicy::priority)
    plan_.placements.back().priority = static_cast<std::uint32_t>(-to_integer(entry.score.value));
}

bool Pass::sees_more_cpus(const QueueEntry& entry) {
  const State& state = memo_->state();
  if (any_sharing_ && rows_of(state, *entry.job, entry.partition) > 1) return true;
  if (!preempts_ || (state.suspended.empty() && suspended_.empty())) return false;
  const auto [known, fresh] = claims_give_way_.try_emplace({entry.shape, entry.job->qos.value}, false);
  if (!fresh) return known->second;
  const auto gives = [&](JobKey key) { return gives_way(state, state.job(key), *entry.job, entry.partition); };
  tried_ += static_cast<std::int64_t>(state.suspended.size() + suspended_.size());
  for (const auto& [key, nothing] : state.suspended)
    known->second = known->second || (state.job(key).suspension->wants_cpus && gives(key));
  for (const JobKey key : suspended_) known->second = known->second || gives(key);
  return known->second;
}

bool Pass::fits_in_open_cpus(const QueueEntry& entry, Shape& shape) {
  bool ignored = false;
  const std::size_t cursor = std::exchange(shape.cursor, 0);  // counted with less
  const bool fits = memo_->timeline().fit(shape, plan_.made_at, entry.span, true, ignored).has_value();
  shape.cursor = cursor;
  return fits;
}

// Free CPUs first, then those with as few others as possible.
std::optional<std::vector<NodeShare>> Pass::fit_by_rows(const QueueEntry& entry, Shape& shape,
                                                        const std::vector<JobKey>& suspends) {
  Timeline& timeline = memo_->timeline();
  const State& state = memo_->state();
  fitting_without_.clear();
  tried_ += static_cast<std::int64_t>(suspends.size());
  for (const JobKey key : suspends)
    if (gives_way(state, state.job(key), *entry.job, entry.partition)) fitting_without_.push_back(key);
  std::optional<std::vector<NodeShare>> shares;
  const auto fits = [&](std::uint32_t row) {
    timeline.open_cpus(row, fitting_without_);
    bool ignored = false;
    const std::size_t cursor = std::exchange(shape.cursor, 0);  // counted with less
    auto found = timeline.fit(shape, plan_.made_at, entry.span, true, ignored);
    shape.cursor = cursor;
    timeline.close_cpus();
    if (!found) return false;
    shares = std::move(found);
    fitting_row_ = row;
    return true;
  };
  const std::uint32_t rows = rows_of(state, *entry.job, entry.partition);
  if (fits(1) || rows == 1 || !fits(rows)) return shares;
  // More rows never leave less room.
  for (std::uint32_t low = 2; low < fitting_row_;) {
    const std::uint32_t middle = low + (fitting_row_ - low) / 2;
    if (!fits(middle)) low = middle + 1;
  }
  return shares;
}

void Pass::note_start_by_rows(const QueueEntry& entry, const Shape& shape, std::vector<NodeShare> shares) {
  memo_->timeline().open_cpus(fitting_row_, fitting_without_);
  note_start(entry, shape, std::move(shares));
  memo_->timeline().close_cpus();
}

}  // namespace millrace
