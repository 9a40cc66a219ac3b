// src/core/model/limit_reason.cpp - see limit_reason.h.
#include "core/model/limit_reason.h"

#include "base/assert.h"

namespace millrace {
namespace {

enum Class : std::size_t { cpu, memory, node, billing, gres, licence, unknown, classes };

struct ResourceRow {
  LimitScope scope;
  LimitKind kind;
  std::string_view name;
  const char* words[classes];
};

struct PlainRow {
  LimitScope scope;
  LimitKind kind;
  std::string_view name;
  const char* word;
};

constexpr auto A = LimitScope::association, Q = LimitScope::qos;
using enum LimitKind;

// clang-format off
constexpr ResourceRow resource_rows[] = {
    {A, grp_tres, "GrpTRES", {"AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpNodeLimit", "AssocGrpBilling", "AssocGrpGRES", "AssocGrpLicense", "AssocGrpUnknown"}},
    {A, grp_tres_mins, "GrpTRESMins", {"AssocGrpCPUMinutesLimit", "AssocGrpMemMinutes", "AssocGrpNodeMinutes", "AssocGrpBillingMinutes", "AssocGrpGRESMinutes", "AssocGrpLicenseMinutes", "AssocGrpUnknownMinutes"}},
    {A, grp_tres_run_mins, "GrpTRESRunMins", {"AssocGrpCPURunMinutesLimit", "AssocGrpMemRunMinutes", "AssocGrpNodeRunMinutes", "AssocGrpBillingRunMinutes", "AssocGrpGRESRunMinutes", "AssocGrpLicenseRunMinutes", "AssocGrpUnknownRunMinutes"}},
    {A, max_tres_per_job, "MaxTRES", {"AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit", "AssocMaxBillingPerJob", "AssocMaxGRESPerJob", "AssocMaxLicensePerJob", "AssocMaxUnknownPerJob"}},
    {A, max_tres_per_node, "MaxTRESPerNode", {"AssocMaxCpuPerNode", "AssocMaxMemPerNode", "AssocMaxUnknownPerNode", "AssocMaxBillingPerNode", "AssocMaxGRESPerNode", "AssocMaxUnknownPerNode", "AssocMaxUnknownPerNode"}},
    {A, max_tres_mins_per_job, "MaxTRESMins", {"AssocMaxCpuMinutesPerJobLimit", "AssocMaxMemMinutesPerJob", "AssocMaxNodeMinutesPerJob", "AssocMaxBillingMinutesPerJob", "AssocMaxGRESMinutesPerJob", "AssocMaxLicenseMinutesPerJob", "AssocMaxUnknownMinutesPerJob"}},
    {Q, grp_tres, "GrpTRES", {"QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpNodeLimit", "QOSGrpBilling", "QOSGrpGRES", "QOSGrpLicense", "QOSGrpUnknown"}},
    {Q, grp_tres_mins, "GrpTRESMins", {"QOSGrpCPUMinutesLimit", "QOSGrpMemoryMinutes", "QOSGrpNodeMinutes", "QOSGrpBillingMinutes", "QOSGrpGRESMinutes", "QOSGrpLicenseMinutes", "QOSGrpUnknownMinutes"}},
    {Q, grp_tres_run_mins, "GrpTRESRunMins", {"QOSGrpCPURunMinutesLimit", "QOSGrpMemoryRunMinutes", "QOSGrpNodeRunMinutes", "QOSGrpBillingRunMinutes", "QOSGrpGRESRunMinutes", "QOSGrpLicenseRunMinutes", "QOSGrpUnknownRunMinutes"}},
    {Q, max_tres_per_job, "MaxTRES", {"QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxNodePerJobLimit", "QOSMaxBillingPerJob", "QOSMaxGRESPerJob", "QOSMaxLicensePerJob", "QOSMaxUnknownPerJob"}},
    {Q, max_tres_per_node, "MaxTRESPerNode", {"QOSMaxCpuPerNode", "QOSMaxMemoryPerNode", "QOSMaxUnknownPerNode", "QOSMaxBillingPerNode", "QOSMaxGRESPerNode", "QOSMaxUnknownPerNode", "QOSMaxUnknownPerNode"}},
    {Q, max_tres_mins_per_job, "MaxTRESMins", {"QOSMaxCpuMinutesPerJobLimit", "QOSMaxMemoryMinutesPerJob", "QOSMaxNodeMinutesPerJob", "QOSMaxBillingMinutesPerJob", "QOSMaxGRESMinutesPerJob", "QOSMaxLicenseMinutesPerJob", "QOSMaxUnknownMinutesPerJob"}},
    {Q, max_tres_per_user, "MaxTRESPU", {"QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit", "QOSMaxBillingPerUser", "QOSMaxGRESPerUser", "QOSMaxLicensePerUser", "QOSMaxUnknownPerUser"}},
    {Q, max_tres_per_account, "MaxTRESPA", {"MaxCpuPerAccount", "MaxMemoryPerAccount", "MaxNodePerAccount", "MaxBillingPerAccount", "MaxGRESPerAccount", "MaxLicensePerAccount", "MaxUnknownPerAccount"}},
    {Q, max_run_mins_per_user, "MaxTRESRunMinsPU", {"MaxCpuRunMinsPerUser", "MaxMemoryRunMinsPerUser", "MaxNodeRunMinsPerUser", "MaxBillingRunMinsPerUser", "MaxGRESRunMinsPerUser", "MaxLicenseRunMinsPerUser", "MaxUnknownRunMinsPerUser"}},
    {Q, max_run_mins_per_account, "MaxTRESRunMinsPA", {"MaxCpuRunMinsPerAccount", "MaxMemoryRunMinsPerAccount", "MaxNodeRunMinsPerAccount", "MaxBillingRunMinsPerAccount", "MaxGRESRunMinsPerAccount", "MaxLicenseRunMinsPerAccount", "MaxUnknownRunMinsPerAccount"}},
    {Q, min_tres_per_job, "MinTRES", {"QOSMinCpuNotSatisfied", "QOSMinMemory", "QOSMinNode", "QOSMinBilling", "QOSMinGRES", "QOSMinLicense", "QOSMinUnknown"}},
};

constexpr PlainRow plain_rows[] = {
    {A, grp_jobs, "GrpJobs", "AssocGrpJobsLimit"},
    {A, grp_submit, "GrpSubmit", "AssocGrpSubmitJobsLimit"},
    {A, grp_wall, "GrpWall", "AssocGrpWallLimit"},
    {A, max_jobs, "MaxJobs", "AssocMaxJobsLimit"},
    {A, max_submit, "MaxSubmit", "AssocMaxSubmitJobLimit"},
    {A, max_wall, "MaxWall", "AssocMaxWallDurationPerJobLimit"},
    {Q, grp_jobs, "GrpJobs", "QOSGrpJobsLimit"},
    {Q, grp_submit, "GrpSubmit", "QOSGrpSubmitJobsLimit"},
    {Q, grp_wall, "GrpWall", "QOSGrpWallLimit"},
    {Q, max_jobs, "MaxJobsPU", "QOSMaxJobsPerUserLimit"},
    {Q, max_submit, "MaxSubmitPU", "QOSMaxSubmitJobPerUserLimit"},
    {Q, max_wall, "MaxWall", "QOSMaxWallDurationPerJobLimit"},
    {Q, max_jobs_per_account, "MaxJobsPA", "MaxJobsPerAccount"},
    {Q, max_submit_per_account, "MaxSubmitPA", "MaxSubmitJobsPerAccount"},
};
// clang-format on

// The numbers are in the log (what a job waited for): rows are added at the end of their table, never moved.
constexpr std::size_t plain_base = static_cast<std::size_t>(Reason::first_limit);
constexpr std::size_t base = plain_base + 26;
static_assert(plain_base + std::size(plain_rows) <= base);
static_assert(base + std::size(resource_rows) * classes <= 256, "a Reason is one byte");

std::size_t class_of(std::string_view tres) {
  if (tres == "cpu") return cpu;
  if (tres == "mem") return memory;
  if (tres == "node") return node;
  if (tres == "billing") return billing;
  if (tres.starts_with("gres/")) return gres;
  return tres.starts_with("license/") ? licence : unknown;
}

}  // namespace

std::string_view limit_name(LimitScope scope, LimitKind kind) {
  for (const ResourceRow& row : resource_rows)
    if (row.scope == scope && row.kind == kind) return row.name;
  for (const PlainRow& row : plain_rows)
    if (row.scope == scope && row.kind == kind) return row.name;
  return "limit";
}

Reason limit_reason(LimitScope scope, LimitKind kind, std::string_view tres) {
  for (std::size_t i = 0; i < std::size(resource_rows); ++i)
    if (resource_rows[i].scope == scope && resource_rows[i].kind == kind)
      return static_cast<Reason>(base + i * classes + class_of(tres));
  for (std::size_t i = 0; i < std::size(plain_rows); ++i)
    if (plain_rows[i].scope == scope && plain_rows[i].kind == kind) return static_cast<Reason>(plain_base + i);
  assertion_failed("a limit without a reason");
}

bool is_limit(Reason reason) {
  const auto value = static_cast<std::size_t>(reason);
  return (value >= plain_base && value < plain_base + std::size(plain_rows)) ||
         (value >= base && value < base + std::size(resource_rows) * classes);
}

const char* limit_word(Reason reason) {
  MR_ASSERT(is_limit(reason));
  const auto value = static_cast<std::size_t>(reason);
  if (value < base) return plain_rows[value - plain_base].word;
  return resource_rows[(value - base) / classes].words[(value - base) % classes];
}

}  // namespace millrace
