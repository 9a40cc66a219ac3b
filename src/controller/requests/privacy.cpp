// src/controller/requests/privacy.cpp - see privacy.h.
#include "controller/requests/privacy.h"

#include <algorithm>
#include <map>
#include <set>

namespace millrace {
namespace {

// The accounts of a user and those above them.
std::set<std::string> accounts_of(const wire::Accounts& accounts, const std::string& user) {
  std::map<std::uint32_t, const wire::Association*> by_id;
  for (const wire::AssociationView& each : accounts.associations())
    by_id[each.association().id()] = &each.association();
  std::set<std::string> out;
  for (const wire::AssociationView& each : accounts.associations()) {
    if (each.association().user() != user) continue;
    out.insert(each.association().account());
    std::uint32_t above = each.association().parent();
    for (std::size_t steps = 0; steps < by_id.size(); ++steps) {
      const auto it = by_id.find(above);
      if (it == by_id.end()) break;
      out.insert(it->second->account());
      above = it->second->parent();
    }
  }
  return out;
}

void clear_usage(wire::AssociationView& view) {
  view.clear_raw_usage();
  view.clear_norm_usage();
  view.clear_level_usage();
  view.clear_level_fs();
  view.clear_factor();
  view.clear_run_minutes();
  view.clear_used_minutes();
  view.clear_in_use();
  view.clear_running();
  view.clear_submitted();
}

}  // namespace

bool Privacy::sees(const Reservation& reservation, const UserIdentity& user, const State& state) const {
  if (!hides(private_reservations)) return true;
  Owner owner;
  owner.uid = user.uid;
  owner.gid = user.gid;
  owner.user_name = user.user_name;
  owner.group_name = user.group_name;
  owner.groups = user.groups;
  if (may_use(reservation, owner, {})) return true;
  for (const auto& [id, association] : state.associations)
    if (association->user == user.user_name && may_use(reservation, owner, association->account)) return true;
  return false;
}

static bool admits_groups(const PartitionDef& partition, const UserIdentity& user) {
  const auto allowed = [&](std::uint32_t gid) {
    return std::ranges::find(partition.allow_gids, gid) != partition.allow_gids.end();
  };
  return partition.allow_groups.empty() || allowed(user.gid.value) || std::ranges::any_of(user.groups, allowed);
}

bool Privacy::sees(const PartitionDef& partition, const UserIdentity& user) const {
  if (!hides(private_partitions)) return true;
  return (!partition.root_only || user.uid.value == 0) && admits_groups(partition, user);
}

bool HiddenPartitions::there_may_be(const State& state) {
  return std::ranges::any_of(*state.partitions,
                             [](const Partition& each) { return each.def.hidden || !each.def.allow_groups.empty(); });
}

HiddenPartitions::HiddenPartitions(const State& state, const UserIdentity& user) {
  std::vector<bool> hidden;
  for (const Partition& each : *state.partitions) hidden.push_back(each.def.hidden || !admits_groups(each.def, user));
  if (std::ranges::find(hidden, true) != hidden.end()) hidden_ = std::move(hidden);
}

bool HiddenPartitions::hides(const Job& job) const {
  if (!hides(job.spec->partition)) return false;
  if (job.state != JobState::pending) return true;
  return std::ranges::all_of(job.spec->resource_request().more_partitions,
                             [&](std::uint32_t more) { return hides(PartitionIndex{more}); });
}

void Privacy::narrow(wire::Accounts& accounts, const std::string& user) const {
  if (!hides(private_accounts) && !hides(private_users) && !hides(private_usage)) return;
  const std::set<std::string> own = accounts_of(accounts, user);
  wire::Accounts kept = accounts;
  kept.clear_associations();
  for (const wire::AssociationView& each : accounts.associations()) {
    const wire::Association& association = each.association();
    const bool of_other = !association.user().empty() && association.user() != user;
    const bool of_own_account = own.contains(association.account());
    if ((of_other && hides(private_users)) || (!of_own_account && hides(private_accounts))) continue;
    wire::AssociationView& view = *kept.add_associations();
    view = each;
    if (hides(private_usage) && (of_other || !of_own_account)) clear_usage(view);
  }
  if (hides(private_users)) {
    kept.clear_users();
    for (const wire::AccountUser& each : accounts.users())
      if (each.name() == user) *kept.add_users() = each;
  }
  accounts = std::move(kept);
}

}  // namespace millrace
