// src/core/planner/timeline.cpp - see timeline.h.
#include "core/planner/timeline.h"

#include "core/ledger/sharing.h"
#include "core/model/assign.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr Time since_ever{INT64_MIN};
constexpr int turns_ahead = 3;  // of a recurring reservation that are planned around
constexpr Duration a_year = minutes(365LL * 24 * 60);

Duration limit_of(const Job& job) {
  return job.time_limit_minutes == unlimited ? a_year : minutes(job.time_limit_minutes);
}

}  // namespace

Duration planned_span(const Job& job, const PlannerSettings& settings) {
  const bool by_limit = settings.order == OrderPolicy::guarded;  // a promise must not lean on a guess
  if (settings.use_expected && !by_limit && job.expected_seconds > 0)
    return std::min(seconds(job.expected_seconds), limit_of(job));
  return limit_of(job);
}

Time planned_release(const Job& job, const PlannerSettings& settings, Time now) {
  const Time soon = now + microseconds(1);  // late, but about to go
  if (job.state == JobState::completing) return soon;
  Duration span = planned_span(job, settings);
  if (job.state == JobState::suspended) {
    // As if it went on at once: until it does, somebody else is on its CPUs and counted there. One kept by an
    // administrator is not expected to go at all.
    if (!job.suspension->wants_cpus) return std::max(job.suspension->changed_at + a_year, soon);
    return std::max(job.suspension->changed_at + std::max(limit_of(job) - job.suspension->ran_before, Duration{0}),
                    soon);
  }
  const Time from = job.ran_from();
  // An expectation once exceeded is worth nothing, and the limit holds: to double it instead starves wide jobs, because
  // the end always seems near. Limits are whole minutes: what is expected within the last of them is the limit itself.
  if (from + span <= now && span + minutes(1) <= limit_of(job)) span = limit_of(job);
  return std::max(from + span, soon);
}

// A job of a reservation ends with it, whatever its limit is.
static Time release_of(const State& state, const Job& job, const PlannerSettings& settings, Time now) {
  const Time release = planned_release(job, settings, now);
  const std::string& name = job.spec->resource_request().reservation;
  const Reservation* reservation = name.empty() ? nullptr : state.find_reservation(name);
  if (!reservation || reservation->has(reserve_flex)) return release;
  return std::min(release, std::max(reservation->end, now + microseconds(1)));
}

Timeline::Timeline(const State& state) : rules_(fit_rules(*state.policy)), caps_(state) {
  for (const auto& [index, node] : state.nodes) {
    if (slots_.size() <= index.value) slots_.resize(index.value + 1);
    slots_[index.value].def = node->def;
    slots_[index.value].node_class = classes_.class_of(*node->def);
    slots_[index.value].base = Profile(working_of(*node->def));
  }
  quick_.resize(slots_.size());
  for (const Partition& partition : *state.partitions) {
    auto& list = partition_nodes_.emplace_back();
    for (const NodeIndex index : partition.nodes) list.push_back(index.value);
    auto& places = partition_places_.emplace_back(slots_.size(), unlimited);
    for (std::uint32_t place = 0; place < list.size(); ++place) places[list[place]] = place;
  }
}

void Timeline::refresh(std::uint32_t index) {
  const Profile& here = profile(index);
  Quick& quick = quick_[index];
  if (slots_[index].usable)
    free_cpus_ += std::max<std::int64_t>(here.now().cpus, 0) - std::max<std::int64_t>(quick.cpus, 0);
  quick = {here.now().cpus, here.next_change()};
  if (!slots_[index].changed) {
    slots_[index].changed = true;
    changed_.push_back(index);
  }
}

void Timeline::note_improvements() {
  for (const std::uint32_t index : changed_) {
    Slot& slot = slots_[index];
    const Amounts& now = profile(index).now();
    if (slot.usable && (!slot.was_usable || !covers(slot.lowest, now))) improved_.push_back(index);
    slot.lowest = now;
    slot.was_usable = slot.usable;
    slot.changed = false;
  }
  changed_.clear();
  constexpr std::size_t kept = 4096;
  if (improved_.size() > 2 * kept) {
    improved_before_ += improved_.size() - kept;
    improved_.erase(improved_.begin(), improved_.end() - static_cast<std::ptrdiff_t>(kept));
  }
}

