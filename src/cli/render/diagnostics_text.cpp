// src/cli/render/diagnostics_text.cpp - see diagnostics_text.h.
#include "cli/render/diagnostics_text.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace millrace {
namespace {

using Passes = wire::Diagnostics::Passes;
using Calls = wire::Diagnostics::Calls;

std::string number(auto value) { return std::to_string(value); }
std::string when(std::int64_t microseconds) {
  return format_date_line(microseconds) + " (" + number(microseconds / 1'000'000) + ")";
}

std::uint64_t mean(std::uint64_t total, std::uint64_t count) { return count == 0 ? 0 : total / count; }
std::int64_t average(const Calls& calls) {
  return calls.count() == 0 ? 0 : calls.total_us() / static_cast<std::int64_t>(calls.count());
}

std::string main_text(const Passes& passes, std::int64_t seconds) {
  std::string out = "Main schedule statistics (microseconds):\n";
  out += "\tLast cycle:   " + number(passes.last_us()) + "\n";
  out += "\tMax cycle:    " + number(passes.max_us()) + "\n";
  out += "\tTotal cycles: " + number(passes.count()) + "\n";
  if (passes.count() > 0) {
    out += "\tMean cycle:   " + number(mean(static_cast<std::uint64_t>(passes.total_us()), passes.count())) + "\n";
    out += "\tMean depth cycle:  " + number(mean(passes.total_depth(), passes.count())) + "\n";
  }
  out += "\tCycles per minute: " +
         number(seconds >= 60 ? passes.count() / static_cast<std::uint64_t>(seconds / 60) : passes.count()) + "\n";
  out += "\tLast queue length: " + number(passes.last_queue()) + "\n\n";
  out += "Main scheduler exit:\n\tEnd of job queue:" + number(passes.to_the_end()) +
         "\n\tHit default_queue_depth: 0\n\tHit sched_max_job_start: 0\n\tBlocked on licenses: 0\n";
  return out + "\tHit max_rpc_cnt: 0\n\tTimeout (max_sched_time): 0\n\n";
}

std::string backfill_text(const wire::Diagnostics& from) {
  const Passes& passes = from.backfill();
  const auto of_each = [&](std::uint64_t total) { return number(mean(total, passes.count())); };
  std::string out = "Backfilling stats\n";
  out += "\tTotal backfilled jobs (since last slurm start): " + number(from.backfilled_since_start()) + "\n";
  out += "\tTotal backfilled jobs (since last stats cycle start): " + number(from.backfilled()) + "\n";
  out += "\tTotal backfilled heterogeneous job components: " + number(from.backfilled_components()) + "\n";
  out += "\tTotal cycles: " + number(passes.count()) + "\n";
  out += "\tLast cycle when: " + (passes.last_at_us() == 0 ? std::string{"N/A"} : when(passes.last_at_us())) + "\n";
  out += "\tLast cycle: " + number(passes.last_us()) + "\n";
  out += "\tMax cycle:  " + number(passes.max_us()) + "\n";
  if (passes.count() > 0) out += "\tMean cycle: " + of_each(static_cast<std::uint64_t>(passes.total_us())) + "\n";
  out += "\tLast depth cycle: " + number(passes.last_depth()) + "\n";
  out += "\tLast depth cycle (try sched): " + number(passes.last_depth()) + "\n";
  if (passes.count() > 0) {
    out += "\tDepth Mean: " + of_each(passes.total_depth()) + "\n";
    out += "\tDepth Mean (try depth): " + of_each(passes.total_depth()) + "\n";
  }
  out += "\tLast queue length: " + number(passes.last_queue()) + "\n";
  if (passes.count() > 0) out += "\tQueue length mean: " + of_each(passes.total_queue()) + "\n";
  out += "\tLast table size: " + number(passes.last_table()) + "\n";
  if (passes.count() > 0) out += "\tMean table size: " + of_each(passes.total_table()) + "\n";
  out += "\nBackfill exit\n\tEnd of job queue:" + number(passes.to_the_end()) +
         "\n\tHit bf_max_job_start: 0\n\tHit bf_max_job_test: 0\n";
  out += "\tSystem state changed: " + number(passes.cut_short()) + "\n";
  return out + "\tHit table size limit (bf_node_space_size): 0\n\tTimeout (bf_max_time): 0\n\n";
}

std::string calls_text(const google::protobuf::RepeatedPtrField<Calls>& from, CallOrder order, bool users,
                       Names& names) {
  std::vector<const Calls*> calls;
  for (const Calls& each : from) calls.push_back(&each);
  std::ranges::stable_sort(calls, {}, [&](const Calls* each) {
    switch (order) {
      case CallOrder::number:
        return static_cast<std::int64_t>(each->number());
      case CallOrder::total_time:
        return -each->total_us();
      case CallOrder::average_time:
        return -average(*each);
      case CallOrder::count:
        break;
    }
    return -static_cast<std::int64_t>(each->count());
  });
  std::string out;
  for (const Calls* each : calls) {
    char line[200];
    const std::string name = users ? user_of(*each, names) : each->name();
    std::snprintf(line, sizeof line,
                  users ? "\t%-15s (%8u) count:%-6llu ave_time:%-6lld total_time:%lld\n"
                        : "\t%-40s(%5u) count:%-6llu ave_time:%-6lld total_time:%lld\n",
                  name.c_str(), each->number(), static_cast<unsigned long long>(each->count()),
                  static_cast<long long>(average(*each)), static_cast<long long>(each->total_us()));
    out += line;
  }
  return out;
}

}  // namespace

