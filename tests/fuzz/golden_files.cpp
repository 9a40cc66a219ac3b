// tests/fuzz/golden_files.cpp - see golden_files.h.
#include "golden_files.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "store/recover.h"

namespace millrace::fuzz {
namespace {

class MemoryFile final : public File {
 public:
  explicit MemoryFile(std::string& bytes) : bytes_(bytes) {}
  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(offset + bytes.size());
    bytes_.replace(offset, bytes.size(), bytes);
    return {};
  }
  Result<std::string> read_at(std::uint64_t offset, std::uint64_t length) override {
    return offset > bytes_.size() ? std::string{} : bytes_.substr(offset, length);
  }
  Result<void> sync_data() override { return {}; }
  Result<void> truncate(std::uint64_t length) override {
    bytes_.resize(length);
    return {};
  }
  Result<void> reserve(std::uint64_t) override { return {}; }
  Result<std::uint64_t> size() override { return bytes_.size(); }

 private:
  std::string& bytes_;
};

}  // namespace

Result<std::vector<std::string>> MemoryDisk::list() {
  std::vector<std::string> out;
  for (const auto& [name, bytes] : files) out.push_back(name);
  return out;
}
Result<std::unique_ptr<File>> MemoryDisk::create(std::string_view name) {
  return std::make_unique<MemoryFile>(files[std::string{name}]);
}
Result<std::unique_ptr<File>> MemoryDisk::open(std::string_view name) {
  const auto it = files.find(name);
  if (it == files.end()) return fail(Errc::not_found, "no such file");
  return std::make_unique<MemoryFile>(it->second);
}
Result<void> MemoryDisk::rename(std::string_view from, std::string_view to) {
  files[std::string{to}] = files[std::string{from}];
  return remove(from);
}
Result<void> MemoryDisk::remove(std::string_view name) {
  files.erase(std::string{name});
  return {};
}

std::vector<MemoryDisk> golden_logs() {
  std::map<std::string, MemoryDisk> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GOLDEN_LOG_DIR)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || (!name.starts_with("segment-") && !name.starts_with("snapshot-"))) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    out[entry.path().parent_path()].files[name] = bytes.str();
  }
  std::vector<MemoryDisk> disks;
  for (auto& [folder, disk] : out) disks.push_back(std::move(disk));
  return disks;
}

std::vector<std::string> golden_events() {
  std::set<std::string> out;
  for (MemoryDisk& disk : golden_logs())
    if (const auto log = recover_log(disk)) out.insert(log->recovered.events.begin(), log->recovered.events.end());
  return {out.begin(), out.end()};
}

std::vector<std::string> golden_states() {
  std::vector<std::string> out;
  for (MemoryDisk& disk : golden_logs())
    if (auto log = recover_log(disk); log && log->recovered.snapshot_index > 0)
      out.push_back(std::move(log->recovered.snapshot));
  return out;
}

}  // namespace millrace::fuzz
