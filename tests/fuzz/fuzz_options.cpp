// tests/fuzz/fuzz_options.cpp - command lines of sbatch, srun, salloc, qsub and bsub: one word per line.
#include "base/text.h"
#include "cli/options/foreign_directives.h"
#include "cli/options/job_options.h"
#include "target.h"

using namespace millrace;

// Left out: options whose value names a file, which would be read from the machine that fuzzes.
static bool names_a_file(std::string_view word) { return word.find('/') != std::string_view::npos; }

FUZZ_TEXT(options) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(input, '\n'))
    if (!names_a_file(word)) words.push_back(word);
  for (const std::uint8_t tool : {sbatch, srun, salloc}) {
    JobDraft draft;
    if (apply_words(job_options(), tool, std::span<const std::string_view>(words), Operands::end_options, draft))
      fuzz::use(check_draft(draft));
  }
  const std::vector<std::string> texts(words.begin(), words.end());
  fuzz::use(read_pbs_directive(texts));
  fuzz::use(read_lsf_directive(texts));
  fuzz::use(read_pbs_line(texts));
  fuzz::use(read_lsf_line(texts));
}
