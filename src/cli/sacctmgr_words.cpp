// src/cli/sacctmgr_words.cpp - what sacctmgr says before it changes something.
#include <algorithm>

#include "base/text.h"
#include "cli/sacctmgr.h"
#include "client.pb.h"

namespace millrace {
namespace {

using Text = std::string_view;

constexpr Text of_user[] = {"adminlevel", "admin", "defaultaccount", "defaultwckey", "wckey", "wckeys"};
constexpr Text of_account[] = {"description", "organization"};
constexpr Text of_place[] = {"account", "accounts", "acct", "cluster", "clusters", "partition", "partitions"};

bool is_in(std::span<const Text> list, const AccountSetting& s) {
  return std::ranges::find(list, Text{s.key}) != list.end();
}

std::string cell(Text text, std::size_t width) {
  std::string out{text.substr(0, width)};
  out.resize(std::max(out.size(), width), ' ');
  return out;
}

// Names of limits as Slurm spells them in its announcements.
struct Spelling {
  Text names;  // lower case, comma between several
  Text shown;
};
// clang-format off
constexpr Spelling spellings[] = {
    {"fairshare,share", "Fairshare"}, {"priority", "Priority"}, {"qos,qoslevel", "QOS"}, {"defaultqos", "DefQOS"},
    {"grptres", "GrpTRES"}, {"grptresmins", "GrpTRESMins"}, {"grptresrunmins", "GrpTRESRunMins"}, {"grpcpus", "GrpCPUs"}, {"grpnodes", "GrpNodes"}, {"grpmemory,grpmem", "GrpMemory"},
    {"grpcpumins", "GrpCPUMins"}, {"grpcpurunmins", "GrpCPURunMins"}, {"grpjobs", "GrpJobs"}, {"grpsubmit,grpsubmitjobs", "GrpSubmitJobs"}, {"grpwall", "GrpWall"},
    {"maxtres,maxtrespj,maxtresperjob", "MaxTRES"}, {"maxtrespn,maxtrespernode", "MaxTRESPerNode"}, {"maxtresmins,maxtresminspj,maxtresminsperjob", "MaxTRESMins"},
    {"maxcpus,maxcpusperjob", "MaxCPUs"}, {"maxnodes,maxnodesperjob", "MaxNodes"}, {"maxcpumins,maxcpuminsperjob", "MaxCPUMins"},
    {"maxjobs", "MaxJobs"}, {"maxsubmit,maxsubmitjobs", "MaxSubmitJobs"}, {"maxwall,maxwalldurationperjob,maxwallpj", "MaxWall"},
    {"maxjobsperuser,maxjobspu", "MaxJobsPerUser"}, {"maxsubmitjobsperuser,maxsubmitjobspu,maxsubmitpu", "MaxSubmitPerUser"},
    {"maxtresperuser,maxtrespu", "MaxTRESPerUser"}, {"maxtresperaccount,maxtresperacct,maxtrespa", "MaxTRESPerAcct"},
    {"maxjobsperaccount,maxjobsperacct,maxjobspa", "MaxJobsPerAcct"}, {"maxsubmitjobsperaccount,maxsubmitjobsperacct,maxsubmitjobspa,maxsubmitpa", "MaxSubmitPerAcct"},
    {"mintres,mintresperjob,mintrespj", "MinTRESPerJob"}, {"gracetime", "GraceTime"}, {"preempt", "Preempt"}, {"preemptmode", "PreemptMode"}, {"preemptexempttime", "PreemptExemptTime"},
    {"usagefactor", "UsageFactor"}, {"flags", "Flags"}, {"description", "Description"}, {"organization", "Organization"},
};
// clang-format on

std::string spelt(const std::string& key) {
  for (const Spelling& each : spellings)
    for (const Text name : split(each.names, ','))
      if (name == key) return std::string{each.shown};
  std::string out = key;
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string line(Text name, std::size_t width, Text value) {
  return "  " + cell(name, std::max(width, name.size())) + " = " + std::string{value} + '\n';
}

// Limits and the like: what is neither a place nor said of the account or user as such.
std::string setting_lines(const AccountChange& change) {
  std::string out;
  const std::span<const Text> own = change.entity == AccountEntity::user      ? std::span<const Text>{of_user}
                                    : change.entity == AccountEntity::account ? std::span<const Text>{of_account}
                                                                              : std::span<const Text>{};
  for (const AccountSetting& s : change.set)
    if (!is_in(of_place, s) && !is_in(own, s) && s.key != "parent") out += line(spelt(s.key), 13, s.value);
  return out;
}

// Keys: comma between several.
std::string value_of(const AccountChange& change, Text keys, const char* otherwise) {
  for (const AccountSetting& s : change.set)
    for (const Text key : split(keys, ','))
      if (key == s.key) return s.value;
  return otherwise;
}

// What is said of the user as such.
std::string user_lines(const AccountChange& change) {
  constexpr Spelling rows[] = {{"defaultaccount", "Default Account"},
                               {"defaultwckey", "Default WCKey"},
                               {"adminlevel,admin", "Admin Level"},
                               {"wckey,wckeys", "WCKeys"}};
  std::string out;
  for (const Spelling& row : rows)
    if (const std::string value = value_of(change, row.names, ""); !value.empty()) out += line(row.shown, 15, value);
  return out;
}

std::string association_lines(const wire::AccountsChanged& changed, const std::string& cluster, bool added) {
  std::string out;
  for (const auto& a : changed.associations()) {
    if (a.user().empty()) {
      out += added ? "  A = " + cell(a.account(), 10) + " C = " + cell(cluster, 10)
                   : "  C = " + cell(cluster, 10) + " A = " + cell(a.account(), 20);
    } else {
      out += added ? "  U = " + cell(a.user(), 9) + " A = " + cell(a.account(), 10) + " C = " + cell(cluster, 10)
                   : "  C = " + cell(cluster, 10) + " A = " + cell(a.account(), 20) + " U = " + cell(a.user(), 9);
      if (!a.partition().empty()) out += " P = " + cell(a.partition(), 10);
    }
    out += '\n';
  }
  return out;
}

std::string account_lines(const wire::AccountsChanged& changed) {
  std::string out;
  for (const auto& a : changed.associations()) out += "  " + a.account() + '\n';
  return out;
}

std::string adding(const AccountChange& change, const wire::AccountsChanged& changed, const std::string& names,
                   const std::string& cluster) {
  constexpr const char* headings[] = {" Adding Account(s)\n", " Adding User(s)\n", " Adding QOS(s)\n",
                                      " Adding Coordinator User(s)\n"};
  std::string out = headings[static_cast<std::size_t>(change.entity)] + names;
  if (change.entity == AccountEntity::coordinator)
    return out + " To Account(s) and all sub-accounts\n" + account_lines(changed);
  const std::string settings = setting_lines(change), associations = association_lines(changed, cluster, true);
  switch (change.entity) {
    case AccountEntity::user: {
      const std::string himself = user_lines(change);
      return out + (himself.empty() ? "" : " Settings =\n" + himself) + " Associations =\n" + associations +
             (settings.empty() ? "" : " Non Default Settings\n" + settings);
    }
    case AccountEntity::account:
      out += " Settings\n" + line("Description", 15, value_of(change, "description", "Account Name")) +
             line("Organization", 15, value_of(change, "organization", "Parent/Account Name"));
      return out + " Associations\n" + associations + (settings.empty() ? "" : " Settings\n" + settings);
    default:
      return settings.empty() ? out : out + " Settings\n" + settings;
  }
}

// What is about the account or the user as such, and what about the places in the tree.
std::string modified(const AccountChange& change, const wire::AccountsChanged& changed, const std::string& names,
                     const std::string& cluster) {
  if (change.entity == AccountEntity::qos) return " Modified qos...\n" + names;
  const bool user = change.entity == AccountEntity::user;
  const std::span<const Text> own = user ? std::span<const Text>{of_user} : std::span<const Text>{of_account};
  const bool itself = std::ranges::any_of(change.set, [&](const AccountSetting& s) { return is_in(own, s); });
  const bool places = std::ranges::any_of(change.set, [&](const AccountSetting& s) { return !is_in(own, s); });
  std::string out;
  if (itself) out += (user ? " Modified users...\n" : " Modified accounts...\n") + names;
  if (places)
    out += (user ? " Modified user associations...\n" : " Modified account associations...\n") +
           association_lines(changed, cluster, false);
  return out;
}

}  // namespace

std::string sacctmgr_announcement(const AccountChange& change, const wire::AccountsChanged& changed,
                                  const std::string& cluster) {
  std::string names;
  for (const std::string& name : changed.names()) names += "  " + name + '\n';
  if (change.action == AccountAction::add) return adding(change, changed, names, cluster);
  if (change.action == AccountAction::modify) return modified(change, changed, names, cluster);
  switch (change.entity) {
    case AccountEntity::account:
      return " Deleting accounts...\n" + names;
    case AccountEntity::qos:
      return " Deleting QOS(s)...\n" + names;
    case AccountEntity::coordinator:
      return " Removing Coordinators with user name\n" + names + " From Account(s)\n" + account_lines(changed);
    case AccountEntity::user:
      break;
  }
  // A user who is taken out of some accounts only.
  const bool some = std::ranges::any_of(
      change.where, [](const AccountSetting& s) { return is_in(of_place, s) && s.key.starts_with("c") == false; });
  return some ? " Deleting user associations...\n" + association_lines(changed, cluster, false)
              : " Deleting users...\n" + names;
}

}  // namespace millrace