std::size_t Timeline::useful_since(const Shape& shape, std::size_t moment) const {
  if (shape.units.empty()) return 0;  // no node could ever hold it
  if (!remembers(moment)) return SIZE_MAX;
  std::size_t useful = 0;
  for (std::size_t i = moment - improved_before_; i < improved_.size(); ++i) {
    const Slot& slot = slots_[improved_[i]];
    const Unit& unit = shape.units[slot.node_class];
    if (slot.usable && unit.possible && covers(profile(improved_[i]).now(), unit.least)) ++useful;
  }
  return useful;
}

void Timeline::set_node(NodeIndex index, const Node& node, bool reachable) {
  Slot& slot = slots_[index.value];
  Quick& quick = quick_[index.value];
  if (slot.usable) free_cpus_ -= std::max<std::int64_t>(quick.cpus, 0);
  quick.cpus = 0;
  slot.usable = node.is_usable() && reachable;
  refresh(index.value);
  MR_ASSERT(slot.overlapping > 0 || slot.base.now().cpus == node.def->usable_cpus().value - node.used_cpus.value);
}

// What a job keeps from others: a suspended one that wants its CPUs back keeps them too.
Amounts Timeline::kept_by(const Job& job, const NodeShare& share) {
  Amounts out = share.amounts();
  if (!job.holds_cpus() && !job.wants_cpus_back()) out.cpus = 0;
  return out;
}

static bool overlaps_others(const Job& job) {
  return job.wants_cpus_back() || (job.placement->shared && job.holds_cpus());
}

void Timeline::job_changed(const State& state, JobKey key, const SharedValue<Job>* job, const PlannerSettings& settings,
                           Time now) {
  const auto change = [&](const Active& active, bool give) {
    for (const NodeShare& share : active.job->placement->shares) {
      if (share.released) continue;
      Slot& slot = slots_[share.node.value];
      const Amounts kept = kept_by(*active.job, share);
      count_each_apart(share.node.value);
      give ? slot.base.give(since_ever, active.release, kept) : slot.base.take(since_ever, active.release, kept);
      caps_.change_base(active.job->spec->partition, share.node, active.release, kept.cpus, give);
      if (active.job->spec->resource_request().exclusive_user) slot.exclusive_users += give ? -1u : 1u;
      if (overlaps_others(*active.job)) slot.overlapping += give ? -1u : 1u;
      if (slot.overlapping > 0) counted_apart_.push_back(share.node.value);
      const auto place = std::ranges::lower_bound(slot.holders, key);
      give ? slot.holders.erase(place) : slot.holders.insert(place, key);
    }
  };
  const auto settle_nodes = [&](const Active& active) {
    for (const NodeShare& share : active.job->placement->shares)
      if (!share.released) refresh(share.node.value);
  };
  const auto planned = expected_.find(key);
  Time before = planned == expected_.end() ? never : planned->second;
  if (const auto it = active_.find(key); it != active_.end()) {
    const Active old = it->second;
    before = old.release;
    change(old, true);
    releases_.erase({old.release, key});
    active_.erase(it);
    settle_nodes(old);
  }
  if (!job || !(*job)->is_on_nodes()) return;
  const Active active{*job, release_of(state, **job, settings, now)};
  change(active, false);
  active_.emplace(key, active);
  settle_nodes(active);
  if (active.release < before)  // nothing more is free now, but sooner than was thought
    for (const NodeShare& share : active.job->placement->shares) improved_.push_back(share.node.value);
  releases_.emplace(active.release, key);
}

void Timeline::pass_to(const State& state, Time now, const PlannerSettings& settings) {
  while (!releases_.empty() && releases_.begin()->first <= now) {
    const JobKey key = releases_.begin()->second;
    const SharedValue<Job> job = active_.at(key).job;
    job_changed(state, key, &job, settings, now);
  }
}

