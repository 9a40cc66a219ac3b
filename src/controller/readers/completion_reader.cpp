// src/controller/readers/completion_reader.cpp - see completion_reader.h.
#include "controller/readers/completion_reader.h"

namespace millrace {

void CompletionReader::recovered(const State& state) {
  tells_ = c_.settings.tell_completions;
  if (tells_) record(ended_.remember(state, c_.settings.cluster.cluster_name), true);
}

// Somebody may begin to want it when the configuration is read again: of jobs that end from then on.
void CompletionReader::advanced(const Advance& step) {
  const std::string& cluster = c_.settings.cluster.cluster_name;
  const bool told_so_far = std::exchange(tells_, c_.settings.tell_completions);
  if (!tells_) return;
  if (!told_so_far) (void)ended_.remember(step.before, cluster);
  for (const JobKey key : step.changes.jobs) record(ended_.look(step.now, key, cluster), false);
}

void CompletionReader::record(const std::vector<JobCompletion>& completions, bool at_start) {
  if (completions.empty()) return;
  if (c_.hooks.record_completions) {
    std::string lines;
    for (const JobCompletion& each : completions) lines += each.line + '\n';
    c_.hooks.record_completions(std::move(lines));
  }
  if (at_start) return;  // a program is told once; a file can be looked at
  if (const std::string program = c_.hooks.site_programs().job_completion; !program.empty())
    for (const JobCompletion& each : completions) program_.tell(program, each);
}

}  // namespace millrace
