// src/core/admission/charge_job.h - whom a job is charged to: its account and QOS as asked or by default, and whether
// they take it.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct Charge {
  std::string account;  // empty: none asked and no default
  QosId qos;            // 0: none
};

// `qos`: the name asked for, or empty. What is unknown is refused where AccountingStorageEnforce says so, and goes
// through elsewhere.
std::expected<Charge, Refusal> decide_charge(const State& state, const JobSpec& spec, PartitionIndex partition,
                                             const std::string& qos);

// What no further job of this account, user or QOS may pass: MaxSubmit and GrpSubmit, and with DenyOnLimit the limits
// of one job.
std::expected<void, Refusal> check_submit_limits(const State& state, const Job& job, std::uint32_t tasks, Time now);

// The names an association may use: its own list, else that of the nearest account above that has one.
const std::vector<std::uint32_t>& allowed_qos(const State& state, const Association& association);
QosId default_qos(const State& state, const Association& association);
std::string default_account(const State& state, const std::string& user);

// The workload key of a job that asks for this one: where they are tracked and none is asked for, the default of its
// user behind a '*'.
std::expected<std::string, Refusal> decide_wckey(const State& state, const std::string& user, const std::string& asked);

}  // namespace millrace
