// src/config/partition_words.cpp - see partition_words.h.
#include "config/partition_words.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/entity_lines.h"

namespace millrace {
namespace {

// The whole name, or a beginning of at least three letters that no other key has.
const PartitionKeyRow* find_key(std::string_view word) {
  for (const PartitionKeyRow& row : partition_keys())
    if (equals_ignoring_case(row.name, word)) return &row;
  const PartitionKeyRow* found = nullptr;
  for (const PartitionKeyRow& row : partition_keys()) {
    if (word.size() < 3 || !equals_ignoring_case(row.name.substr(0, word.size()), word)) continue;
    if (found != nullptr) return nullptr;
    found = &row;
  }
  return found;
}

}  // namespace

Result<PartitionWord> read_partition_word(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::string_view key = text.substr(0, equals);
  PartitionWord word;
  if (equals != std::string_view::npos && key.size() > 1 && (key.back() == '+' || key.back() == '-')) {
    word.op = key.back();
    key.remove_suffix(1);
  }
  const PartitionKeyRow* row = find_key(key);
  if (equals == std::string_view::npos || row == nullptr) return fail(Errc::not_found, std::string{text});
  word.key = row->name;
  word.value = text.substr(equals + 1);
  if (word.op != '=' && word.key != "Nodes") return fail(Errc::invalid, "the +=/-= notation is for Nodes");
  if (!row->built && !row->asks_nothing(word.value)) return fail(Errc::refused, word.key);
  if (word.key == "Nodes") {
    if (!word.value.empty()) MR_TRY_VOID(expand_hostlist(word.value));
    return word;
  }
  ConfiguredPartition tried;
  MR_TRY_VOID(set_partition_word(tried, word));
  return word;
}

Result<void> set_partition_word(ConfiguredPartition& partition, const PartitionWord& word) {
  const PartitionKeyRow* row = find_key(word.key);
  if (row == nullptr) return fail(Errc::not_found, word.key);
  if (row->set == nullptr) return {};
  PartitionDraft draft;
  draft.partition = std::move(partition);
  const auto done = row->set(draft, word.value);
  partition = std::move(draft.partition);
  if (!done) return std::unexpected(done.error());
  // Memory is said by CPU or by node: the later word holds.
  if (word.key == "DefMemPerCPU") partition.default_memory_per_node.reset();
  if (word.key == "DefMemPerNode") partition.default_memory_per_cpu.reset();
  if (word.key == "MaxMemPerCPU") partition.max_memory_per_node.reset();
  if (word.key == "MaxMemPerNode") partition.max_memory_per_cpu.reset();
  return {};
}

}  // namespace millrace
