// src/core/ledger/apply_account.h - associations, QOS and usage as events change them, and what live jobs count for in
// them.
#pragma once

#include <map>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

void change_association(State& state, const AssociationChanged& e);
void remove_association(State& state, const AssociationRemoved& e);
void change_qos(State& state, const QosChanged& e);
void remove_qos(State& state, const QosRemoved& e);
// Nobody has it any more; nothing is counted anew.
void forget_qos(State& state, QosId id);
void change_account_user(State& state, const AccountUserChanged& e);
void note_transaction(State& state, const TransactionNoted& e);
void reset_usage(State& state, const UsageReset& e);

// The association whose account, user and partition the job names, or 0.
AssociationId association_of(const State& state, const JobSpec& spec);
// The QOS of its partition where there is one; its limits hold besides those of the job's own.
const Qos* partition_qos(const State& state, const JobSpec& spec);
// The job as it would be in another of its partitions: limits may differ there.
Job in_partition(const State& state, const Job& job, PartitionIndex partition);
// Everything the job counts for: its association and all above it, its QOS and that of its partition with user and
// account in them.
std::vector<UseKey> holders_of(const State& state, const Job& job);
// How the history of this holder fades.
Fade fade_of(const State& state, const UseKey& key);

// Adds the job to everything it counts for, or takes it away. Around each change of a job that matters: away before,
// added after.
enum class Count : std::uint8_t { add, take_away };
void count_job(State& state, const Job& job, Count count, Time at);

// Finds every live job's association again and counts all of them anew. Before the configuration changes: settle_all.
void settle_all(State& state, Time at);
void recount(State& state, Time at);
// The part of every Use that follows from the jobs.
std::map<UseKey, Use> count_all(const State& state);
// New names of AccountingStorageTRES get a slot.
void add_tres_names(State& state);

// The accounts a user coordinates, with all below them; sorted.
std::vector<std::string> coordinated_by(const State& state, const std::string& user);

}  // namespace millrace
