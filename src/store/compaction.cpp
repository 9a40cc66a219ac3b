// src/store/compaction.cpp - see compaction.h.
#include "store/compaction.h"

namespace millrace {

void remove_obsolete_files(Filesystem& files, std::uint64_t index, std::uint64_t first_segment) {
  const auto names = files.list();
  if (!names) return;
  for (const std::string& name : *names) {
    const auto segment = segment_number(name);
    const auto snapshot = snapshot_index(name);
    if ((segment && *segment < first_segment) || (snapshot && *snapshot < index)) (void)files.remove(name);
  }
  (void)files.sync_directory();
}

}  // namespace millrace
