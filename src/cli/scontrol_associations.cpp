// src/cli/scontrol_associations.cpp - scontrol show assoc_mgr: users, accounts and qualities of service as the
// controller holds them.
#include <map>
#include <set>

#include "base/text.h"
#include "cli/scontrol.h"
#include "core/model/account.h"

namespace millrace {
namespace {

std::string limit_text(const google::protobuf::RepeatedPtrField<wire::TresAmount>& limits) {
  std::string out;
  for (const wire::TresAmount& each : limits)
    out += (out.empty() ? "" : ",") + each.name() + '=' + std::to_string(each.amount());
  return out;
}

std::string share_text(std::int64_t billionths) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6f", static_cast<double>(billionths) / 1e9);
  return buffer;
}

std::string counted(bool limited, std::uint32_t most, std::uint32_t used) {
  return (limited ? std::to_string(most) : "N") + '(' + std::to_string(used) + ')';
}

std::string association_record(const wire::AssociationView& view, const std::string& cluster,
                               const std::map<std::uint32_t, std::string>& accounts) {
  const wire::Association& a = view.association();
  const wire::Limits& limits = a.limits();
  const auto parent = accounts.find(a.parent());
  return "ClusterName=" + cluster + " Account=" + a.account() + " UserName=" + a.user() +
         " Partition=" + a.partition() + " Priority=" + std::to_string(a.priority()) + " ID=" + std::to_string(a.id()) +
         "\n    SharesRaw/Norm/Level/Factor=" + std::to_string(a.shares()) + '/' + share_text(view.norm_shares()) +
         '/' + share_text(view.level_fs() < 0 ? 0 : view.level_fs()) + '/' + share_text(view.factor()) +
         "\n    UsageRaw/Norm/Efctv=" + std::to_string(view.raw_usage()) + '/' + share_text(view.norm_usage()) + '/' +
         share_text(view.level_usage()) + "\n    ParentAccount=" + (parent == accounts.end() ? "" : parent->second) +
         (parent == accounts.end() ? "" : '(' + std::to_string(a.parent()) + ')') +
         " DefAssoc=" + (a.is_default() ? "Yes" : "No") +
         "\n    GrpJobs=" + counted(limits.has_grp_jobs(), limits.grp_jobs(), view.running()) +
         " GrpSubmitJobs=" + counted(limits.has_grp_submit(), limits.grp_submit(), view.submitted()) +
         " GrpWall=" + (limits.has_grp_wall_minutes() ? std::to_string(limits.grp_wall_minutes()) : "N") +
         "\n    GrpTRES=" + limit_text(limits.grp_tres()) + "\n    GrpTRESMins=" + limit_text(limits.grp_tres_mins()) +
         "\n    GrpTRESRunMins=" + limit_text(limits.grp_tres_run_mins()) +
         "\n    MaxJobs=" + counted(limits.has_max_jobs(), limits.max_jobs(), view.running()) +
         " MaxSubmitJobs=" + counted(limits.has_max_submit(), limits.max_submit(), view.submitted()) +
         " MaxWallPJ=" + (limits.has_max_wall_minutes() ? std::to_string(limits.max_wall_minutes()) : "") +
         "\n    MaxTRESPJ=" + limit_text(limits.max_tres_per_job()) +
         "\n    MaxTRESPN=" + limit_text(limits.max_tres_per_node()) +
         "\n    MaxTRESMinsPJ=" + limit_text(limits.max_tres_mins_per_job()) + '\n';
}

std::string qos_record(const wire::Qos& qos) {
  const wire::Limits& limits = qos.limits();
  return "QOS=" + qos.name() + '(' + std::to_string(qos.id()) +
         ")\n    UsageRaw=0\n    Priority=" + std::to_string(qos.priority()) +
         " GraceTime=" + std::to_string(qos.grace_seconds()) + "\n    GrpTRES=" + limit_text(limits.grp_tres()) +
         "\n    GrpTRESMins=" + limit_text(limits.grp_tres_mins()) +
         "\n    MaxTRESPJ=" + limit_text(limits.max_tres_per_job()) +
         "\n    MaxTRESPU=" + limit_text(qos.max_tres_per_user()) +
         "\n    MaxTRESPA=" + limit_text(qos.max_tres_per_account()) +
         "\n    MaxJobsPU=" + (limits.has_max_jobs() ? std::to_string(limits.max_jobs()) : "") +
         " MaxSubmitJobsPU=" + (limits.has_max_submit() ? std::to_string(limits.max_submit()) : "") +
         " MaxWallPJ=" + (limits.has_max_wall_minutes() ? std::to_string(limits.max_wall_minutes()) : "") + '\n';
}

std::string user_record(const std::string& user, const std::string& account, const wire::Accounts& accounts) {
  std::string key, level = user == "root" ? "Administrator" : "Not Set";
  for (const wire::AccountUser& known : accounts.users()) {
    if (known.name() != user) continue;
    key = known.default_wckey();
    if (known.admin_level() != 0)
      level = known.admin_level() == static_cast<std::uint32_t>(AdminLevel::operates) ? "Operator" : "Administrator";
  }
  return "UserName=" + user + " DefAccount=" + account + " DefWckey=" + key + " AdminLevel=" + level + '\n';
}

}  // namespace

