// tests/fuzz/fuzz_tres.cpp - amounts and weights of resources: cpu=10,mem=4G,gres/gpu=2.
#include "core/model/tres.h"

#include "target.h"

using namespace millrace;

FUZZ_TEXT(tres) {
  if (const auto list = parse_tres(input)) {
    const auto again = parse_tres(format_tres(*list));
    fuzz::must(again && *again == *list, "a list of resources is read back");
  }
  if (const auto weights = parse_tres_weights(input))
    for (const TresWeight& weight : *weights) fuzz::use(format_tres_weight(weight));
  fuzz::use(canonical_tres_name(input));
}
