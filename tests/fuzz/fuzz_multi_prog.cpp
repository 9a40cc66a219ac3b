// tests/fuzz/fuzz_multi_prog.cpp - the file of srun --multi-prog.
#include "core/model/multi_prog.h"

#include "target.h"

using namespace millrace;

FUZZ_TEXT(multi_prog) {
  const auto file = MultiProg::parse(input);
  if (!file) return;
  fuzz::use(file->check(8));
  for (const std::uint32_t task : {0u, 1u, 7u, 4294967294u}) fuzz::use(file->command_of(task));
}