void Timeline::lay_window(const Reservation& reservation, Time now) {
  Window window{reservation.id, reservation.starts(now), reservation.ends(now), {}};
  if (window.start <= now) window.start = since_ever;
  for (const std::uint32_t node : reservation.nodes)
    if (node < slots_.size()) window.nodes.push_back(node);
  for (const std::uint32_t node : window.nodes) {
    touch(node).laid.take(window.start, window.end, working_of(*slots_[node].def));
    refresh(node);
  }
  for (const std::int64_t part : {static_cast<std::int64_t>(window.id.value), window.start.value, window.end.value})
    windows_digest_ = mix_bits(windows_digest_ ^ static_cast<std::uint64_t>(part)) + window.nodes.size();
  windows_.push_back(std::move(window));
}

void Timeline::begin_pass(const State& state, Time now) {
  state_ = &state;
  count_overlaps_once();
  uses_.clear();
  placed_.clear();
  open_views_.clear();
  views_.clear();
  caps_.begin_pass();
  for (const std::uint32_t index : touched_) {
    slots_[index].touched = slots_[index].placed_exclusive = false;
    slots_[index].placed_for = 0;
    slots_[index].laid = {};
    refresh(index);
  }
  touched_.clear();
  expected_.clear();
  windows_.clear();
  windows_digest_ = 1;
  for (const auto& [id, reservation] : state.reservations) {
    if (reservation->ends(now) <= now) continue;
    lay_window(*reservation, now);
    Reservation turn = *reservation;
    for (int ahead = 0; ahead < turns_ahead && reservation->recurs(); ++ahead) {
      turn = next_turn(turn, turn.end);
      lay_window(turn, now);
    }
  }
  note_improvements();
  steps_ = 0;
}

const std::vector<std::uint32_t>& Timeline::order(const Shape& shape) const {
  return shape.own_nodes ? shape.nodes : partition_nodes_[shape.partition.value];
}

std::optional<std::vector<NodeShare>> Timeline::fit_since(std::size_t moment, Shape& shape, Time now, Duration span,
                                                          bool& by_claims) {
  if (!remembers(moment) || shape.own_nodes || !shape.single) return fit(shape, now, span, true, by_claims);
  const std::vector<std::uint32_t>& places = partition_places_[shape.partition.value];
  std::vector<std::uint32_t> list;
  for (std::size_t i = moment - improved_before_; i < improved_.size(); ++i)
    if (places[improved_[i]] != unlimited) list.push_back(improved_[i]);
  std::ranges::sort(list, {}, [&](std::uint32_t index) { return places[index]; });
  list.erase(std::unique(list.begin(), list.end()), list.end());
  const std::size_t cursor = std::exchange(shape.cursor, 0);
  auto shares = fit_in(list, shape, now, span, true, by_claims);
  shape.cursor = cursor;
  return shares;
}

bool Timeline::admits(const Shape& shape, std::uint32_t index) const {
  const Slot& slot = slots_[index];
  const std::uint32_t user = asker_.job->spec->owner->uid.value + 1;
  if ((shape.exclusive_user || slot.placed_exclusive) && slot.placed_for != 0 && slot.placed_for != user) return false;
  return (!shape.exclusive_user && slot.exclusive_users == 0) ||
         admits_owner(*state_, state_->node(NodeIndex{index}), *asker_.job->spec);
}

std::uint32_t Timeline::exact_capacity(const Shape& shape, std::uint32_t index, std::uint32_t capacity, Amounts& free) {
  const NodeDef& def = *slots_[index].def;
  const NodeUse use = use_of(index);
  for (int tries = 0; capacity >= shape.tasks_least && capacity > 0 && tries < 64; --capacity, ++tries) {
    const Amounts wanted = amounts_for(*shape.spec, def, free, capacity, rules_);
    if (!assign(*shape.spec, def, use, wanted, rules_)) continue;
    // Devices for the job as a whole are shared out later and stay open.
    if (std::ranges::none_of(shape.spec->resource_request().gres,
                             [](const GresAsk& ask) { return ask.scope == GresScope::job; }))
      free = wanted;
    return capacity;
  }
  return 0;
}