std::string diagnostics_text(const wire::Diagnostics& from, CallOrder order, Names& names) {
  const std::string stars(55, '*');
  std::string out = stars + "\nsdiag output at " + when(from.now_us()) + "\nData since      " + when(from.since_us()) +
                    "\n" + stars + "\n";
  out += "Server thread count:  " + number(from.threads()) +
         "\nRPC queue enabled:    0\nAgent queue size:     0\nAgent count:          " + number(from.nodes_connected()) +
         "\nAgent thread count:   0\nDBD Agent queue size: 0\n\n";
  out += "Jobs submitted: " + number(from.submitted()) + "\nJobs started:   " + number(from.started()) +
         "\nJobs completed: " + number(from.completed()) + "\nJobs canceled:  " + number(from.cancelled()) +
         "\nJobs failed:    " + number(from.failed()) + "\n\n";
  out += "Job states ts:  " + when(from.now_us()) + "\nJobs pending:   " + number(from.pending()) +
         "\nJobs running:   " + number(from.running()) + "\n\n";
  out += main_text(from.main(), (from.now_us() - from.since_us()) / 1'000'000);
  out += backfill_text(from);
  out += "Latency for 1000 calls to gettimeofday(): " + number(from.clock_us()) + " microseconds\n\n";
  out += "Remote Procedure Call statistics by message type\n" + calls_text(from.by_type(), order, false, names);
  out += "\nRemote Procedure Call statistics by user\n" + calls_text(from.by_user(), order, true, names);
  return out + "\nPending RPC statistics\n\tNo pending RPCs\n";
}

std::string accounting_statistics(const wire::Diagnostics& from, Names& names) {
  char line[256];
  std::string out = "Rollup statistics\n";
  for (const char* period : {"Hour", "Day", "Month"}) {
    std::snprintf(line, sizeof line, "\t%-10s count:%-6d ave_time:%-6d max_time:%-12d total_time:%-12d\n", period, 0, 0,
                  0, 0);
    out += line;
  }
  out += "\nRemote Procedure Call statistics by message type\n";
  for (const Calls& calls : from.by_type()) {
    std::snprintf(line, sizeof line, "\t%-40s(%5u) count:%-6llu ave_time:%-6lld total_time:%lld\n",
                  calls.name().c_str(), calls.number(), static_cast<unsigned long long>(calls.count()),
                  static_cast<long long>(average(calls)), static_cast<long long>(calls.total_us()));
    out += line;
  }
  out += "\nRemote Procedure Call statistics by user\n";
  for (const Calls& calls : from.by_user()) {
    std::snprintf(line, sizeof line, "\t%-16s(%10u) count:%-6llu ave_time:%-6lld total_time:%lld\n",
                  user_of(calls, names).c_str(), calls.number(), static_cast<unsigned long long>(calls.count()),
                  static_cast<long long>(average(calls)), static_cast<long long>(calls.total_us()));
    out += line;
  }
  return out;
}

}  // namespace millrace
