// src/controller/views/reason_words.h - why a job waits, as squeue and scontrol show it: Slurm's word, and behind it
// which nodes or whose reservation.
#pragma once

#include <string>

#include "core/ledger/state.h"

namespace millrace {

std::string reason_words(const State& state, const Job& job, Reason reason, Time now);
// How it came to its end, and of one that could not be launched why.
std::string end_words(const Job& job);
// Of a job that has a LaunchTrouble: where its last start failed, and why.
std::string trouble_words(const State& state, const Job& job);

}  // namespace millrace
