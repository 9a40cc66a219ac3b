// src/sim/workload.h - the jobs a simulation submits, whatever file they come from, and the rules by which a trace
// becomes one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/admission/submit_job.h"
#include "sim/swf.h"

namespace millrace {

// Times in whole seconds of the trace. Texts are places in Workload::words, so that a million jobs stay small.
struct WorkloadJob {
  std::int64_t submit = 0, run = 1, requested = 1;  // requested: its time limit and first estimate
  std::uint32_t tasks = 1;
  std::uint32_t nodes = 0, cpus_per_task = 0;  // 0: not asked
  std::int64_t memory = 0;                     // mebibytes per node, 0: not asked
  std::uint32_t user = 0;  // 0: not known, and nothing is predicted from others of whom nothing is known
  std::uint32_t partition = 0, account = 0, gres = 0;  // words
};

struct Workload {
  std::vector<WorkloadJob> jobs;       // by submit time, equal ones as in the file
  std::vector<std::string> words{""};  // the first is "not said"
  std::vector<std::string> notes;      // what of the file was left out or changed, in words

  std::uint32_t word(const std::string& text);  // its place, new or old
  std::int64_t processors_of(const WorkloadJob& job) const;
};

// How wide the trace's machine is: MaxProcs of its header, or else MaxNodes.
Result<std::int64_t> trace_processors(const SwfTrace& trace);

// The rules of comparisons over whole traces: requested processors (allocated where nothing was requested); without a
// request the run time counts as one; run times are cut at the request and 0 becomes 1 second; jobs without a run time,
// without processors or wider than the machine are left out. Partition or queue numbers become names of partitions
// where that is asked for.
enum class Queues : std::uint8_t { ignored, are_partitions };
Workload whole_trace(const SwfTrace& trace, std::int64_t processors, Queues queues = Queues::ignored);

// Moves each submit time by up to this many seconds either way: a difference that does not survive this is noise.
constexpr std::int64_t shake_seconds = 300;
void shake(Workload& workload, std::uint64_t seed);

enum class Half : std::uint8_t { whole, first, second };
void keep_half(Workload& workload, Half half);

// Our own format: a header line with some of submit,run,limit,user,account,partition,nodes,tasks,cpus_per_task,mem,gres
// in any order, then one job per line. submit and run are required.
Result<Workload> parse_workload_csv(std::string_view text, const std::string& name);

// As the user would have typed it. `uid` is made from the user's number; nobody is root.
SubmitJob ask_of(const Workload& workload, const WorkloadJob& job);

}  // namespace millrace
