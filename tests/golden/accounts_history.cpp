// tests/golden/accounts_history.cpp - the history of format 1 with accounts, QOS, limits and usage after it.
#include "history.h"

namespace millrace {
namespace {

constexpr std::int64_t begin = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

Time at(std::int64_t second) { return Time{begin + second * 1'000'000 + 250}; }

Limits every_limit() {
  Limits limits;
  limits.grp_tres = {{"cpu", 64}, {"mem", 65'536}, {"gres/gpu", 4}};
  limits.grp_tres_mins = {{"cpu", 100'000}};
  limits.grp_tres_run_mins = {{"cpu", 5000}, {"billing", 9000}};
  limits.max_tres_per_job = {{"cpu", 32}, {"node", 4}};
  limits.max_tres_per_node = {{"cpu", 16}};
  limits.max_tres_mins_per_job = {{"cpu", 1440}};
  limits.grp_jobs = 20;
  limits.grp_submit = 100;
  limits.grp_wall_minutes = 100'000;
  limits.max_jobs = 5;
  limits.max_submit = 50;
  limits.max_wall_minutes = 2880;
  return limits;
}

QosChanged qos(std::uint32_t id, const char* name, std::uint32_t priority, std::int64_t second) {
  Qos out;
  out.id = QosId{id};
  out.name = out.description = name;
  out.priority = priority;
  return {out, at(second)};
}

QosChanged full_qos() {
  QosChanged e = qos(2, "high", 100, 502);
  e.qos.preempts = {1};
  e.qos.preempt_mode = QosPreemptMode::requeue;
  e.qos.grace_seconds = 60;
  e.qos.preempt_exempt_seconds = 300;
  e.qos.usage_factor_thousandths = 1500;
  e.qos.flags = qos_deny_on_limit | qos_over_part_qos;
  e.qos.limits = every_limit();
  e.qos.max_tres_per_user = {{"cpu", 16}};
  e.qos.max_tres_per_account = {{"cpu", 48}};
  e.qos.max_run_mins_per_user = {{"cpu", 600}};
  e.qos.max_run_mins_per_account = {{"cpu", 1800}};
  e.qos.min_tres_per_job = {{"cpu", 1}};
  e.qos.max_jobs_per_account = 9;
  e.qos.max_submit_per_account = 99;
  return e;
}

AssociationChanged association(std::uint32_t id, std::uint32_t parent, const char* account, const char* user,
                               std::int64_t second) {
  Association out;
  out.id = AssociationId{id};
  out.parent = AssociationId{parent};
  out.account = account;
  out.user = user;
  return {out, at(second)};
}

std::vector<Event> tree() {
  AssociationChanged root = association(1, 0, "root", "", 503), lab = association(2, 1, "lab", "", 504),
                     alice = association(3, 2, "lab", "alice", 505);
  root.association.qos = {1};
  lab.association.description = "the lab";
  lab.association.organization = "physics";
  lab.association.shares = 30;
  lab.association.priority = 7;
  lab.association.limits = every_limit();
  lab.association.qos = {1, 2};
  lab.association.default_qos = QosId{1};
  alice.association.shares = shares_of_parent;
  alice.association.is_default = true;
  AssociationChanged other = association(4, 2, "lab", "alice", 506);
  other.association.partition = "batch";
  return {root, lab, alice, other, association(5, 1, "spare", "", 507)};
}

ClusterConfigured configured_with_weights(const std::vector<GoldenBatch>& before) {
  ClusterConfigured out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<ClusterConfigured>(&event)) out = *e;
  PriorityPolicy& p = out.policy.priority;
  p.age = 1000;
  p.assoc = 10;
  p.fairshare = 10'000;
  p.job_size = 100;
  p.partition = 200;
  p.qos = 3000;
  p.tres = {{"cpu", 500'000'000'000, 1}};
  p.max_age_seconds = 86'400;
  p.half_life_seconds = 3600;
  p.calc_period_seconds = 60;
  p.damping = 3;
  p.flags = priority_no_fair_tree | priority_max_tres;
  p.reset = ResetPeriod::yearly;
  p.favor_small = true;
  out.policy.basic_priority = false;
  out.policy.enforce = enforce_associations | enforce_limits | enforce_qos;
  out.policy.tres = {"license/fluent"};
  out.partitions.front().qos = "high";
  out.partitions.front().allow_qos = {"normal", "high"};
  out.partitions.front().deny_qos = {"spare"};
  out.partitions.front().billing_weights = {{"cpu", 1'000'000'000, 1}, {"mem", 250'000'000, 1024}};
  out.at = at(500);
  return out;
}

JobSubmitted charged(const std::vector<GoldenBatch>& before) {
  JobSubmitted out;
  for (const GoldenBatch& batch : before)
    for (const Event& event : batch.events)
      if (const auto* e = std::get_if<JobSubmitted>(&event); e && e->key.value == 8) out = *e;
  out.key = JobKey{9};
  out.id = JobId{9};
  out.spec.account = "lab";
  out.spec.submission[0] = 99;
  out.qos = QosId{2};
  out.priority = 4321;
  out.priority_fixed = true;
  out.at = at(510);
  return out;
}

}  // namespace

std::vector<GoldenBatch> accounts_history() {
  std::vector<GoldenBatch> out = format1_history();
  const ClusterConfigured configured = configured_with_weights(out);
  const JobSubmitted job = charged(out);
  const NodeShare share{NodeIndex{0}, Cpus{2}, Mebibytes{100}, 1, false, {}};
  JobModified account, fixed;
  account.key = JobKey{8};
  account.account = "lab";
  account.at = at(512);
  fixed.key = JobKey{9};
  fixed.priority = 77;
  fixed.priority_fixed = true;
  fixed.qos = QosId{1};
  fixed.at = at(511);
  out.push_back({{}, {configured}});
  out.push_back({{}, {qos(1, "normal", 10, 501), full_qos(), qos(3, "spare", 0, 502)}});
  out.push_back({{}, tree()});
  out.push_back({{}, {job, fixed, account}});
  out.push_back({{}, {JobPlaced{JobKey{9}, Attempt{0}, {share}, false, at(520), {}, {}, 77}}});
  out.push_back({{}, {AttemptEnded{JobKey{9}, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, at(5000)}}});
  out.push_back({{}, {AssociationRemoved{AssociationId{5}, at(5001)}, QosRemoved{QosId{3}, at(5002)}}});
  out.push_back({{}, {UsageReset{AssociationId{4}, at(5003)}, qos(4, "late", 1, 5004)}});
  return out;
}

}  // namespace millrace
