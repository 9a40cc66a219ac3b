// tests/fuzz/fuzz_scontrol_words.cpp - words for partitions and nodes that scontrol create and update pass on.
#include "base/text.h"
#include "config/configuration.h"
#include "config/partition_words.h"
#include "config/slurm_conf.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(scontrol_words) {
  ConfiguredPartition partition;
  for (const std::string_view line : split(input, '\n')) {
    if (const auto word = read_partition_word(line)) fuzz::use(set_partition_word(partition, *word));
  }
  fuzz::Pieces pieces(input);
  const std::string names{pieces.until(' ')};
  fuzz::use(configured_nodes(names, std::string{pieces.rest()}));
}
