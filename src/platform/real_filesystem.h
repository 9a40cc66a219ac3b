// src/platform/real_filesystem.h - one directory of the host, through the few operations the event log needs.
#pragma once

#include <memory>
#include <string>

#include "platform/descriptor.h"
#include "ports/filesystem.h"

namespace millrace {

class RealFilesystem final : public Filesystem {
 public:
  // The directory must exist and be ours to write. `read_only` serves `millrace log dump` on somebody else's log.
  static Result<std::unique_ptr<RealFilesystem>> open_directory(const std::string& path, bool read_only = false);

  // A second process on the same log would tear it apart: holds until this object or the process ends.
  Result<void> lock();

  Result<std::vector<std::string>> list() override;
  Result<std::unique_ptr<File>> create(std::string_view name) override;
  Result<std::unique_ptr<File>> open(std::string_view name) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view name) override;
  Result<void> sync_directory() override;
  Result<std::uint64_t> free_bytes() override;

 private:
  RealFilesystem(std::string path, Descriptor directory, bool read_only)
      : path_(std::move(path)), directory_(std::move(directory)), read_only_(read_only) {}
  std::string full(std::string_view name) const { return path_ + "/" + std::string{name}; }

  std::string path_;
  Descriptor directory_;
  bool read_only_;
};

}  // namespace millrace