std::optional<std::vector<NodeShare>> Timeline::fit_in(const std::vector<std::uint32_t>& list, Shape& shape, Time at,
                                                       Duration span, bool starting_now, bool& by_claims) {
  const JobSpec& spec = *shape.spec;
  const Time until = plus(at, span);
  const std::uint64_t wanted = std::max({spec.tasks, spec.min_nodes, 1u});
  std::uint64_t total = 0;
  std::size_t worth_trying = shape.nodes_least, i = starting_now ? shape.cursor : 0;
  bool leading = shape.required == 0;
  candidates_.clear();
  refused_an_owner_ = false;
  found_ = SIZE_MAX;
  if (shape.units.empty()) return std::nullopt;
  for (; i < list.size(); ++i) {
    ++steps_;
    const std::uint32_t index = list[i];
    const Slot& slot = slots_[index];
    const Unit& unit = shape.units[slot.node_class];
    const Quick& quick = quick_[index];
    const bool short_now = !slot.usable || !unit.possible || quick.cpus < unit.least.cpus;
    if (short_now && leading && starting_now) shape.cursor = i + 1;
    const bool hopeless = !slot.usable || !unit.possible || (short_now && (starting_now || quick.next_change > at));
    if (hopeless) {
      if (i < shape.required) return std::nullopt;
      continue;
    }
    leading = false;
    // Without promises a node's free amounts only grow with time.
    if (slot.touched) steps_ += static_cast<std::int64_t>(slot.laid.steps().size() / steps_at_once);
    Amounts free = slot.touched   ? slot.laid.least(at, until)
                   : starting_now ? slot.base.now()
                                  : slot.base.least(at, at + microseconds(1));
    if (shape.capped) free.cpus = std::min(free.cpus, cpus_left(shape, index, starting_now ? since_ever : at, until));
    const std::int64_t idle = free.cpus;
    std::uint32_t capacity = covers(free, unit.least) ? task_capacity(spec, *slot.def, free, rules_) : 0;
    if (slot.touched && starting_now && capacity < wanted && covers(slot.laid.now(), unit.least) &&
        free != slot.laid.now())
      by_claims = true;
    if (starting_now && capacity > 0 && !admits(shape, index)) {
      refused_an_owner_ = true;
      capacity = 0;
    }
    if (starting_now && capacity > 0 && shape.exact) capacity = exact_capacity(shape, index, capacity, free);
    if (capacity < shape.tasks_least) {
      if (i < shape.required) return std::nullopt;
      continue;
    }
    candidates_.push_back({NodeIndex{index}, slot.def.get(), free, idle});
    total += capacity;
    if (shape.minds || total < wanted || candidates_.size() < worth_trying || i + 1 < shape.required) continue;
    if (auto shares = choose(shape)) return shares;
    worth_trying = candidates_.size() * 2;
  }
  found_ = candidates_.size();
  if (total < wanted || candidates_.size() < shape.nodes_least) return std::nullopt;
  return choose(shape);
}

Time Timeline::first_fit(const Shape& shape, std::uint32_t index, Time from, Duration span) const {
  const Slot& slot = slots_[index];
  const Unit& unit = shape.units[slot.node_class];
  const Profile& here = profile(index);
  const auto capacity = [&](Time at) {
    Amounts free = here.least(at, plus(at, span));
    if (shape.capped) free.cpus = std::min(free.cpus, cpus_left(shape, index, at, plus(at, span)));
    return task_capacity(*shape.spec, *slot.def, free, rules_);
  };
  Time at = here.first_fit(unit.least, from, span);
  while (!unit.exact && at != never && capacity(at) < shape.tasks_least) {
    const Time later = here.next_change_after(at);
    at = later == never ? never : here.first_fit(unit.least, later, span);
  }
  return at;
}

