// tests/fuzz/fuzz_bind.cpp - --cpu-bind, --mem-bind, --gpu-bind.
#include "core/model/cpu_bind.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(bind) {
  fuzz::use(parse_cpu_bind(input));
  fuzz::use(parse_memory_bind(input));
  fuzz::use(parse_gpu_bind(input));
}
