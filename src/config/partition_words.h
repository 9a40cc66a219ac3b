// src/config/partition_words.h - what scontrol create and update say of a partition, by the keys of slurm.conf.
#pragma once

#include "config/configuration.h"

namespace millrace {

struct PartitionWord {
  std::string key;  // as in the table, whatever was abbreviated
  char op = '=';    // '+' and '-' of Nodes+= and Nodes-=
  std::string value;
};

// Errors: not_found: there is no such key; refused: it is not built yet; invalid: the value is wrong, and what would be
// right.
Result<PartitionWord> read_partition_word(std::string_view word);
// Every key but Nodes, which only the ledger can make nodes of.
Result<void> set_partition_word(ConfiguredPartition& partition, const PartitionWord& word);

}  // namespace millrace
