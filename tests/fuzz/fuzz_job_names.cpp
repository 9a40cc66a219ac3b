// tests/fuzz/fuzz_job_names.cpp - jobs and steps as people write them, and what squeue and sacct are asked for.
#include "cli/console.h"
#include "cli/sacct_filter.h"
#include "cli/squeue_filter.h"
#include "cli/step_names.h"
#include "core/admission/job_selection.h"
#include "core/model/sluid.h"
#include "small_state.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(job_names) {
  static const State state = fuzz::small_state();
  for (const std::string_view word : split_outside_brackets(input)) {
    // Left out: a SLUID, for which the controller would be asked.
    if (looks_like_sluid(word.substr(0, word.find_first_of("_+.")))) continue;
    if (const auto name = parse_job_name(word)) fuzz::use(select_jobs(state, {JobId{name->id}, name->tasks}));
    if (const auto name = parse_step_name(word)) fuzz::use(step_text(*name));
  }
}

FUZZ_TEXT(filters) {
  fuzz::Pieces pieces(input);
  const std::string first{pieces.until('\n')}, second{pieces.until('\n')}, third{pieces.until('\n')};
  wire::JobView job;
  JobFilterWords words;
  words.states = first, words.nodes = second, words.partitions = third;
  if (const auto filter = make_job_filter(words)) fuzz::use((*filter)(job, 1));
  SacctDraft draft;
  draft.states = first, draft.nodes = second, draft.start = third, draft.end = std::string{pieces.until('\n')};
  draft.node_range = std::string{pieces.until('\n')}, draft.limit_most = std::string{pieces.until('\n')};
  if (const auto filter = SacctFilter::read(draft, 1'763'190'000'000'000, 1000)) fuzz::use(filter->wants(job));
}
