// tests/fuzz/fuzz_script.cpp - batch scripts: #SBATCH, #PBS and #BSUB lines, as far as the request that sbatch sends.
#include "cli/options/job_options.h"
#include "cli/options/script.h"
#include "controller/requests/submission.h"
#include "target.h"

using namespace millrace;

// Left out: options whose value names a file, which would be read from the machine that fuzzes.
static bool names_a_file(std::string_view word) { return word.find('/') != std::string_view::npos; }

FUZZ_TEXT(script) {
  fuzz::use(script_problems(input, 4u << 20));
  fuzz::use(script_warnings(input));
  const auto components = script_words(input, false);
  if (!components) return;
  for (const auto& words : *components) {
    std::vector<std::string_view> views;
    for (const std::string& word : words)
      if (!names_a_file(word)) views.push_back(word);
    JobDraft draft;
    if (!apply_words(job_options(), sbatch, std::span<const std::string_view>(views), Operands::end_options, draft))
      continue;
    if (!check_draft(draft)) continue;
    wire::SubmitJob ask;
    *ask.mutable_job() = draft.job;
    ask.set_script(std::string{input});
    fuzz::use(to_submit_jobs(ask, {UserId{1000}, GroupId{1000}, "alice", "users", {1000}}));
  }
}
