// src/apps/sim_commands.h - the commands of millrace-sim, and the words their flags understand.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "apps/flags.h"
#include "sim/metrics.h"
#include "sim/replay.h"

namespace millrace {

// Each runs to its end and gives the exit code of the program.
int run_sim_trace(const Words& words);      // sim run
int run_sim_compare(const Words& words);    // sim compare
int run_sim_published(const Words& words);  // sim rlscheduler
int run_sim_workload(const Words& words);   // sim workload lublin
int run_sim_cluster(const Words& words);    // sim cluster
int run_sim_what_if(const Words& words);    // sim whatif

// One row per word of a flag.
template <class Value>
struct Choice {
  std::string_view word;
  Value value;
  std::string_view help;
};

std::span<const Choice<OrderPolicy>> policy_choices();
std::span<const Choice<Backfill>> backfill_choices();
std::span<const Choice<Estimates>> estimate_choices();
Result<OrderPolicy> choose_policy(std::string_view word);

template <class Value>
Result<Value> choose(std::span<const Choice<Value>> rows, std::string_view flag, std::string_view word) {
  std::string known;
  for (const Choice<Value>& row : rows) {
    if (row.word == word) return row.value;
    known += (known.empty() ? "" : ", ") + std::string{row.word};
  }
  return fail(Errc::invalid, std::string{flag} + " '" + std::string{word} + "' is not known; it is one of " + known);
}

template <class Value>
std::string choice_help(std::string_view title, std::span<const Choice<Value>> rows) {
  std::string out = "\n" + std::string{title} + "\n";
  for (const Choice<Value>& row : rows)
    out += "  " + std::string{row.word} + std::string(16 - std::min<std::size_t>(row.word.size(), 15), ' ') +
           std::string{row.help} + '\n';
  return out;
}

// Draws on standard error how far a long run is, if that is a terminal; nothing otherwise.
std::function<void(std::size_t, std::size_t)> progress_bar();

// The end of each simulating command: numbers to standard output, what was left out beside them, the picture to its
// file.
struct Report {
  std::string title;
  Metrics metrics;
  std::vector<std::string> notes;
  bool json = false;
};
void print_report(const Report& report);
Result<void> write_file(const std::string& path, const std::string& content);

}  // namespace millrace
