// src/core/model/account.h - who pays and who may: accounts, the users in them, qualities of service, their limits; how
// jobs are ordered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"
#include "core/model/tres.h"

namespace millrace {

using AssociationId = Id<struct AssociationTag>;  // 0: none; never given out twice
using QosId = Id<struct QosTag>;                  // 0: none; never given out twice

// Nothing set: no limit. Grp limits hold for all jobs below taken together, the others for one job, or for one user.
struct Limits {
  TresList grp_tres, grp_tres_mins, grp_tres_run_mins;
  TresList max_tres_per_job, max_tres_per_node, max_tres_mins_per_job;
  std::optional<std::uint32_t> grp_jobs, grp_submit, grp_wall_minutes;
  std::optional<std::uint32_t> max_jobs, max_submit, max_wall_minutes;  // of a QOS: per user
  bool operator==(const Limits&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "grp_tres", self.grp_tres);
    visit(2, "grp_tres_mins", self.grp_tres_mins);
    visit(3, "grp_tres_run_mins", self.grp_tres_run_mins);
    visit(4, "max_tres_per_job", self.max_tres_per_job);
    visit(5, "max_tres_per_node", self.max_tres_per_node);
    visit(6, "max_tres_mins_per_job", self.max_tres_mins_per_job);
    visit(7, "grp_jobs", self.grp_jobs);
    visit(8, "grp_submit", self.grp_submit);
    visit(9, "grp_wall_minutes", self.grp_wall_minutes);
    visit(10, "max_jobs", self.max_jobs);
    visit(11, "max_submit", self.max_submit);
    visit(12, "max_wall_minutes", self.max_wall_minutes);
  }
};

// Who may take nodes from whom: jobs of a partition with a higher tier, or of a QOS that names the other.
enum class PreemptType : std::uint8_t { none, partition, qos };
// What becomes of a job that has to make room; `cluster`: what the cluster says.
enum class PreemptMode : std::uint8_t { cluster, off, cancel, requeue, suspend };

enum class QosPreemptMode : std::uint8_t { cluster, off, cancel, requeue, suspend };

enum QosFlag : std::uint32_t {
  qos_deny_on_limit = 1,
  qos_no_reserve = 2,
  qos_over_part_qos = 4,
  qos_partition_max_nodes = 8,
  qos_partition_min_nodes = 16,
  qos_partition_time_limit = 32,
  qos_no_decay = 64,
  qos_usage_factor_safe = 128,
  qos_requires_reservation = 256,
  qos_enforce_usage_threshold = 512,
};

struct Qos {
  QosId id;
  std::string name, description;
  std::uint32_t priority = 0;
  std::vector<std::uint32_t> preempts;  // QosId values it may take nodes from
  QosPreemptMode preempt_mode{};
  std::uint32_t grace_seconds = 0;
  std::optional<std::uint32_t> preempt_exempt_seconds;
  std::uint32_t usage_factor_thousandths = 1000;
  std::uint32_t flags = 0;  // of QosFlag
  Limits limits;
  TresList max_tres_per_user, max_tres_per_account, max_run_mins_per_user, max_run_mins_per_account, min_tres_per_job;
  std::optional<std::uint32_t> max_jobs_per_account, max_submit_per_account;
  bool operator==(const Qos&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "name", self.name);
    visit(3, "description", self.description);
    visit(4, "priority", self.priority);
    visit(5, "preempts", self.preempts);
    visit(6, "preempt_mode", self.preempt_mode);
    visit(7, "grace_seconds", self.grace_seconds);
    visit(8, "preempt_exempt_seconds", self.preempt_exempt_seconds);
    visit(9, "usage_factor_thousandths", self.usage_factor_thousandths);
    visit(10, "flags", self.flags);
    visit(11, "limits", self.limits);
    visit(12, "max_tres_per_user", self.max_tres_per_user);
    visit(13, "max_tres_per_account", self.max_tres_per_account);
    visit(14, "max_run_mins_per_user", self.max_run_mins_per_user);
    visit(15, "max_run_mins_per_account", self.max_run_mins_per_account);
    visit(16, "min_tres_per_job", self.min_tres_per_job);
    visit(17, "max_jobs_per_account", self.max_jobs_per_account);
    visit(18, "max_submit_per_account", self.max_submit_per_account);
  }
};

constexpr std::uint32_t shares_of_parent = 0x7fffffff;  // Fairshare=parent

