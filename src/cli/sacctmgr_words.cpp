// src/cli/sacctmgr_words.cpp - what sacctmgr says before it changes something.
#include <algorithm>

#include "cli/sacctmgr.h"
#include "millrace.pb.h"

namespace millrace {
namespace {

using Text = std::string_view;

constexpr Text of_user[] = {"adminlevel", "admin", "defaultaccount", "defaultwckey", "wckey", "wckeys"};
constexpr Text of_account[] = {"description", "organization"};
constexpr Text of_place[] = {"account", "accounts", "acct", "cluster", "clusters", "partition", "partitions"};

bool is_in(std::span<const Text> list, const AccountSetting& s) { return std::ranges::find(list, Text{s.key}) != list.end(); }

std::string cell(Text text, std::size_t width) {
  std::string out{text.substr(0, width)};
  out.resize(std::max(out.size(), width), ' ');
  return out;
}

std::string setting_lines(const AccountChange& change) {
  std::string out;
  for (const AccountSetting& s : change.set) {
    if (is_in(of_place, s)) continue;
    std::string name = s.key;
    if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    out += "  " + cell(name, 15) + " = " + s.value + '\n';
  }
  return out;
}

std::string association_lines(const wire::AccountsChanged& changed, const std::string& cluster, bool added) {
  std::string out;
  for (const auto& a : changed.associations()) {
    if (a.user().empty()) {
      out += added ? "  A = " + cell(a.account(), 10) + " C = " + cell(cluster, 10) : "  C = " + cell(cluster, 10) + " A = " + cell(a.account(), 20);
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

std::string adding(const AccountChange& change, const wire::AccountsChanged& changed, const std::string& names, const std::string& cluster) {
  constexpr const char* headings[] = {" Adding Account(s)\n", " Adding User(s)\n", " Adding QOS(s)\n", " Adding Coordinator User(s)\n"};
  std::string out = headings[static_cast<std::size_t>(change.entity)] + names;
  if (change.entity == AccountEntity::coordinator) return out + " To Account(s) and all sub-accounts\n" + account_lines(changed);
  const std::string settings = setting_lines(change), associations = association_lines(changed, cluster, true);
  if (change.entity == AccountEntity::user) return out + " Associations =\n" + associations + (settings.empty() ? "" : " Non Default Settings\n" + settings);
  if (!settings.empty()) out += " Settings\n" + settings;
  return change.entity == AccountEntity::account ? out + " Associations\n" + associations : out;
}

// What is about the account or the user as such, and what about the places in the tree.
std::string modified(const AccountChange& change, const wire::AccountsChanged& changed, const std::string& names, const std::string& cluster) {
  if (change.entity == AccountEntity::qos) return " Modified qos...\n" + names;
  const bool user = change.entity == AccountEntity::user;
  const std::span<const Text> own = user ? std::span<const Text>{of_user} : std::span<const Text>{of_account};
  const bool itself = std::ranges::any_of(change.set, [&](const AccountSetting& s) { return is_in(own, s); });
  const bool places = std::ranges::any_of(change.set, [&](const AccountSetting& s) { return !is_in(own, s); });
  std::string out;
  if (itself) out += (user ? " Modified users...\n" : " Modified accounts...\n") + names;
  if (places) out += (user ? " Modified user associations...\n" : " Modified account associations...\n") + association_lines(changed, cluster, false);
  return out;
}

}  // namespace

std::string sacctmgr_announcement(const AccountChange& change, const wire::AccountsChanged& changed, const std::string& cluster) {
  std::string names;
  for (const std::string& name : changed.names()) names += "  " + name + '\n';
  if (change.action == AccountAction::add) return adding(change, changed, names, cluster);
  if (change.action == AccountAction::modify) return modified(change, changed, names, cluster);
  switch (change.entity) {
    case AccountEntity::account: return " Deleting accounts...\n" + names;
    case AccountEntity::qos: return " Deleting QOS(s)...\n" + names;
    case AccountEntity::coordinator: return " Removing Coordinators with user name\n" + names + " From Account(s)\n" + account_lines(changed);
    case AccountEntity::user: break;
  }
  // A user who is taken out of some accounts only.
  const bool some = std::ranges::any_of(change.where, [](const AccountSetting& s) { return is_in(of_place, s) && s.key.starts_with("c") == false; });
  return some ? " Deleting user associations...\n" + association_lines(changed, cluster, false) : " Deleting users...\n" + names;
}

}  // namespace millrace
