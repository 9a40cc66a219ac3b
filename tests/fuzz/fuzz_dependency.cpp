// tests/fuzz/fuzz_dependency.cpp - dependencies against the jobs of a small queue: afterok:1:2,singleton.
#include "core/admission/parse_dependency.h"
#include "small_state.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(dependency) {
  static const State state = fuzz::small_state();
  fuzz::use(parse_dependencies(state, input));
}