// An account (no user), or a user in an account, perhaps only for one partition.
struct Association {
  AssociationId id, parent;  // parent 0: the root of the tree
  std::string account, user, partition;
  std::string description, organization;  // of an account
  std::uint32_t shares = 1;
  std::uint32_t priority = 0;
  Limits limits;
  std::vector<std::uint32_t> qos;           // QosId values that may be used; empty: as the parent
  QosId default_qos;                        // 0: as the parent
  bool is_default = false;                  // this account is the user's default
  std::vector<std::string> coordinators{};  // of an account: who may change it and all below, sorted
  bool operator==(const Association&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "parent", self.parent);
    visit(3, "account", self.account);
    visit(4, "user", self.user);
    visit(5, "partition", self.partition);
    visit(6, "description", self.description);
    visit(7, "organization", self.organization);
    visit(8, "shares", self.shares);
    visit(9, "priority", self.priority);
    visit(10, "limits", self.limits);
    visit(11, "qos", self.qos);
    visit(12, "default_qos", self.default_qos);
    visit(13, "is_default", self.is_default);
    visit(990, "coordinators", self.coordinators);
  }
};

enum class AdminLevel : std::uint8_t { none, operates, administers };  // written to the log: never reorder

// What is known of a user besides the accounts.
struct AccountUser {
  std::string name;
  AdminLevel admin_level{};
  std::vector<std::string> wckeys{};  // sorted
  std::string default_wckey{};
  bool operator==(const AccountUser&) const = default;
  bool says_nothing() const { return admin_level == AdminLevel::none && wckeys.empty() && default_wckey.empty(); }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "admin_level", self.admin_level);
    visit(3, "wckeys", self.wckeys);
    visit(4, "default_wckey", self.default_wckey);
  }
};

using TransactionId = Id<struct TransactionTag, std::uint64_t>;

// A change somebody made to the accounts, in words.
struct Transaction {
  TransactionId id;
  Time at;
  std::string actor, action, where, info;
  std::string accounts, users;  // it was about; comma between several
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "at", self.at);
    visit(3, "actor", self.actor);
    visit(4, "action", self.action);
    visit(5, "where", self.where);
    visit(6, "info", self.info);
    visit(7, "accounts", self.accounts);
    visit(8, "users", self.users);
  }
};

enum class ResetPeriod : std::uint8_t { none, now, daily, weekly, monthly, quarterly, yearly };

enum PriorityFlag : std::uint32_t {
  priority_accrue_always = 1,
  priority_calculate_running = 2,
  priority_depth_oblivious = 4,
  priority_no_fair_tree = 8,
  priority_incr_only = 16,
  priority_max_tres = 32,
  priority_small_relative_to_time = 64,
  priority_no_normal_assoc = 128,
  priority_no_normal_part = 256,
  priority_no_normal_qos = 512,
  priority_no_normal_tres = 1024,
};

// The Priority* keys of slurm.conf.
struct PriorityPolicy {
  std::uint32_t age = 0, assoc = 0, fairshare = 0, job_size = 0, partition = 0, qos = 0;  // weights
  std::vector<TresWeight> tres;
  std::uint32_t max_age_seconds = 7 * 86400;
  std::uint32_t half_life_seconds = 7 * 86400;  // 0: past usage does not fade
  std::uint32_t calc_period_seconds = 300;
  std::uint32_t damping = 1;  // FairShareDampeningFactor
  std::uint32_t flags = 0;    // of PriorityFlag
  ResetPeriod reset{};
  bool favor_small = false;
  bool operator==(const PriorityPolicy&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "age", self.age);
    visit(2, "assoc", self.assoc);
    visit(3, "fairshare", self.fairshare);
    visit(4, "job_size", self.job_size);
    visit(5, "partition", self.partition);
    visit(6, "qos", self.qos);
    visit(7, "tres", self.tres);
    visit(8, "max_age_seconds", self.max_age_seconds);
    visit(9, "half_life_seconds", self.half_life_seconds);
    visit(10, "calc_period_seconds", self.calc_period_seconds);
    visit(11, "damping", self.damping);
    visit(12, "flags", self.flags);
    visit(13, "reset", self.reset);
    visit(14, "favor_small", self.favor_small);
  }
};

// AccountingStorageEnforce.
enum EnforceFlag : std::uint32_t {
  enforce_associations = 1,
  enforce_limits = 2,
  enforce_qos = 4,
  enforce_safe = 8,
  enforce_wckeys = 16
};

// AccountingStoreFlags: what of a job is kept for sacct.
enum StoreFlag : std::uint32_t { store_script = 1, store_environment = 2, store_comment = 4, store_extra = 8 };

}  // namespace millrace
