// src/cli/sacctmgr_cluster.cpp - sacctmgr add, modify and delete cluster: the one there is, whose settings are those of
// the account root.
#include <algorithm>

#include "base/text.h"
#include "cli/sacctmgr.h"
#include "client.pb.h"

namespace millrace {
namespace {

using Text = std::string_view;

int say(const std::string& line) {
  say_plain(" " + line);
  return 1;
}

int add(const std::vector<std::string>& names, const std::string& cluster) {
  if (names.empty()) return say("Need name of cluster to add.");
  for (const std::string& name : names) {
    if (name == cluster)
      print(" This cluster " + name + " already exists.  Not adding.\n");
    else
      say("Cluster " + name + " can not be added: a controller keeps the accounts of its own cluster, which is " +
          cluster + " (ClusterName in slurm.conf)");
  }
  return 1;
}

// What an account has and a cluster has not.
bool is_of_accounts(const AccountSetting& s) {
  constexpr Text keys[] = {"parent", "description", "organization", "rawusage", "name"};
  return std::ranges::find(keys, Text{s.key}) != std::end(keys);
}

int modify(Sacctmgr& self, AccountChange change, const std::string& cluster) {
  if (change.set.empty()) return say("You didn't give me anything to set");
  for (const AccountSetting& s : change.set)
    if (is_of_accounts(s)) return say("Unknown option: " + s.key + "=" + s.value);
  change.where = {{"name", '=', "root"}};
  return sacctmgr_commit(self, change,
                         [&](const wire::AccountsChanged&) { return " Modified cluster...\n  " + cluster + '\n'; });
}

}  // namespace

int sacctmgr_change_cluster(Sacctmgr& self, std::span<const Text> words) {
  const std::string cluster = lower(self.settings.cluster_name);
  std::vector<Text> as_account(words.begin(), words.end());
  as_account[1] = "account";
  const auto change = parse_account_change(as_account);
  if (!change) return say(change.error().story);
  std::vector<std::string> names;
  for (const AccountSetting& s : change->where) {
    if (s.key != "name" && !is_cut_of(s.key, "clusters", 1)) return say("Unknown condition: " + s.key + "=" + s.value);
    for (const Text name : split(s.value, ','))
      if (!trim(name).empty()) names.push_back(lower(trim(name)));
  }
  if (change->action == AccountAction::add) return add(names, cluster);
  const bool here = std::ranges::find(names, cluster) != names.end();
  if (change->action == AccountAction::modify)
    return here || names.empty() ? modify(self, *change, cluster) : (say_plain("  Nothing modified"), 1);
  return here ? say("Cluster " + cluster + " can not be deleted: it is the controller's own") : say("Nothing deleted");
}

}  // namespace millrace
