// src/core/ledger/apply_account.cpp - see apply_account.h.
#include "core/ledger/apply_account.h"

#include <algorithm>

#include "core/ledger/job_size.h"

namespace millrace {
namespace {

AssociationName name_of(const Association& a) { return {a.account, a.user, a.partition}; }

bool keeps_history(const UseKey& key) { return key.of == UseOf::association || key.of == UseOf::qos; }

// What one job adds to each of its holders.
struct Part {
  std::uint32_t running = 0, submitted = 0;
  Tres tres, rate, run_rate;
  std::array<__int128, tres_max> run_end{};
};

Part part_of(const State& state, const Job& job) {
  Part part;
  part.submitted = job.is_array_rest() ? static_cast<std::uint32_t>(state.arrays.at(job.array)->rest.size()) : 1;
  if (job.state == JobState::pending) return part;
  const JobSize size = placed_size(state, job, job.placement->shares);
  const Qos* qos = state.find_qos(job.qos);
  const std::int64_t factor = qos ? qos->usage_factor_thousandths : 1000;
  const std::int64_t end = (job.ran_from() + minutes(size.minutes)).seconds();
  part.running = 1;
  part.tres = size.tres;
  if (job.state == JobState::suspended) return part;  // it holds what it has, and is not charged
  for (std::size_t i = 0; i < tres_max; ++i) {
    part.rate[i] = size.tres[i] * factor;
    if (job.state != JobState::running) continue;
    part.run_rate[i] = part.rate[i];
    part.run_end[i] = static_cast<__int128>(part.rate[i]) * end;
  }
  return part;
}

void add_part(Use& use, const Part& part, Count count) {
  const std::int64_t sign = count == Count::add ? 1 : -1;
  MR_ASSERT(count == Count::add || (use.running >= part.running && use.submitted >= part.submitted));
  use.running += part.running * static_cast<std::uint32_t>(sign);
  use.submitted += part.submitted * static_cast<std::uint32_t>(sign);
  for (std::size_t i = 0; i < tres_max; ++i) {
    use.tres[i] += sign * part.tres[i];
    use.rate[i] += sign * part.rate[i];
    use.run_rate[i] += sign * part.run_rate[i];
    use.run_end[i] += sign * part.run_end[i];
  }
}

// One that neither grows nor has anything in it needs no time, so that it looks the same when made again from the jobs.
void tidy(Use& use) {
  if (use.running > 0 || use.has_history()) return;
  use.as_of = use.period_at = {};
  use.period_usage = {};
}

void attach_jobs(State& state) {
  std::vector<std::pair<JobKey, AssociationId>> moved;
  for (const auto& [key, job] : state.jobs) {
    if (job->state == JobState::ended) continue;
    const AssociationId found = association_of(state, *job->spec);
    if (found != job->association) moved.emplace_back(key, found);
  }
  for (const auto& [key, association] : moved) state.edit_job(key).association = association;
}

}  // namespace

AssociationId association_of(const State& state, const JobSpec& spec) {
  if (state.associations.empty()) return {};
  const std::string& user = spec.owner->user_name;
  const AssociationId* found =
      state.association_names.find({spec.account, user, state.partition(spec.partition).def.name});
  if (!found) found = state.association_names.find({spec.account, user, {}});
  return found ? *found : AssociationId{};
}

const Qos* partition_qos(const State& state, const JobSpec& spec) {
  return state.find_qos(state.partition(spec.partition).def.qos);
}

Job in_partition(const State& state, const Job& job, PartitionIndex partition) {
  Job out = job;
  if (job.spec->partition == partition) return out;
  out.spec.edit().partition = partition;
  out.association = association_of(state, *out.spec);
  return out;
}

std::vector<UseKey> holders_of(const State& state, const Job& job) {
  std::vector<UseKey> out;
  const Association* association = state.find_association(job.association);
  const AssociationId account = association ? association->parent : AssociationId{};
  for (; association; association = state.find_association(association->parent))
    out.push_back({UseOf::association, association->id.value, 0});
  const Qos* own = state.find_qos(job.qos);
  const Qos* of_partition = partition_qos(state, *job.spec);
  for (const Qos* qos : {own, of_partition == own ? nullptr : of_partition}) {
    if (!qos) continue;
    out.push_back({UseOf::qos, qos->id.value, 0});
    out.push_back({UseOf::user_in_qos, qos->id.value, job.spec->owner->uid.value});
    if (account.value != 0) out.push_back({UseOf::account_in_qos, qos->id.value, account.value});
  }
  return out;
}

Fade fade_of(const State& state, const UseKey& key) {
  const PriorityPolicy& policy = state.policy->priority;
  const Qos* qos = key.of == UseOf::qos ? state.find_qos(QosId{key.id}) : nullptr;
  return {qos && (qos->flags & qos_no_decay) != 0 ? 0 : policy.half_life_seconds, policy.calc_period_seconds};
}

void count_job(State& state, const Job& job, Count count, Time at) {
  if (job.state == JobState::ended) return;
  const std::vector<UseKey> holders = holders_of(state, job);
  if (holders.empty()) return;
  const Part part = part_of(state, job);
  for (const UseKey& key : holders) {
    if (!state.uses.contains(key)) state.uses.set(key, SharedValue(Use{}));
    Use& use = state.uses.edit(key)->edit();
    if (part.running > 0 && keeps_history(key)) settle(use, fade_of(state, key), at);
    add_part(use, part, count);
    tidy(use);
    if (use.is_nothing()) state.uses.erase(key);
  }
}

std::map<UseKey, Use> count_all(const State& state) {
  std::map<UseKey, Use> out;
  if (state.associations.empty() && state.qos.empty()) return out;
  for (const auto& [key, job] : state.jobs) {
    if (job->state == JobState::ended) continue;
    const std::vector<UseKey> holders = holders_of(state, *job);
    if (holders.empty()) continue;
    const Part part = part_of(state, *job);
    for (const UseKey& holder : holders) add_part(out[holder], part, Count::add);
  }
  return out;
}

void settle_all(State& state, Time at) {
  std::vector<UseKey> keys;
  for (const auto& [key, use] : state.uses)
    if (use->as_of.is_set()) keys.push_back(key);
  for (const UseKey& key : keys) {
    Use& use = state.uses.edit(key)->edit();
    settle(use, fade_of(state, key), at);
    tidy(use);  // what was used long ago has faded to nothing
    if (use.is_nothing()) state.uses.erase(key);
  }
}

void recount(State& state, Time at) {
  if (state.associations.empty() && state.qos.empty() && state.uses.empty()) return;
  attach_jobs(state);
  std::map<UseKey, Use> fresh = count_all(state);
  for (const auto& [key, old] : state.uses) {
    if (!old->as_of.is_set()) continue;
    if (key.of == UseOf::association && !state.associations.contains(AssociationId{key.id})) continue;
    if (key.of == UseOf::qos && !state.qos.contains(QosId{key.id})) continue;
    Use& use = fresh[key];
    use.usage = old->usage;
    use.wall = old->wall;
    use.as_of = old->as_of;
    use.period_usage = old->period_usage;
    use.period_at = old->period_at;
  }
  std::vector<std::pair<UseKey, SharedValue<Use>>> sorted;
  for (auto& [key, use] : fresh) {
    if (keeps_history(key) && use.running > 0 && !use.as_of.is_set()) settle(use, fade_of(state, key), at);
    tidy(use);
    if (!use.is_nothing()) sorted.emplace_back(key, SharedValue(std::move(use)));
  }
  state.uses = SharedMap<UseKey, SharedValue<Use>>::from_sorted(std::move(sorted));
}

void add_tres_names(State& state) {
  for (const std::string& name : state.policy->tres)
    if (!tres_slot(*state.tres_names, name) && state.tres_names->size() < tres_max)
      state.tres_names.edit().push_back(name);
}

void change_association(State& state, const AssociationChanged& e) {
  MR_ASSERT(e.association.id.value != 0);
  const Association* before = state.find_association(e.association.id);
  const bool same_place =
      before && name_of(*before) == name_of(e.association) && before->parent == e.association.parent;
  if (!same_place) settle_all(state, e.at);
  if (before) state.association_names.erase(name_of(*before));
  state.associations.set(e.association.id, SharedValue(e.association));
  state.association_names.set(name_of(e.association), e.association.id);
  state.next_association = std::max(state.next_association, AssociationId{e.association.id.value + 1});
  if (!same_place) recount(state, e.at);
  ++state.accounts_version;
}

void remove_association(State& state, const AssociationRemoved& e) {
  const Association* before = state.find_association(e.association);
  if (!before) return;
  settle_all(state, e.at);
  state.association_names.erase(name_of(*before));
  state.associations.erase(e.association);
  recount(state, e.at);
  ++state.accounts_version;
}

void change_qos(State& state, const QosChanged& e) {
  MR_ASSERT(e.qos.id.value != 0);
  const Qos* before = state.find_qos(e.qos.id);
  const auto decays = [](const Qos& qos) { return (qos.flags & qos_no_decay) == 0; };
  const bool same = before && before->name == e.qos.name && decays(*before) == decays(e.qos) &&
                    before->usage_factor_thousandths == e.qos.usage_factor_thousandths;
  if (!same) settle_all(state, e.at);
  state.qos.set(e.qos.id, SharedValue(e.qos));
  state.next_qos = std::max(state.next_qos, QosId{e.qos.id.value + 1});
  if (!same) recount(state, e.at);
  ++state.accounts_version;
}

void forget_qos(State& state, QosId gone) {
  state.qos.erase(gone);
  const auto strip = [&](std::vector<std::uint32_t> list) {
    std::erase(list, gone.value);
    return list;
  };
  std::vector<AssociationId> listed;
  for (const auto& [id, each] : state.associations)
    if (each->default_qos == gone || std::ranges::find(each->qos, gone.value) != each->qos.end()) listed.push_back(id);
  for (const AssociationId id : listed) {
    Association& association = state.associations.edit(id)->edit();
    association.qos = strip(std::move(association.qos));
    if (association.default_qos == gone) association.default_qos = {};
  }
  std::vector<QosId> preempting;
  for (const auto& [id, each] : state.qos)
    if (std::ranges::find(each->preempts, gone.value) != each->preempts.end()) preempting.push_back(id);
  for (const QosId id : preempting) {
    Qos& qos = state.qos.edit(id)->edit();
    qos.preempts = strip(std::move(qos.preempts));
  }
  std::vector<JobKey> holders;
  for (const auto& [key, job] : state.jobs)
    if (job->qos == gone) holders.push_back(key);
  for (const JobKey key : holders) state.edit_job(key).qos = {};
}

void remove_qos(State& state, const QosRemoved& e) {
  if (!state.qos.contains(e.qos)) return;
  settle_all(state, e.at);
  forget_qos(state, e.qos);
  recount(state, e.at);
  ++state.accounts_version;
}

namespace {

constexpr std::size_t transactions_max = 10'000;  // of which somebody may ask who made them

}  // namespace

void change_account_user(State& state, const AccountUserChanged& e) {
  std::vector<AccountUser>& users = state.account_users.edit();
  const auto at = std::ranges::lower_bound(users, e.user.name, {}, &AccountUser::name);
  const bool known = at != users.end() && at->name == e.user.name;
  if (e.user.says_nothing()) {
    if (known) users.erase(at);
  } else if (known) {
    *at = e.user;
  } else {
    users.insert(at, e.user);
  }
}

void note_transaction(State& state, const TransactionNoted& e) {
  state.next_transaction = TransactionId{std::max(state.next_transaction.value, e.transaction.id.value + 1)};
  state.transactions.set(e.transaction.id, SharedValue(e.transaction));
  while (state.transactions.size() > transactions_max) state.transactions.erase((*state.transactions.begin()).first);
}

std::vector<std::string> coordinated_by(const State& state, const std::string& user) {
  std::vector<std::string> out;
  if (user.empty()) return out;
  for (const auto& [id, account] : state.associations) {
    if (!account->user.empty()) continue;
    const auto names = [&](const Association& each) { return std::ranges::binary_search(each.coordinators, user); };
    const Association* above = account.get();
    while (above && !names(*above)) above = state.find_association(above->parent);
    if (above) out.push_back(account->account);
  }
  std::ranges::sort(out);
  return out;
}

namespace {

bool lies_below(const State& state, AssociationId id, AssociationId above) {
  for (const Association* a = state.find_association(id); a; a = state.find_association(a->parent))
    if (a->id == above) return true;
  return false;
}

void forget(Use& use) {
  use.usage = {};
  use.wall = use.period_usage = {};
  tidy(use);
}

}  // namespace

void reset_usage(State& state, const UsageReset& e) {
  settle_all(state, e.at);
  ++state.accounts_version;
  const Association* top = state.find_association(e.association);
  if (e.association.value != 0 && !top) return;
  const auto* old = top ? state.uses.find({UseOf::association, top->id.value, 0}) : nullptr;
  const Use taken = old ? **old : Use{};
  std::vector<UseKey> below, empty;
  for (const auto& [key, use] : state.uses) {
    const bool meant = key.of == UseOf::association && (!top || lies_below(state, AssociationId{key.id}, top->id));
    if ((meant || (!top && key.of == UseOf::qos)) && use->has_history()) below.push_back(key);
  }
  for (const UseKey& key : below) forget(state.uses.edit(key)->edit());
  // Those above have used that much less.
  for (const Association* above = top ? state.find_association(top->parent) : nullptr; above;
       above = state.find_association(above->parent)) {
    const UseKey key{UseOf::association, above->id.value, 0};
    if (!state.uses.contains(key)) continue;
    Use& use = state.uses.edit(key)->edit();
    const auto less = [](Fixed a, Fixed b) { return a > b ? a - b : Fixed{}; };
    for (std::size_t i = 0; i < tres_max; ++i) use.usage[i] = less(use.usage[i], taken.usage[i]);
    use.wall = less(use.wall, taken.wall);
    use.period_usage = less(use.period_usage, taken.period_usage);
    tidy(use);
    below.push_back(key);
  }
  for (const UseKey& key : below)
    if (state.uses.at(key)->is_nothing()) state.uses.erase(key);
  if (!top) state.usage_reset_at = e.at;
}

}  // namespace millrace
