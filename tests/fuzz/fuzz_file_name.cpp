// tests/fuzz/fuzz_file_name.cpp - patterns of output files: job-%A_%4a.out.
#include "core/model/file_name.h"

#include "config/configuration.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(file_name) {
  const NameFacts facts{12, 11, 3, true, 0, "n1", 0, 1, 5, "alice", "a job"};
  fuzz::use(under_directory(expand_pattern(input, facts), "/home/alice"));
  fuzz::use(is_per_node(input));
  fuzz::use(expand_node_path(std::string{input}, "n1", "host"));
}
