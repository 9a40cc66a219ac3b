// src/core/admission/charge_job.cpp - see charge_job.h.
#include "core/admission/charge_job.h"

#include <algorithm>

#include "base/text.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/limits.h"

namespace millrace {
namespace {

bool contains(const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); }

std::expected<QosId, Refusal> choose_qos(const State& state, const Association* association, const std::string& asked) {
  const bool enforced = (state.policy->enforce & (enforce_qos | enforce_associations)) != 0;
  if (asked.empty()) return association ? default_qos(state, *association) : QosId{};
  const Qos* qos = state.find_qos(lower(asked));
  if (!qos) {
    if (enforced) return refuse(RefusalCode::invalid_qos, "there is no QOS " + asked);
    return QosId{};
  }
  if ((state.policy->enforce & enforce_qos) != 0) {
    const bool listed = association && contains(allowed_qos(state, *association), qos->id.value);
    if (!listed)
      return refuse(RefusalCode::invalid_qos, "QOS " + asked + " is not among those this user may have in account " +
                                                  (association ? association->account : "(none)"));
  }
  return qos->id;
}

std::expected<void, Refusal> check_partition(const State& state, const PartitionDef& partition, QosId id) {
  const Qos* qos = state.find_qos(id);
  const std::string name = qos ? qos->name : "";
  if ((!partition.allow_qos.empty() && !contains(partition.allow_qos, name)) ||
      (qos && contains(partition.deny_qos, name)))
    return refuse(RefusalCode::invalid_qos,
                  "partition " + partition.name + " does not take jobs of " + (qos ? "QOS " + name : "no QOS"));
  return {};
}

}  // namespace

const std::vector<std::uint32_t>& allowed_qos(const State& state, const Association& association) {
  static const std::vector<std::uint32_t> none;
  for (const Association* each = &association; each; each = state.find_association(each->parent))
    if (!each->qos.empty()) return each->qos;
  return none;
}

QosId default_qos(const State& state, const Association& association) {
  for (const Association* each = &association; each; each = state.find_association(each->parent))
    if (each->default_qos.value != 0) return each->default_qos;
  const std::vector<std::uint32_t>& allowed = allowed_qos(state, association);
  const Qos* normal = state.find_qos("normal");
  if (normal && contains(allowed, normal->id.value)) return normal->id;
  return allowed.size() == 1 ? QosId{allowed.front()} : QosId{};
}

std::string default_account(const State& state, const std::string& user) {
  std::string only;
  for (const auto& [id, association] : state.associations) {
    if (association->user != user) continue;
    if (association->is_default) return association->account;
    if (only.empty()) only = association->account;
  }
  return only;
}

std::expected<Charge, Refusal> decide_charge(const State& state, const JobSpec& spec, PartitionIndex partition,
                                             const std::string& qos) {
  // Accounts and QOS have names in lower case only, as they are made by sacctmgr.
  Charge charge{state.associations.empty() ? spec.account : lower(spec.account), {}};
  const std::string& user = spec.owner->user_name;
  if (charge.account.empty() && !state.associations.empty()) charge.account = default_account(state, user);
  JobSpec as_charged;
  as_charged.owner = spec.owner;
  as_charged.account = charge.account;
  as_charged.partition = partition;
  const Association* association = state.find_association(association_of(state, as_charged));
  if (!association && (state.policy->enforce & enforce_associations) != 0)
    return refuse(RefusalCode::invalid_account, charge.account.empty()
                                                    ? "user " + user + " has no account"
                                                    : "user " + user + " is not in account " + charge.account);
  const auto chosen = choose_qos(state, association, qos);
  if (!chosen) return std::unexpected(chosen.error());
  charge.qos = *chosen;
  if (auto taken = check_partition(state, state.partition(partition).def, charge.qos); !taken)
    return std::unexpected(std::move(taken).error());
  return charge;
}

std::expected<void, Refusal> check_submit_limits(const State& state, const Job& job, std::uint32_t tasks, Time now) {
  const Qos* own = state.find_qos(job.qos);
  const Qos* of_partition = partition_qos(state, *job.spec);
  const auto denies = [](const Qos* qos) { return qos && (qos->flags & qos_deny_on_limit) != 0; };
  const auto hit = submit_hit(state, job, tasks, denies(own) || denies(of_partition), now);
  if (!hit) return {};
  Refusal refusal{RefusalCode::accounting_policy, {slurm_word(reason_of(*hit)), limit_in_words(state, *hit)}};
  return std::unexpected(std::move(refusal));
}

std::expected<std::string, Refusal> decide_wckey(const State& state, const std::string& user,
                                                 const std::string& asked) {
  if (!state.policy->track_wckeys) return asked;
  const AccountUser* known = state.find_account_user(user);
  const bool enforced = (state.policy->enforce & enforce_wckeys) != 0;
  if (asked.empty()) {
    if (known && !known->default_wckey.empty()) return "*" + known->default_wckey;
    if (enforced)
      return refuse(RefusalCode::invalid_wckey, "user " + user + " has no default workload key; --wckey names one");
    return std::string{};
  }
  const std::string key = asked.starts_with('*') ? asked.substr(1) : asked;
  if (enforced && !(known && contains(known->wckeys, key)))
    return refuse(RefusalCode::invalid_wckey, "user " + user + " may not use workload key " + key);
  return asked;
}

}  // namespace millrace