// The earliest time from which on as many nodes as the job needs at the least have room, each for the whole span: no
// start can be earlier. A node that changes later than the best found so far is passed over, and that is most of them.
Time Timeline::kth_fit(const Shape& shape, Time from, Duration span) {
  const std::vector<std::uint32_t>& list = order(shape);
  Time needed = from;
  heap_.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    ++steps_;
    const std::uint32_t index = list[i];
    const Slot& slot = slots_[index];
    const bool required = i < shape.required;
    const Unit& unit = shape.units[slot.node_class];
    if (!slot.usable || !unit.possible) {
      if (required) return never;
      continue;
    }
    const bool full = heap_.size() == shape.nodes_least;
    if (!required && full) {
      if (heap_.front() <= from) break;
      if (quick_[index].cpus < unit.least.cpus && quick_[index].next_change >= heap_.front()) continue;
    }
    const Time at = first_fit(shape, index, from, span);
    if (required) needed = std::max(needed, at);
    if (at == never) continue;
    heap_.push_back(at);
    std::ranges::push_heap(heap_);
    if (full) {
      std::ranges::pop_heap(heap_);
      heap_.pop_back();
    }
  }
  return heap_.size() < shape.nodes_least ? never : std::max(needed, heap_.front());
}

std::optional<Claim> Timeline::earliest(Shape& shape, Time now, Duration span) {
  if (shape.units.empty()) return std::nullopt;
  Time at = span >= shape.searched ? std::max(now, shape.search_from) : now;
  bool ignored = false;
  for (int tries = 0; tries < 16; ++tries) {
    at = kth_fit(shape, at, span);
    if (at == never) return std::nullopt;
    if (auto shares = fit(shape, at, span, false, ignored)) {
      shape.searched = span;
      shape.search_from = at;
      return Claim{at, *std::move(shares)};
    }
    Time next = never;
    for (const std::uint32_t index : order(shape))
      if (slots_[index].usable) next = std::min(next, profile(index).next_change_after(at));
    if (next == never) return std::nullopt;
    at = next;
  }
  return search(shape, at, span);
}

