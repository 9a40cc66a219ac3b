// tests/fuzz/golden_files.h - the golden logs as seeds, and a disk in memory to read a log from.
#pragma once

#include <map>
#include <string>

#include "ports/filesystem.h"

namespace millrace::fuzz {

class MemoryDisk final : public Filesystem {
 public:
  std::map<std::string, std::string, std::less<>> files;

  Result<std::vector<std::string>> list() override;
  Result<std::unique_ptr<File>> create(std::string_view name) override;
  Result<std::unique_ptr<File>> open(std::string_view name) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view name) override;
  Result<void> sync_directory() override { return {}; }
  Result<std::uint64_t> free_bytes() override { return std::uint64_t{1} << 40; }
};

// Each folder of tests/golden/logs.
std::vector<MemoryDisk> golden_logs();
std::vector<std::string> golden_events();
std::vector<std::string> golden_states();

}  // namespace millrace::fuzz
