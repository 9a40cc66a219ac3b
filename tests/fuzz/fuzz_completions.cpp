// tests/fuzz/fuzz_completions.cpp - the file of completed jobs (JobCompType=jobcomp/filetxt), as sacct -c reads it.
#include "cli/sacct_completion.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(completions) {
  std::uint64_t odd = 0;
  fuzz::use(parse_completions(input, odd));
}
