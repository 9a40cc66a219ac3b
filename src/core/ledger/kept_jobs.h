// src/core/ledger/kept_jobs.h - ended jobs that are hidden from everybody but sacct, until they are too old or too
// many.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// The job is being forgotten: its record and its steps move here. Before its steps and its array are.
void keep_ended(State& state, JobKey key, Time at);
// The job goes back to the queue: this run of it is over.
void keep_run(State& state, JobKey key, Time at);
// Those whose time is over, or who are too many. `coming`: rows that need room.
void drop_kept(State& state, Time at, std::uint64_t coming = 0);

// All that have this number or belong to it (tasks of an array, components), the newest last.
std::vector<const KeptJob*> kept_named(const State& state, JobId id);
// Not requeued ones: what this dependency waits for, its number given. Null: nothing is known of it.
const KeptJob* find_kept(const State& state, const Dependency& dependency);
// The newest that has this number, or is a task of the array with it.
const KeptJob* newest_kept(const State& state, JobId id);

std::uint64_t rows_of(const KeptJob& kept);
void index_kept(State& state, KeptNumber number, const KeptJob& kept);

// Words about a job that is over: of its record, and of what is kept of its last run.
void annotate_record(State& state, const RecordAnnotated& e);

}  // namespace millrace
