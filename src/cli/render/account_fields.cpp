// src/cli/render/account_fields.cpp - see account_fields.h; widths and headers are those of Slurm.
#include "cli/render/account_fields.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace millrace {
namespace {

using A = AssociationRow;
using Q = QosRow;

template <class List>
std::string tres_text(const List& list) {
  std::string out;
  for (const auto& each : list)
    out += (out.empty() ? "" : ",") + each.name() + '=' + format_tres_amount(each.name(), each.amount());
  return out;
}

using L = wire::Limits;
enum class Limit : std::uint8_t {
  grp_tres,
  grp_tres_mins,
  grp_tres_run_mins,
  max_tres,
  max_tres_per_node,
  max_tres_mins,
  grp_jobs,
  grp_submit,
  max_jobs,
  max_submit,
  grp_wall,
  max_wall
};

// The same for associations and QOS.
std::string limit_text(const L& limits, Limit which) {
  const auto count = [](bool has, std::uint32_t value) { return has ? std::to_string(value) : std::string{}; };
  const auto wall = [](bool has, std::uint32_t value) {
    return has ? format_duration(static_cast<std::int64_t>(value) * 60) : std::string{};
  };
  switch (which) {
    case Limit::grp_tres:
      return tres_text(limits.grp_tres());
    case Limit::grp_tres_mins:
      return tres_text(limits.grp_tres_mins());
    case Limit::grp_tres_run_mins:
      return tres_text(limits.grp_tres_run_mins());
    case Limit::max_tres:
      return tres_text(limits.max_tres_per_job());
    case Limit::max_tres_per_node:
      return tres_text(limits.max_tres_per_node());
    case Limit::max_tres_mins:
      return tres_text(limits.max_tres_mins_per_job());
    case Limit::grp_jobs:
      return count(limits.has_grp_jobs(), limits.grp_jobs());
    case Limit::grp_submit:
      return count(limits.has_grp_submit(), limits.grp_submit());
    case Limit::max_jobs:
      return count(limits.has_max_jobs(), limits.max_jobs());
    case Limit::max_submit:
      return count(limits.has_max_submit(), limits.max_submit());
    case Limit::grp_wall:
      return wall(limits.has_grp_wall_minutes(), limits.grp_wall_minutes());
    case Limit::max_wall:
      return wall(limits.has_max_wall_minutes(), limits.max_wall_minutes());
  }
  return {};
}

template <class Row>
const L& limits_of(const Row& row) {
  if constexpr (std::is_same_v<Row, Q>)
    return row.qos->limits();
  else
    return row.association().limits();
}

template <class Row, Limit which>
std::string limit(const Row& row) {
  return limit_text(limits_of(row), which);
}

// One resource of a limit, as the fields from before there were others have it.
template <class List>
std::string one_of(const List& list, std::string_view name) {
  for (const auto& each : list)
    if (each.name() == name) return format_tres_amount(each.name(), each.amount());
  return {};
}
template <class Row, auto list>
std::string cpu_of(const Row& row) {
  return one_of((limits_of(row).*list)(), "cpu");
}
template <class Row, auto list>
std::string node_of(const Row& row) {
  return one_of((limits_of(row).*list)(), "node");
}
template <class Row, auto list>
std::string mem_of(const Row& row) {
  return one_of((limits_of(row).*list)(), "mem");
}

using Amounts = google::protobuf::RepeatedPtrField<wire::TresAmount>;
using ListOf = const Amounts& (L::*)() const;
constexpr ListOf grp_tres = &L::grp_tres, grp_mins = &L::grp_tres_mins, grp_run_mins = &L::grp_tres_run_mins,
                 max_tres = &L::max_tres_per_job, max_mins = &L::max_tres_mins_per_job;

// Also those of which there is nothing, in the order of their numbers.
std::string all_amounts(const Amounts& amounts) {
  constexpr std::string_view fixed[] = {"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"};
  std::string out;
  for (const std::string_view name : fixed) {
    const auto it = std::ranges::find_if(amounts, [&](const wire::TresAmount& each) { return each.name() == name; });
    out += (out.empty() ? "" : ",") + std::string{name} + "=" + std::to_string(it == amounts.end() ? 0 : it->amount());
  }
  for (const wire::TresAmount& each : amounts)
    if (std::ranges::find(fixed, std::string_view{each.name()}) == std::end(fixed))
      out += "," + each.name() + "=" + std::to_string(each.amount());
  return out;
}

template <class List>
std::string names_text(const List& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

// /root/physics/alice: from the top.
std::string lineage(const A& row) {
  std::string out;
  for (auto it = row.book->by_id.find(row.association().id()); it != row.book->by_id.end();
       it = row.book->by_id.find(it->second->association().parent())) {
    const wire::Association& a = it->second->association();
    if (!a.user().empty())
      out = "0-" + a.user() + "/" + out;
    else if (a.parent() != 0)
      out = a.account() + "/" + out;
    if (a.parent() == 0) break;
  }
  return "/" + out;
}

// clang-format off
constexpr Field<A> association_rows[] = {
    {"Cluster,Clusters", "Cluster", 10, [](const A& r) { return r.book->answer.cluster(); }},
    {"Account,Acct", "Account", -20, [](const A& r) { return std::string(r.indent ? r.book->depth.at(r.association().id()) : 0, ' ') + r.association().account(); }},
    {"User", "User", 10, [](const A& r) { return r.association().user(); }},
    {"Partition", "Partition", 10, [](const A& r) { return r.association().partition(); }},
    {"Share,FairShare", "Share", 9, [](const A& r) { return r.association().shares() == shares_of_parent ? std::string{"parent"} : std::to_string(r.association().shares()); }},
    {"Priority", "Priority", 10, [](const A& r) { return r.association().priority() == 0 ? std::string{} : std::to_string(r.association().priority()); }},
    {"GrpJobs", "GrpJobs", 7, limit<A, Limit::grp_jobs>},
    {"GrpCPUs", "GrpCPUs", 8, cpu_of<A, grp_tres>},
    {"GrpCPUMins", "GrpCPUMins", 11, cpu_of<A, grp_mins>},
    {"GrpCPURunMins", "GrpCPURunMins", 13, cpu_of<A, grp_run_mins>},
    {"GrpMemory", "GrpMem", 7, mem_of<A, grp_tres>},
    {"GrpNodes", "GrpNodes", 8, node_of<A, grp_tres>},
    {"GrpTRES", "GrpTRES", 13, limit<A, Limit::grp_tres>},
    {"GrpSubmitJobs", "GrpSubmit", 9, limit<A, Limit::grp_submit>},
    {"GrpWall", "GrpWall", 11, limit<A, Limit::grp_wall>},
    {"GrpTRESMins", "GrpTRESMins", 13, limit<A, Limit::grp_tres_mins>},
    {"MaxJobs", "MaxJobs", 7, limit<A, Limit::max_jobs>},
    {"MaxCPUsPerJob", "MaxCPUs", 8, cpu_of<A, max_tres>},
    {"MaxCPUMinsPerJob", "MaxCPUMins", 11, cpu_of<A, max_mins>},
    {"MaxNodesPerJob", "MaxNodes", 8, node_of<A, max_tres>},
    {"MaxTRES,MaxTRESPJ,MaxTRESPerJob", "MaxTRES", 13, limit<A, Limit::max_tres>},
    {"MaxTRESPerNode,MaxTRESPN", "MaxTRESPerNode", 14, limit<A, Limit::max_tres_per_node>},
    {"MaxSubmitJobs", "MaxSubmit", 9, limit<A, Limit::max_submit>},
    {"MaxWallDurationPerJob", "MaxWall", 11, limit<A, Limit::max_wall>},
    {"MaxTRESMinsPerJob,MaxTRESMinsPJ", "MaxTRESMins", 13, limit<A, Limit::max_tres_mins>},
    {"QOS,QOSLevel", "QOS", 20, [](const A& r) { return r.book->allowed_qos(r.association()); }},
    {"DefaultQOS", "Def QOS", 9, [](const A& r) { return r.book->default_qos(r.association()); }},
    {"GrpTRESRunMins", "GrpTRESRunMins", 13, limit<A, Limit::grp_tres_run_mins>},
    {"Description", "Descr", 20, [](const A& r) { return r.association().description(); }},
    {"Organization", "Org", 20, [](const A& r) { return r.association().organization(); }},
    {"DefaultAccount", "Def Acct", 10, [](const A& r) { return r.book->default_account(r.association().user()); }},
    {"AdminLevel", "Admin", 9, [](const A& r) { return r.book->admin_level(r.association().user()); }},
    {"QOSRAWLevel", "QOS_RAW", 10, [](const A& r) {
       std::string out;
       for (const std::uint32_t id : r.association().qos()) out += (out.empty() ? "" : ",") + std::to_string(id);
       return out;
     }},
    {"Coordinators", "Coord Accounts", 20, [](const A& r) { return r.association().user().empty() ? names_text(r.association().coordinators()) : r.book->coordinated_by(r.association().user()); }},
    {"Comment", "Comment", 20, [](const A&) { return std::string{}; }},
    {"DefaultWCKey", "Def WCKey", 10, [](const A& r) { const wire::AccountUser* user = r.book->find_user(r.association().user()); return user ? user->default_wckey() : std::string{}; }},
    {"WCKeys", "WCKeys", 20, [](const A& r) { const wire::AccountUser* user = r.book->find_user(r.association().user()); return user ? names_text(user->wckeys()) : std::string{}; }},
    {"Flags", "Flags", 20, [](const A&) { return std::string{}; }},
    {"Lineage", "Lineage", -20, lineage},
    {"ID", "ID", 6, [](const A& r) { return std::to_string(r.association().id()); }},
    {"ParentID", "ParentID", 8, [](const A& r) { return r.association().parent() == 0 ? std::string{} : std::to_string(r.association().parent()); }},
    {"ParentName", "ParentName", 10, [](const A& r) {
       const auto it = r.book->by_id.find(r.association().parent());
       return it == r.book->by_id.end() || !r.association().user().empty() ? std::string{} : it->second->association().account();
     }},
};

constexpr std::pair<std::uint32_t, std::string_view> flag_words[] = {
    {qos_deny_on_limit, "DenyOnLimit"}, {qos_enforce_usage_threshold, "EnforceUsageThreshold"}, {qos_no_decay, "NoDecay"},
    {qos_no_reserve, "NoReserve"}, {qos_over_part_qos, "OverPartQOS"}, {qos_partition_max_nodes, "PartitionMaxNodes"},
    {qos_partition_min_nodes, "PartitionMinNodes"}, {qos_partition_time_limit, "PartitionTimeLimit"},
    {qos_requires_reservation, "RequiresReservation"}, {qos_usage_factor_safe, "UsageFactorSafe"},
};

std::string flags_text(std::uint32_t flags) {
  std::string out;
  for (const auto& [flag, word] : flag_words)
    if ((flags & flag) != 0) out += (out.empty() ? "" : ",") + std::string{word};
  return out;
}

std::string thousandths_text(std::uint32_t value) { return format_billionths(static_cast<std::int64_t>(value) * 1'000'000, 6); }

constexpr Field<Q> qos_rows[] = {
    {"Name", "Name", 10, [](const Q& r) { return r.qos->name(); }},
    {"Priority", "Priority", 10, [](const Q& r) { return std::to_string(r.qos->priority()); }},
    {"GraceTime", "GraceTime", 10, [](const Q& r) { return format_duration(r.qos->grace_seconds()); }},
    {"Preempt", "Preempt", 10, [](const Q& r) { return r.book->qos_list(r.qos->preempts()); }},
    {"PreemptExemptTime", "PreemptExemptTime", 19, [](const Q& r) { return r.qos->has_preempt_exempt_seconds() ? format_duration(r.qos->preempt_exempt_seconds()) : std::string{}; }},
    {"PreemptMode", "PreemptMode", 11, [](const Q& r) {
       constexpr const char* words[] = {"cluster", "off", "cancel", "requeue", "suspend"};
       return std::string{r.qos->preempt_mode() < std::size(words) ? words[r.qos->preempt_mode()] : "?"};
     }},
    {"Flags", "Flags", 20, [](const Q& r) { return flags_text(r.qos->flags()); }},
    {"UsageThreshold", "UsageThres", 10, [](const Q&) { return std::string{}; }},
    {"UsageFactor", "UsageFactor", 11, [](const Q& r) { return thousandths_text(r.qos->usage_factor_thousandths()); }},
    {"GrpTRES", "GrpTRES", 13, limit<Q, Limit::grp_tres>},
    {"GrpTRESMins", "GrpTRESMins", 13, limit<Q, Limit::grp_tres_mins>},
    {"GrpTRESRunMins", "GrpTRESRunMins", 13, limit<Q, Limit::grp_tres_run_mins>},
    {"GrpJobs", "GrpJobs", 7, limit<Q, Limit::grp_jobs>},
    {"GrpSubmitJobs", "GrpSubmit", 9, limit<Q, Limit::grp_submit>},
    {"GrpWall", "GrpWall", 11, limit<Q, Limit::grp_wall>},
    {"GrpCPUs", "GrpCPUs", 8, cpu_of<Q, grp_tres>},
    {"GrpCPUMins", "GrpCPUMins", 11, cpu_of<Q, grp_mins>},
    {"GrpCPURunMins", "GrpCPURunMins", 13, cpu_of<Q, grp_run_mins>},
    {"GrpMemory", "GrpMem", 7, mem_of<Q, grp_tres>},
    {"GrpNodes", "GrpNodes", 8, node_of<Q, grp_tres>},
    {"MaxCPUsPerJob", "MaxCPUs", 8, cpu_of<Q, max_tres>},
    {"MaxCPUMinsPerJob", "MaxCPUMins", 11, cpu_of<Q, max_mins>},
    {"MaxNodesPerJob", "MaxNodes", 8, node_of<Q, max_tres>},
    {"MaxCPUsPerUser,MaxCPUsPU", "MaxCPUsPU", 9, [](const Q& r) { return one_of(r.qos->max_tres_per_user(), "cpu"); }},
    {"MaxNodesPerUser,MaxNodesPU", "MaxNodesPU", 10, [](const Q& r) { return one_of(r.qos->max_tres_per_user(), "node"); }},
    {"MaxCPURunMinsPerUser,MaxCPURunMinsPU", "MaxCPURunMinsPU", 15, [](const Q& r) { return one_of(r.qos->max_run_mins_per_user(), "cpu"); }},
    {"MinCPUsPerJob", "MinCPUs", 8, [](const Q& r) { return one_of(r.qos->min_tres_per_job(), "cpu"); }},
    {"MaxTRES,MaxTRESPJ,MaxTRESPerJob", "MaxTRES", 13, limit<Q, Limit::max_tres>},
    {"MaxTRESPerNode,MaxTRESPN", "MaxTRESPerNode", 14, limit<Q, Limit::max_tres_per_node>},
    {"MaxTRESMinsPerJob,MaxTRESMinsPJ", "MaxTRESMins", 13, limit<Q, Limit::max_tres_mins>},
    {"MaxWallDurationPerJob", "MaxWall", 11, limit<Q, Limit::max_wall>},
    {"MaxTRESPerUser,MaxTRESPU", "MaxTRESPU", 13, [](const Q& r) { return tres_text(r.qos->max_tres_per_user()); }},
    {"MaxJobsPerUser,MaxJobsPU,MaxJobs", "MaxJobsPU", 9, [](const Q& r) { return limit_text(r.qos->limits(), Limit::max_jobs); }},
    {"MaxSubmitJobsPerUser,MaxSubmitJobsPU,MaxSubmitPU,MaxSubmitJobs", "MaxSubmitPU", 11, [](const Q& r) { return limit_text(r.qos->limits(), Limit::max_submit); }},
    {"MaxTRESPerAccount,MaxTRESPerAcct,MaxTRESPA", "MaxTRESPA", 13, [](const Q& r) { return tres_text(r.qos->max_tres_per_account()); }},
    {"MaxTRESRunMinsPerAccount,MaxTRESRunMinsPerAcct,MaxTRESRunMinsPA", "MaxTRESRunMinsPA", 16, [](const Q& r) { return tres_text(r.qos->max_run_mins_per_account()); }},
    {"MaxTRESRunMinsPerUser,MaxTRESRunMinsPU", "MaxTRESRunMinsPU", 16, [](const Q& r) { return tres_text(r.qos->max_run_mins_per_user()); }},
    {"MaxJobsPerAccount,MaxJobsPerAcct,MaxJobsPA", "MaxJobsPA", 9, [](const Q& r) { return r.qos->has_max_jobs_per_account() ? std::to_string(r.qos->max_jobs_per_account()) : std::string{}; }},
    {"MaxSubmitJobsPerAccount,MaxSubmitJobsPerAcct,MaxSubmitJobsPA,MaxSubmitPA", "MaxSubmitPA", 11, [](const Q& r) { return r.qos->has_max_submit_per_account() ? std::to_string(r.qos->max_submit_per_account()) : std::string{}; }},
    {"MinTRESPerJob", "MinTRES", 13, [](const Q& r) { return tres_text(r.qos->min_tres_per_job()); }},
    {"LimitFactor", "LimitFactor", 11, [](const Q&) { return std::string{}; }},
    {"MaxJobsAccruePerUser,MaxJobsAccruePU", "MaxJobsAccruePU", 15, [](const Q&) { return std::string{}; }},
    {"MaxJobsAccruePerAccount,MaxJobsAccruePerAcct,MaxJobsAccruePA", "MaxJobsAccruePA", 15, [](const Q&) { return std::string{}; }},
    {"MinPrioThreshold", "MinPrioThres", 12, [](const Q&) { return std::string{}; }},
    {"Description", "Descr", 20, [](const Q& r) { return r.qos->description(); }},
    {"ID", "ID", 6, [](const Q& r) { return std::to_string(r.qos->id()); }},
};

constexpr Field<A> share_rows[] = {
    {"Account", "Account", -20, [](const A& r) { return std::string(r.book->depth.at(r.association().id()), ' ') + r.association().account(); }},
    {"User", "User", 10, [](const A& r) { return r.association().user(); }},
    {"Partition", "Partition", 12, [](const A& r) { return r.association().partition(); }},
    {"RawShares", "RawShares", 10, [](const A& r) {
       if (r.association().parent() == 0) return std::string{};
       return r.association().shares() == shares_of_parent ? std::string{"parent"} : std::to_string(r.association().shares());
     }},
    {"NormShares", "NormShares", 11, [](const A& r) { return format_billionths(r.view->norm_shares(), 6); }},
    {"RawUsage", "RawUsage", 11, [](const A& r) { return std::to_string(r.view->raw_usage()); }},
    {"NormUsage", "NormUsage", 11, [](const A& r) { return r.association().parent() == 0 ? std::string{} : format_billionths(r.view->norm_usage(), 6); }},
    {"EffectvUsage", "EffectvUsage", 13, [](const A& r) { return format_billionths(r.view->level_usage(), 6); }},
    {"FairShare", "FairShare", 10, [](const A& r) { return r.association().user().empty() ? std::string{} : format_billionths(r.view->factor(), 6); }},
    {"LevelFS", "LevelFS", 10, [](const A& r) { return r.association().parent() == 0 ? std::string{} : format_billionths(r.view->level_fs(), 6); }},
    {"GrpTRESMins", "GrpTRESMins", 30, [](const A& r) { return tres_text(r.association().limits().grp_tres_mins()); }},
    {"GrpTRESRaw", "GrpTRESRaw", 30, [](const A& r) { return all_amounts(r.view->used_minutes()); }},
    {"TRESRunMins", "TRESRunMins", 30, [](const A& r) { return all_amounts(r.view->run_minutes()); }},
    {"Cluster", "Cluster", 10, [](const A& r) { return r.book->answer.cluster(); }},
    {"ID", "ID", 6, [](const A& r) { return std::to_string(r.association().id()); }},
};
// clang-format on

}  // namespace

const char* const account_columns = "Account,Description,Organization";
const char* const user_columns = "User,DefaultAccount,AdminLevel";
const char* const user_wckey_columns = "User,DefaultAccount,DefaultWCKey,AdminLevel";
const char* const account_association_columns =
    "Cluster,ParentName,User,Share,Priority,GrpJobs,GrpNodes,GrpCPUs,GrpMemory,GrpSubmitJobs,GrpWall,GrpCPUMins,"
    "MaxJobs,MaxNodesPerJob,MaxCPUsPerJob,MaxSubmitJobs,MaxWallDurationPerJob,"
    "MaxCPUMinsPerJob,QOS,DefaultQOS";
const char* const user_association_columns =
    "Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodesPerJob,MaxCPUsPerJob,MaxSubmitJobs,MaxWallDurationPerJob,"
    "MaxCPUMinsPerJob,QOS,DefaultQOS";
const char* const association_columns =
    "Cluster,Account%10,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmitJobs,GrpWall,GrpTRESMins,MaxJobs,"
    "MaxTRES,MaxTRESPerNode,"
    "MaxSubmitJobs,MaxWallDurationPerJob,MaxTRESMinsPerJob,QOS,DefaultQOS,GrpTRESRunMins";
const char* const qos_columns =
    "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,UsageThreshold,UsageFactor,GrpTRES,"
    "GrpTRESMins,GrpTRESRunMins,"
    "GrpJobs,GrpSubmitJobs,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMinsPerJob,MaxWallDurationPerJob,MaxTRESPU,MaxJobsPU,"
    "MaxSubmitPU,MaxTRESPA,"
    "MaxTRESRunMinsPA,MaxTRESRunMinsPU,MaxJobsPA,MaxSubmitPA,MinTRESPerJob";
const char* const share_columns = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
const char* const share_partition_columns =
    "Account,User,Partition,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
const char* const share_long_partition_columns =
    "Account,User,Partition,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,"
    "TRESRunMins";
const char* const share_long_columns =
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,GrpTRESMins,TRESRunMins";

std::span<const Field<AssociationRow>> association_fields() { return association_rows; }
std::span<const Field<QosRow>> qos_fields() { return qos_rows; }
std::span<const Field<AssociationRow>> share_fields() { return share_rows; }

AccountBook::AccountBook(wire::Accounts from) : answer(std::move(from)) {
  std::map<std::uint32_t, std::vector<const wire::AssociationView*>> below;
  for (const wire::Qos& qos : answer.qos()) qos_names[qos.id()] = qos.name();
  for (const wire::AssociationView& view : answer.associations()) {
    by_id[view.association().id()] = &view;
    below[view.association().parent()].push_back(&view);
  }
  // Each once and none by recursion, however the tree hangs together.
  std::vector<std::pair<const wire::AssociationView*, std::uint32_t>> ahead;  // and its depth; the next is the last
  const auto go_below = [&](std::uint32_t parent, std::uint32_t level) {
    auto list = below.extract(parent);
    if (list.empty()) return;
    std::ranges::sort(list.mapped(), std::greater{}, [](const wire::AssociationView* v) {
      return std::tuple{v->association().user().empty(), v->association().account(), v->association().user(),
                        v->association().partition()};
    });
    for (const wire::AssociationView* view : list.mapped()) ahead.emplace_back(view, level);
  };
  go_below(0, 0);
  while (!ahead.empty()) {
    const auto [view, level] = ahead.back();
    ahead.pop_back();
    in_tree_order.push_back(view);
    depth[view->association().id()] = level;
    go_below(view->association().id(), level + 1);
  }
}

std::string AccountBook::qos_list(const google::protobuf::RepeatedField<std::uint32_t>& ids) const {
  std::vector<std::string> names;
  for (const std::uint32_t id : ids)
    if (const auto it = qos_names.find(id); it != qos_names.end()) names.push_back(it->second);
  std::ranges::sort(names);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

const wire::Association* AccountBook::nearest(const wire::Association& from,
                                              bool (*has)(const wire::Association&)) const {
  const wire::Association* at = &from;
  for (std::size_t steps = 0; steps <= by_id.size(); ++steps) {
    if (has(*at)) return at;
    const auto above = by_id.find(at->parent());
    if (above == by_id.end()) break;
    at = &above->second->association();
  }
  return nullptr;
}

std::string AccountBook::allowed_qos(const wire::Association& association) const {
  const auto* found = nearest(association, [](const wire::Association& a) { return a.qos_size() > 0; });
  return found == nullptr ? std::string{} : qos_list(found->qos());
}

std::string AccountBook::default_qos(const wire::Association& association) const {
  const auto* found = nearest(association, [](const wire::Association& a) { return a.default_qos() != 0; });
  const auto name = found == nullptr ? qos_names.end() : qos_names.find(found->default_qos());
  return name == qos_names.end() ? std::string{} : name->second;
}

std::string AccountBook::default_account(const std::string& user) const {
  for (const wire::AssociationView& view : answer.associations())
    if (view.association().user() == user && view.association().is_default()) return view.association().account();
  return {};
}

const wire::AccountUser* AccountBook::find_user(const std::string& user) const {
  for (const wire::AccountUser& each : answer.users())
    if (each.name() == user) return &each;
  return nullptr;
}

std::string AccountBook::admin_level(const std::string& user) const {
  if (user == "root") return "Administrator";
  const wire::AccountUser* known = find_user(user);
  const auto level = known ? static_cast<AdminLevel>(known->admin_level()) : AdminLevel::none;
  return level == AdminLevel::administers ? "Administrator" : level == AdminLevel::operates ? "Operator" : "None";
}

std::string AccountBook::coordinated_by(const std::string& user) const {
  std::string out;
  std::set<std::uint32_t> named;  // those above come first
  for (const wire::AssociationView* view : in_tree_order) {
    const wire::Association& a = view->association();
    if (!a.user().empty()) continue;
    const bool here = std::ranges::find(a.coordinators(), user) != a.coordinators().end();
    if (!here && !named.contains(a.parent())) continue;
    named.insert(a.id());
    out += (out.empty() ? "" : ",") + a.account();
  }
  return out;
}

}  // namespace millrace
