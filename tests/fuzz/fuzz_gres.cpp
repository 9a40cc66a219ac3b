// tests/fuzz/fuzz_gres.cpp - devices and licences: gpu:a100:4(S:0-1), a100:2, matlab:2,ansys.
#include "core/model/gres_text.h"

#include "target.h"

using namespace millrace;

FUZZ_TEXT(gres) {
  if (auto kinds = parse_node_gres(input)) {
    NodeDef node;
    node.kinds = *std::move(kinds);
    if (settle_kinds(node.kinds)) fuzz::use(format_kinds(node));
  }
  for (const GresScope scope : {GresScope::node, GresScope::job, GresScope::task, GresScope::socket}) {
    fuzz::use(parse_gres_asks(input, scope));
    fuzz::use(parse_gpu_asks(input, scope));
  }
  fuzz::use(parse_licences(input));
  fuzz::use(parse_count(input));
}
