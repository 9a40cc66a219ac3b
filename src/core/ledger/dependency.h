// src/core/ledger/dependency.h - which dependencies a change of one job fulfils or makes impossible.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

bool dependencies_met(const Job& job);
// aftercorr of an array becomes, for this task of it, a wait for that task of the other one. True: it has such a
// dependency.
bool correspond(Job& job, std::uint32_t task);
bool dependencies_never(const Job& job);

// Notes that this job waits for the targets it names, so that their changes find it.
void remember_dependents(State& state, const Job& job);

// It waits for nobody any more.
void forget_dependents(State& state, const Job& job);

// It is forgotten: nobody waits for it any more.
void forget_target(State& state, JobKey target);

// What one dependency comes to now, looking at its target. Used at submission and whenever the target changes.
DependencyState look_at(const State& state, const Dependency& dependency, Time now);

// Waiting components are as eligible as their leader, whose dependencies and begin time are those of the whole.
void follow_leader(State& state, JobKey leader);

// Sets eligible_at or the deadline at which it will be set, and puts the job into the queue if it may go there.
void refresh_eligibility(State& state, JobKey key, Time at);
// The target started or ended: look again at everyone who waits for it, or for the array it belongs to.
void resolve_dependents(State& state, const Job& target, Time at);
// A job of this name and user is gone: let the oldest waiting singleton pass.
void resolve_singletons(State& state, UserId uid, std::uint64_t name_bits, Time at);
// Looks again at one job's own dependencies, e.g. when after:J+minutes is due.
void look_again(State& state, JobKey key, Time at);

}  // namespace millrace
