// src/wire/account_types.cpp - associations, QOS, limits, weights and usage as they are written to the log.
#include "wire/log_types.h"

namespace millrace {
namespace {

template <class List>
void put_list(const TresList& from, List* to) {
  for (const TresAmount& each : from) {
    auto* added = to->Add();
    added->set_name(each.name);
    added->set_amount(each.amount);
  }
}

template <class List>
TresList get_list(const List& from) {
  TresList out;
  for (const auto& each : from) out.push_back({each.name(), each.amount()});
  return out;
}

void put(const Limits& from, log::Limits& to) {
  put_list(from.grp_tres, to.mutable_grp_tres());
  put_list(from.grp_tres_mins, to.mutable_grp_tres_mins());
  put_list(from.grp_tres_run_mins, to.mutable_grp_tres_run_mins());
  put_list(from.max_tres_per_job, to.mutable_max_tres_per_job());
  put_list(from.max_tres_per_node, to.mutable_max_tres_per_node());
  put_list(from.max_tres_mins_per_job, to.mutable_max_tres_mins_per_job());
  if (from.grp_jobs) to.set_grp_jobs(*from.grp_jobs);
  if (from.grp_submit) to.set_grp_submit(*from.grp_submit);
  if (from.grp_wall_minutes) to.set_grp_wall_minutes(*from.grp_wall_minutes);
  if (from.max_jobs) to.set_max_jobs(*from.max_jobs);
  if (from.max_submit) to.set_max_submit(*from.max_submit);
  if (from.max_wall_minutes) to.set_max_wall_minutes(*from.max_wall_minutes);
}

Limits get(const log::Limits& from) {
  Limits to;
  to.grp_tres = get_list(from.grp_tres());
  to.grp_tres_mins = get_list(from.grp_tres_mins());
  to.grp_tres_run_mins = get_list(from.grp_tres_run_mins());
  to.max_tres_per_job = get_list(from.max_tres_per_job());
  to.max_tres_per_node = get_list(from.max_tres_per_node());
  to.max_tres_mins_per_job = get_list(from.max_tres_mins_per_job());
  if (from.has_grp_jobs()) to.grp_jobs = from.grp_jobs();
  if (from.has_grp_submit()) to.grp_submit = from.grp_submit();
  if (from.has_grp_wall_minutes()) to.grp_wall_minutes = from.grp_wall_minutes();
  if (from.has_max_jobs()) to.max_jobs = from.max_jobs();
  if (from.has_max_submit()) to.max_submit = from.max_submit();
  if (from.has_max_wall_minutes()) to.max_wall_minutes = from.max_wall_minutes();
  return to;
}

void put_fixed(Fixed from, log::FixedAmount& to) {
  to.set_low(static_cast<std::uint64_t>(from.raw));
  to.set_high(static_cast<std::uint64_t>(from.raw >> 64));
}

Fixed get_fixed(const log::FixedAmount& from) {
  return {static_cast<__int128>(static_cast<unsigned __int128>(from.high()) << 64 | from.low())};
}

}  // namespace

void put_weights(const std::vector<TresWeight>& from, google::protobuf::RepeatedPtrField<log::TresWeight>* to) {
  for (const TresWeight& each : from) {
    auto* added = to->Add();
    added->set_name(each.name);
    added->set_billionths(each.billionths);
    added->set_per(each.per);
  }
}

std::vector<TresWeight> get_weights(const google::protobuf::RepeatedPtrField<log::TresWeight>& from) {
  std::vector<TresWeight> out;
  for (const auto& each : from) out.push_back({each.name(), each.billionths(), std::max<std::int64_t>(each.per(), 1)});
  return out;
}

void put(const PriorityPolicy& from, log::PriorityPolicy& to) {
  to.set_age(from.age);
  to.set_assoc(from.assoc);
  to.set_fairshare(from.fairshare);
  to.set_job_size(from.job_size);
  to.set_partition(from.partition);
  to.set_qos(from.qos);
  put_weights(from.tres, to.mutable_tres());
  to.set_max_age_seconds(from.max_age_seconds);
  to.set_half_life_seconds(from.half_life_seconds);
  to.set_calc_period_seconds(from.calc_period_seconds);
  to.set_damping(from.damping);
  to.set_flags(from.flags);
  to.set_reset(static_cast<std::uint32_t>(from.reset));
  to.set_favor_small(from.favor_small);
}

PriorityPolicy get(const log::PriorityPolicy& from) {
  PriorityPolicy to;
  to.age = from.age();
  to.assoc = from.assoc();
  to.fairshare = from.fairshare();
  to.job_size = from.job_size();
  to.partition = from.partition();
  to.qos = from.qos();
  to.tres = get_weights(from.tres());
  to.max_age_seconds = from.max_age_seconds();
  to.half_life_seconds = from.half_life_seconds();
  to.calc_period_seconds = from.calc_period_seconds();
  to.damping = from.damping();
  to.flags = from.flags();
  to.reset = static_cast<ResetPeriod>(from.reset());
  to.favor_small = from.favor_small();
  return to;
}

void put(const Association& from, log::Association& to) {
  to.set_id(from.id.value);
  to.set_parent(from.parent.value);
  to.set_account(from.account);
  to.set_user(from.user);
  to.set_partition(from.partition);
  to.set_description(from.description);
  to.set_organization(from.organization);
  to.set_shares(from.shares);
  to.set_priority(from.priority);
  if (!(from.limits == Limits{})) put(from.limits, *to.mutable_limits());
  for (const std::uint32_t qos : from.qos) to.add_qos(qos);
  to.set_default_qos(from.default_qos.value);
  to.set_is_default(from.is_default);
  for (const std::string& name : from.coordinators) to.add_coordinators(name);
}

void put(const AccountUser& from, log::AccountUser& to) {
  to.set_name(from.name);
  to.set_admin_level(static_cast<std::uint32_t>(from.admin_level));
  for (const std::string& key : from.wckeys) to.add_wckeys(key);
  to.set_default_wckey(from.default_wckey);
}

AccountUser get(const log::AccountUser& from) {
  return {from.name(),
          static_cast<AdminLevel>(from.admin_level()),
          {from.wckeys().begin(), from.wckeys().end()},
          from.default_wckey()};
}

void put(const Transaction& from, log::Transaction& to) {
  to.set_id(from.id.value);
  to.set_at(from.at.value);
  to.set_actor(from.actor);
  to.set_action(from.action);
  to.set_where(from.where);
  to.set_info(from.info);
  to.set_accounts(from.accounts);
  to.set_users(from.users);
}

Transaction get(const log::Transaction& from) {
  return {TransactionId{from.id()}, Time{from.at()}, from.actor(), from.action(), from.where(), from.info(),
          from.accounts(),          from.users()};
}

Association get(const log::Association& from) {
  Association to;
  to.id = AssociationId{from.id()};
  to.parent = AssociationId{from.parent()};
  to.account = from.account();
  to.user = from.user();
  to.partition = from.partition();
  to.description = from.description();
  to.organization = from.organization();
  to.shares = from.shares();
  to.priority = from.priority();
  if (from.has_limits()) to.limits = get(from.limits());
  to.qos.assign(from.qos().begin(), from.qos().end());
  to.default_qos = QosId{from.default_qos()};
  to.is_default = from.is_default();
  to.coordinators.assign(from.coordinators().begin(), from.coordinators().end());
  return to;
}

void put(const Qos& from, log::Qos& to) {
  to.set_id(from.id.value);
  to.set_name(from.name);
  to.set_description(from.description);
  to.set_priority(from.priority);
  for (const std::uint32_t other : from.preempts) to.add_preempts(other);
  to.set_preempt_mode(static_cast<std::uint32_t>(from.preempt_mode));
  to.set_grace_seconds(from.grace_seconds);
  if (from.preempt_exempt_seconds) to.set_preempt_exempt_seconds(*from.preempt_exempt_seconds);
  to.set_usage_factor_thousandths(from.usage_factor_thousandths);
  to.set_flags(from.flags);
  if (!(from.limits == Limits{})) put(from.limits, *to.mutable_limits());
  put_list(from.max_tres_per_user, to.mutable_max_tres_per_user());
  put_list(from.max_tres_per_account, to.mutable_max_tres_per_account());
  put_list(from.max_run_mins_per_user, to.mutable_max_run_mins_per_user());
  put_list(from.max_run_mins_per_account, to.mutable_max_run_mins_per_account());
  put_list(from.min_tres_per_job, to.mutable_min_tres_per_job());
  if (from.max_jobs_per_account) to.set_max_jobs_per_account(*from.max_jobs_per_account);
  if (from.max_submit_per_account) to.set_max_submit_per_account(*from.max_submit_per_account);
}

Qos get(const log::Qos& from) {
  Qos to;
  to.id = QosId{from.id()};
  to.name = from.name();
  to.description = from.description();
  to.priority = from.priority();
  to.preempts.assign(from.preempts().begin(), from.preempts().end());
  to.preempt_mode = static_cast<QosPreemptMode>(from.preempt_mode());
  to.grace_seconds = from.grace_seconds();
  if (from.has_preempt_exempt_seconds()) to.preempt_exempt_seconds = from.preempt_exempt_seconds();
  to.usage_factor_thousandths = from.usage_factor_thousandths();
  to.flags = from.flags();
  if (from.has_limits()) to.limits = get(from.limits());
  to.max_tres_per_user = get_list(from.max_tres_per_user());
  to.max_tres_per_account = get_list(from.max_tres_per_account());
  to.max_run_mins_per_user = get_list(from.max_run_mins_per_user());
  to.max_run_mins_per_account = get_list(from.max_run_mins_per_account());
  to.min_tres_per_job = get_list(from.min_tres_per_job());
  if (from.has_max_jobs_per_account()) to.max_jobs_per_account = from.max_jobs_per_account();
  if (from.has_max_submit_per_account()) to.max_submit_per_account = from.max_submit_per_account();
  return to;
}

void put_accounts(const State& state, log::State& to) {
  to.set_next_association(state.next_association.value);
  to.set_next_qos(state.next_qos.value);
  for (const auto& [id, association] : state.associations) put(*association, *to.add_associations());
  for (const auto& [id, qos] : state.qos) put(*qos, *to.add_qos());
  for (const AccountUser& user : *state.account_users) put(user, *to.add_account_users());
  for (const auto& [id, transaction] : state.transactions) put(*transaction, *to.add_transactions());
  if (state.next_transaction.value > 1) to.set_next_transaction(state.next_transaction.value);
  for (const auto& [key, use] : state.uses) {
    if (!use->as_of.is_set()) continue;
    auto* added = to.add_uses();
    added->set_of(static_cast<std::uint32_t>(key.of));
    added->set_id(key.id);
    for (const Fixed usage : use->usage) put_fixed(usage, *added->add_usage());
    put_fixed(use->wall, *added->mutable_wall());
    added->set_as_of(use->as_of.value);
    put_fixed(use->period_usage, *added->mutable_period_usage());
    added->set_period_at(use->period_at.value);
  }
  for (const std::string& name : *state.tres_names) to.add_tres_names(name);
  to.set_usage_reset_at(state.usage_reset_at.value);
}

void get_accounts(const log::State& from, State& state) {
  if (from.next_association() > 0) state.next_association = AssociationId{from.next_association()};
  if (from.next_qos() > 0) state.next_qos = QosId{from.next_qos()};
  for (const auto& association : from.associations())
    state.associations.set(AssociationId{association.id()}, SharedValue(get(association)));
  for (const auto& qos : from.qos()) state.qos.set(QosId{qos.id()}, SharedValue(get(qos)));
  for (const auto& user : from.account_users()) state.account_users.edit().push_back(get(user));
  for (const auto& transaction : from.transactions())
    state.transactions.set(TransactionId{transaction.id()}, SharedValue(get(transaction)));
  state.next_transaction = TransactionId{std::max<std::uint64_t>(from.next_transaction(), 1)};
  for (const auto& each : from.uses()) {
    Use use;
    for (int i = 0; i < each.usage_size() && i < static_cast<int>(tres_max); ++i)
      use.usage[static_cast<std::size_t>(i)] = get_fixed(each.usage(i));
    use.wall = get_fixed(each.wall());
    use.as_of = Time{each.as_of()};
    use.period_usage = get_fixed(each.period_usage());
    use.period_at = Time{each.period_at()};
    state.uses.set({static_cast<UseOf>(each.of()), each.id(), 0}, SharedValue(std::move(use)));
  }
  if (from.tres_names_size() > 0)
    state.tres_names = SharedValue(TresNames(from.tres_names().begin(), from.tres_names().end()));
  state.usage_reset_at = Time{from.usage_reset_at()};
}

}  // namespace millrace
