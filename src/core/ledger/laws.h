// src/core/ledger/laws.h - the laws of single records, for core/ledger/invariants: each looks at what its record names
// and at no table as a whole.
#pragma once

#include <optional>
#include <string>

#include "core/ledger/invariants.h"

namespace millrace {

using Law = std::optional<BrokenLaw>;  // nothing: it holds

inline Law broken(std::string words, BrokenRecord record = {}) { return BrokenLaw{std::move(words), record}; }
Law broken_job(std::string words, JobKey key);
Law broken_node(const Node& node, NodeIndex index, const char* words);
std::string of(const Job& job);  // "job 12: "

Law check_job(const State& state, JobKey key, const Job& job);
// Of a heterogeneous job: its components among each other, all at once.
Law check_whole(const State& state, const Job& leader);
// Whether the job or a component of it waits for nodes to be powered up.
Law check_boot(const State& state, const Job& job);
// A job that recurs has an entry in a crontab.
Law check_recurring(const State& state, const Job& job);

Law check_orders(const State& state, NodeIndex index, const Node& node);
Law check_power(NodeIndex index, const Node& node);
// What is used of it is what its jobs hold.
Law check_sum(const State& state, NodeIndex index, const Node& node);

Law check_array(JobKey key, const ArrayState& array);
Law check_crontab(const State& state, UserId uid, const Crontab& crontab);
Law check_trigger(const State& state, TriggerId id, const Trigger& trigger);
Law check_step(const State& state, const StepKey& key, const Step& step);
Law check_kept_run(const State& state, KeptNumber number, const KeptJob& kept);
Law check_reservation(const State& state, ReservationId id, const Reservation& reservation);
Law check_association(const State& state, AssociationId id, const Association& association);
Law check_qos(const State& state, QosId id, const Qos& qos);
Law check_use(const State& state, const UseKey& key, const Use& use);

}  // namespace millrace