// Many small pieces that come free one by one: halves its way through the times at which anything changes.
std::optional<Claim> Timeline::search(Shape& shape, Time from, Duration span) {
  std::vector<Time> times;
  for (const std::uint32_t index : order(shape)) {
    if (!slots_[index].usable) continue;
    for (const Profile::Step& step : profile(index).steps())
      if (step.at >= from) times.push_back(step.at);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  bool ignored = false;
  std::optional<Claim> found;
  std::size_t low = 0, high = times.size();  // before low it does not fit; at high it does, or that is the end
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (auto shares = fit(shape, times[middle], span, false, ignored)) {
      found = Claim{times[middle], *std::move(shares)};
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return found;
}

Timeline::Slot& Timeline::touch(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!slot.touched) {
    slot.laid = slot.base;
    slot.touched = true;
    touched_.push_back(index);
  }
  return slot;
}

void Timeline::open_window(ReservationId id, bool open) {
  for (const Window& window : windows_) {
    if (window.id != id) continue;
    for (const std::uint32_t node : window.nodes) {
      Profile& laid = touch(node).laid;
      const Amounts all = working_of(*slots_[node].def);
      open ? laid.give(window.start, window.end, all) : laid.take(window.start, window.end, all);
      refresh(node);
    }
  }
}

void Timeline::take(const std::vector<NodeShare>& shares, PartitionIndex partition, Time from, Time until) {
  for (const NodeShare& share : shares) {
    lay_cap(partition, share, from, until, false);
    Slot& slot = touch(share.node.value);
    slot.laid.take(from, until, share.amounts());
    if (from == since_ever) slot.lowest = slot.laid.now();
    refresh(share.node.value);
  }
}

void Timeline::give(const std::vector<NodeShare>& shares, PartitionIndex partition, Time from, Time until) {
  for (const NodeShare& share : shares) {
    lay_cap(partition, share, from, until, true);
    touch(share.node.value).laid.give(from, until, share.amounts());
    refresh(share.node.value);
  }
}

Timeline::Trying Timeline::lay(const Shape& shape, const std::vector<NodeShare>& shares, Time from, Time until,
                               bool starting_now) {
  Trying trying{shares, shape.partition, starting_now ? since_ever : from, until, {}};
  for (const NodeShare& share : shares) {
    const Slot& slot = slots_[share.node.value];
    const auto use = uses_.find(share.node.value);
    trying.before.push_back({share.node.value, slot.placed_for, slot.placed_exclusive, slot.lowest,
                             use == uses_.end() ? std::nullopt : std::optional{use->second}});
  }
  if (starting_now)
    place(shape, shares, until);
  else
    take(shares, shape.partition, from, until);
  return trying;
}

void Timeline::take_back(const Trying& trying) {
  if (trying.from != since_ever)
    give(trying.shares, trying.partition, trying.from, trying.until);
  else
    for (auto share = trying.shares.rbegin(); share != trying.shares.rend(); ++share)
      unplace(*share, trying.partition, trying.until);
  for (const Trying::Before& before : trying.before) {
    Slot& slot = slots_[before.index];
    slot.placed_for = before.placed_for;
    slot.placed_exclusive = before.placed_exclusive;
    slot.lowest = before.lowest;
    if (before.use)
      uses_.insert_or_assign(before.index, *before.use);
    else
      uses_.erase(before.index);
  }
}

void Timeline::add_changes(const Shape& shape, Time from, std::vector<Time>& out, std::set<std::uint32_t>& seen) {
  for (const std::uint32_t index : order(shape)) {
    ++steps_;
    if (!slots_[index].usable || !seen.insert(index).second) continue;
    for (const Profile::Step& step : profile(index).steps())
      if (step.at >= from) out.push_back(step.at);
  }
}

std::vector<char> Timeline::take_all(const std::vector<Hold>& holds) {
  std::vector<char> kept(holds.size(), 1);
  const auto possible = [&](const NodeShare& share) {
    return share.node.value < slots_.size() && slots_[share.node.value].usable;
  };
  std::map<std::uint32_t, std::vector<Profile::Step>>
      changes;  // by node: what is taken (given, when negative) from when on
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!std::ranges::all_of(*holds[i].shares, possible)) kept[i] = 0;
    if (!kept[i]) continue;
    for (const NodeShare& share : *holds[i].shares) {
      Amounts back;
      back -= share.amounts();
      changes[share.node.value].push_back({holds[i].from, share.amounts()});
      changes[share.node.value].push_back({holds[i].until, back});
    }
  }
  // All at once is quick and nearly always right, since all had room beside each other when they were promised.
  bool all_fit = true;
  std::map<std::uint32_t, Profile> before;
  for (const auto& [index, list] : changes) {
    Profile& laid = touch(index).laid;
    before.emplace(index, laid);
    all_fit = laid.take_all(list) && all_fit;
  }
  if (!all_fit) {
    for (auto& [index, laid] : before) slots_[index].laid = std::move(laid);
    for (std::size_t i = 0; i < holds.size(); ++i) {
      if (!kept[i]) continue;
      const auto has_room = [&](const NodeShare& share) {
        return covers(slots_[share.node.value].laid.least(holds[i].from, holds[i].until), share.amounts());
      };
      kept[i] = std::ranges::all_of(*holds[i].shares, has_room) ? 1 : 0;
      if (!kept[i]) continue;
      for (const NodeShare& share : *holds[i].shares)
        slots_[share.node.value].laid.take(holds[i].from, holds[i].until, share.amounts());
    }
  }
  for (const auto& [index, list] : changes) refresh(index);
  for (std::size_t i = 0; i < holds.size(); ++i)
    for (const NodeShare& share : *holds[i].shares)
      if (kept[i]) lay_cap(holds[i].partition, share, holds[i].from, holds[i].until, false);
  return kept;
}

}  // namespace millrace
