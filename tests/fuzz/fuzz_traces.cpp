// tests/fuzz/fuzz_traces.cpp - workloads of the simulator: the Standard Workload Format, and our own table.
#include "sim/swf.h"
#include "sim/workload.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(swf) {
  const auto trace = parse_swf(input, "fuzz.swf");
  if (!trace) return;
  for (const SwfJob& job : trace->jobs) fuzz::use(format_swf(job));
  const auto processors = trace_processors(*trace);
  for (const Queues queues : {Queues::ignored, Queues::are_partitions}) {
    Workload workload = whole_trace(*trace, processors.value_or(100), queues);
    for (const WorkloadJob& job : workload.jobs) fuzz::use(ask_of(workload, job));
    shake(workload, 1);
    keep_half(workload, Half::second);
  }
}

FUZZ_TEXT(workload) {
  const auto workload = parse_workload_csv(input, "fuzz.csv");
  if (!workload) return;
  for (const WorkloadJob& job : workload->jobs) fuzz::use(ask_of(*workload, job));
}
