// src/sim/scenario_accounts.cpp - see scenario_accounts.h.
#include "sim/scenario_accounts.h"

#include <algorithm>

#include "base/text.h"
#include "config/key_setters.h"
#include "core/admission/change_account.h"
#include "core/ledger/limits.h"
#include "core/planner/priority.h"

namespace millrace {
namespace {

// Six digits behind the point, without the zeros at the end.
std::string decimal(Fixed x) {
  const std::int64_t millionths =
      to_integer(multiply(x, Fixed::from_integer(1'000'000)) + Fixed{Fixed::from_integer(1).raw / 2});
  std::string fraction = std::to_string(1'000'000 + millionths % 1'000'000).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return std::to_string(millionths / 1'000'000) + (fraction.empty() ? "" : "." + fraction);
}

const Association* association_named(const State& state, const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string::npos)
    return state.find_association(AssociationName{name.substr(0, slash), name.substr(slash + 1), {}});
  if (const Association* account = state.find_association(AssociationName{name, {}, {}})) return account;
  for (const auto& [id, association] : state.associations)
    if (association->user == name) return association.get();
  return nullptr;
}

Result<void> set_weight(PriorityPolicy& p, const std::string& key, const std::string& value) {
  struct Row {
    std::string_view name;
    std::uint32_t PriorityPolicy::* field;
  };
  constexpr Row rows[] = {{"age", &PriorityPolicy::age},
                          {"assoc", &PriorityPolicy::assoc},
                          {"fairshare", &PriorityPolicy::fairshare},
                          {"size", &PriorityPolicy::job_size},
                          {"partition", &PriorityPolicy::partition},
                          {"qos", &PriorityPolicy::qos},
                          {"max_age", &PriorityPolicy::max_age_seconds},
                          {"half_life", &PriorityPolicy::half_life_seconds},
                          {"period", &PriorityPolicy::calc_period_seconds},
                          {"damping", &PriorityPolicy::damping}};
  for (const Row& row : rows)
    if (row.name == key) {
      p.*row.field = static_cast<std::uint32_t>(parse_integer(value).value_or(0));
      return {};
    }
  Configuration read;
  if (key == "flags") {
    MR_TRY_VOID(setter::priority_flags(read, value));
    p.flags = read.priority.flags;
  } else if (key == "reset") {
    MR_TRY_VOID(setter::priority_reset(read, value));
    p.reset = read.priority.reset;
  } else if (key == "tres") {
    MR_TRY(p.tres, parse_tres_weights(value));
  } else if (key == "favor_small") {
    p.favor_small = true;
  } else {
    return fail(Errc::invalid, "unknown key of priority: '" + key + "'");
  }
  return {};
}

std::string factor_answer(const PriorityFactors& f, const std::string& name) {
  if (name == "age") return decimal(f.age.part);
  if (name == "assoc") return decimal(f.assoc.part);
  if (name == "fairshare") return decimal(f.fairshare.part);
  if (name == "size") return decimal(f.job_size.part);
  if (name == "partition") return decimal(f.partition.part);
  if (name == "qos") return decimal(f.qos.part);
  for (const PriorityFactors::TresPoints& each : f.tres)
    if (each.name == name) return decimal(each.part);
  return "unknown";
}

}  // namespace

Result<bool> read_priority_line(const ScenarioWords& words, Policy& policy, std::vector<PartitionDef>& partitions) {
  Configuration read;
  if (words[0] == "priority" && words.size() > 1) {
    policy.basic_priority = words[1] != "multifactor";
    policy.priority.calc_period_seconds = 1;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      MR_TRY_VOID(set_weight(policy.priority, words[i].substr(0, equals),
                             equals == std::string::npos ? "" : words[i].substr(equals + 1)));
    }
    return true;
  }
  if (words[0] == "enforce" && words.size() > 1) {
    MR_TRY_VOID(setter::enforce(read, words[1]));
    policy.enforce = read.enforce;
    return true;
  }
  if (words[0] == "track" && words.size() > 1) {
    MR_TRY_VOID(setter::tracked_tres(read, words[1]));
    policy.tres = read.tres;
    return true;
  }
  if (words[0] == "billing" && words.size() > 2) {
    MR_TRY(auto weights, parse_tres_weights(words[2]));
    const auto it = std::ranges::find(partitions, words[1], &PartitionDef::name);
    if (it == partitions.end()) return fail(Errc::invalid, "no partition " + words[1] + " before this line");
    it->billing_weights = std::move(weights);
    return true;
  }
  return false;
}

std::uint32_t ScenarioUsers::uid_of(const std::string& name) {
  return known_.try_emplace(name, 1001 + static_cast<std::uint32_t>(known_.size())).first->second;
}

Result<std::vector<Event>> sacctmgr_events(const State& state, const ScenarioWords& words, Time now) {
  std::vector<std::string_view> views(words.begin(), words.end());
  MR_TRY(const AccountChange change, parse_account_change(views));
  MR_TRY(AccountDecision decision, decide_accounts(state, change, {UserId{0}, true}, now));
  if (decision.events.empty()) return fail(Errc::invalid, "nothing was changed");
  // The user root has a share beside the accounts; a scenario is about those it names.
  if (state.associations.empty())
    for (const Event& event : std::vector<Event>{decision.events})
      if (const auto* e = std::get_if<AssociationChanged>(&event);
          e && e->association.user == "root" && e->association.account == "root")
        decision.events.emplace_back(AssociationRemoved{e->association.id, now});
  return std::move(decision.events);
}

std::string account_answer(const State& state, const ScenarioWords& expectation, const Job* job, Time now) {
  const std::string& kind = expectation[0];
  const std::string head = kind + " " + expectation[1] + " ";
  if (kind == "priority" && job) return head + std::to_string(Priorities(state, now).of(*job));
  if (kind == "factor" && job)
    return head + expectation[2] + " " +
           factor_answer(Priorities(state, now).factors(*job, job->spec->partition), expectation[2]);
  if (kind == "usage" || kind == "fairshare") {
    const Association* association = association_named(state, expectation[1]);
    if (!association) return head + "unknown";
    const ShareRow row = FairShare(state, now).of(association->id);
    return head + (kind == "usage" ? std::to_string(to_integer(row.raw_usage)) : decimal(row.factor));
  }
  if (kind == "why" && job) {
    const auto hit = start_hit(state, *job, requested_size(state, *job), now);
    return head + (hit ? limit_in_words(state, *hit) : "nothing");
  }
  return {};
}

}  // namespace millrace
