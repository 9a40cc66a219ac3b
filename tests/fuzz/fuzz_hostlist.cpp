// tests/fuzz/fuzz_hostlist.cpp - node lists: n[1-3,5],login.
#include "base/hostlist.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(hostlist) {
  const auto names = expand_hostlist(input);
  if (!names) return;
  const std::string written = compress_hostlist(*names);
  fuzz::use(compress_hostlist_sorted(*names));
  // A name that has brackets or commas of its own cannot come out of a list, so that what was written is read back.
  const auto again = expand_hostlist(written);
  fuzz::must(again.has_value() && *again == *names, "a node list that was written is read back");
}
