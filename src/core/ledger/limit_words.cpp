// src/core/ledger/limit_words.cpp - a limit that keeps a job waiting, told in plain English.
#include "core/ledger/limits.h"

namespace millrace {
namespace {

using enum LimitKind;

std::string holder_words(const State& state, const LimitHit& hit) {
  if (hit.scope == LimitScope::qos) {
    const Qos* qos = state.find_qos(QosId{hit.holder});
    return "QOS " + (qos ? qos->name : std::to_string(hit.holder));
  }
  const Association* association = state.find_association(AssociationId{hit.holder});
  if (!association) return "association " + std::to_string(hit.holder);
  if (association->user.empty()) return "account " + association->account;
  return "user " + association->user + " in account " + association->account +
         (association->partition.empty() ? "" : " on partition " + association->partition);
}

std::string member_words(const State& state, const LimitHit& hit) {
  switch (hit.kind) {
    case max_jobs:
    case max_submit:
      return hit.scope == LimitScope::qos ? " for each user" : "";
    case max_tres_per_user:
    case max_run_mins_per_user:
      return " for each user";
    case max_jobs_per_account:
    case max_submit_per_account:
    case max_tres_per_account:
    case max_run_mins_per_account: {
      const Association* account = state.find_association(AssociationId{hit.member});
      return " for each account" + (account ? " (here " + account->account + ")" : std::string{});
    }
    default:
      return "";
  }
}

std::string amount(const LimitHit& hit, std::int64_t count) {
  switch (hit.kind) {
    case grp_tres_mins:
    case grp_tres_run_mins:
    case max_tres_mins_per_job:
    case max_run_mins_per_user:
    case max_run_mins_per_account:
      return std::to_string(count) + " " + hit.tres + "-minutes";
    case grp_jobs:
    case max_jobs:
    case max_jobs_per_account:
      return std::to_string(count) + " running jobs";
    case grp_submit:
    case max_submit:
    case max_submit_per_account:
      return std::to_string(count) + " submitted jobs";
    case grp_wall:
    case max_wall:
      return std::to_string(count) + " minutes";
    default:
      return hit.tres == "mem" ? format_tres_amount("mem", count) + " of memory"
                               : std::to_string(count) + " " + hit.tres;
  }
}

}  // namespace

std::string limit_in_words(const State& state, const LimitHit& hit) {
  std::string out = holder_words(state, hit) + ": " + std::string{limit_name(hit.scope, hit.kind)};
  const std::string allows = " allows " + amount(hit, hit.limit) + member_words(state, hit);
  switch (hit.kind) {
    case min_tres_per_job:
      return out + " asks for at least " + amount(hit, hit.limit) + ", this job wants " + amount(hit, hit.needs);
    case max_wall:
    case max_tres_per_job:
    case max_tres_per_node:
    case max_tres_mins_per_job:
      return out + allows + " for one job" + (hit.kind == max_tres_per_node ? " on one node" : "") +
             ", this one wants " + amount(hit, hit.needs);
    case grp_jobs:
    case max_jobs:
    case max_jobs_per_account:
    case grp_submit:
    case max_submit:
    case max_submit_per_account:
      return out + allows + ", there are " + std::to_string(hit.used);
    case grp_wall:
    case grp_tres_mins:
      return out + allows + ", " + std::to_string(hit.used) + " are used up";
    default:
      return out + allows + ", " + amount(hit, hit.used) + " are in use and this job needs " + amount(hit, hit.needs);
  }
}

}  // namespace millrace
