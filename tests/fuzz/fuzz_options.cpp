// tests/fuzz/fuzz_options.cpp - command lines of sbatch, srun, salloc, qsub and bsub: one word per line.
#include "base/text.h"
#include "cli/options/foreign_directives.h"
#include "cli/options/job_options.h"
#include "target.h"

using namespace millrace;

// Left out: options whose value names a file, which would be read from the machine that fuzzes.
static bool names_a_file(std::string_view word) { return word.find('/') != std::string_view::npos; }

// Every option once, with a number and with words that several take.
FUZZ_SEEDS(options) {
  std::vector<std::string> out;
  for (const char* value : {"=2", "=a:2,b", "=1-3:2", "=none"}) {
    std::size_t options = 0;
    for (const JobOption& option : job_options()) {
      if (options++ % 4 == 0) out.emplace_back();
      out.back() += "--" + std::string{option.name} + (option.arg == ArgKind::none ? "" : value) + "\n";
    }
  }
  return out;
}

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
