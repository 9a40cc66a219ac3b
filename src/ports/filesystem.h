// src/ports/filesystem.h - the few file operations the event log is made of; calls block, so they run on a Worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

class File {
 public:
  virtual ~File() = default;
  virtual Result<void> write_at(std::uint64_t offset, std::string_view bytes) = 0;      // all of it, or an error
  virtual Result<std::string> read_at(std::uint64_t offset, std::uint64_t length) = 0;  // short at the end of the file
  virtual Result<void> sync_data() = 0;  // on stable storage: what was written, and the length
  virtual Result<void> truncate(std::uint64_t length) = 0;
  // Makes room for the file up to `length` without changing its visible content or size; no space is an error
  // (unavailable).
  virtual Result<void> reserve(std::uint64_t length) = 0;
  virtual Result<std::uint64_t> size() = 0;
};

// One flat directory.
class Filesystem {
 public:
  virtual ~Filesystem() = default;
  virtual Result<std::vector<std::string>> list() = 0;                      // sorted
  virtual Result<std::unique_ptr<File>> create(std::string_view name) = 0;  // must not exist; mode 0600
  virtual Result<std::unique_ptr<File>> open(std::string_view name) = 0;
  virtual Result<void> rename(std::string_view from, std::string_view to) = 0;
  virtual Result<void> remove(std::string_view name) = 0;
  virtual Result<void> sync_directory() = 0;  // names created, renamed and removed so far are on stable storage
  virtual Result<std::uint64_t> free_bytes() = 0;
};

}  // namespace millrace