// flags=users,assoc,qos chooses kinds of records; users=, accounts= and qos= choose among them.
int scontrol_show_associations(Scontrol& self, std::string_view wanted) {
  std::set<std::string> kinds;
  std::map<std::string, std::set<std::string>> only;
  for (const std::string_view word : split(wanted, ' ')) {
    const std::size_t equals = word.find('=');
    if (trim(word).empty()) continue;
    const std::string key = lower(word.substr(0, equals));
    if (equals == std::string_view::npos || (key != "flags" && key != "users" && key != "accounts" && key != "qos"))
      return say_plain("invalid option for show assoc_mgr: " + std::string{word} +
                       "; known are users=, accounts=, qos= and flags="),
             1;
    for (const std::string_view name : split(word.substr(equals + 1), ','))
      (key == "flags" ? kinds : only[key]).insert(key == "flags" ? lower(name) : std::string{name});
  }
  const auto shown = [&](const std::string& kind) { return kinds.empty() || kinds.contains(kind); };
  const auto chosen = [&](const std::string& key, const std::string& name) {
    return !only.contains(key) || only.at(key).contains(name);
  };
  wire::Request request;
  request.mutable_query_accounts();
  const auto reply = self.ask(request);
  if (!reply) return say_plain("slurm_load_assoc_mgr_info error: " + reply.error().story), 1;
  const wire::Accounts& accounts = reply->accounts();
  std::map<std::uint32_t, std::string> names;
  std::map<std::string, std::string> users;  // with their default account
  for (const auto& view : accounts.associations()) {
    const wire::Association& a = view.association();
    if (a.user().empty())
      names[a.id()] = a.account();
    else if (a.is_default() || !users.contains(a.user()))
      users[a.user()] = a.account();
  }
  std::string out = "Current Association Manager state\n";
  if (shown("users")) {
    out += "\nUser Records\n\n";
    for (const auto& [user, account] : users)
      if (chosen("users", user)) out += user_record(user, account, accounts);
  }
  if (shown("assoc")) {
    out += "\nAssociation Records\n\n";
    for (const auto& view : accounts.associations())
      if (chosen("users", view.association().user()) && chosen("accounts", view.association().account()))
        out += association_record(view, accounts.cluster(), names);
  }
  if (shown("qos")) {
    out += "\nQOS Records\n\n";
    for (const wire::Qos& qos : accounts.qos())
      if (chosen("qos", qos.name())) out += qos_record(qos);
  }
  return print(out);
}

}  // namespace millrace
