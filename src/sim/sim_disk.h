// src/sim/sim_disk.h - a disk that forgets, tears, fills up and fails, all from one seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "ports/filesystem.h"

namespace millrace {

// Content exists twice: what a reader sees, and what a power cut leaves. Only a sync brings the two together. The disk
// itself survives crashes; files that were open do not.
class SimDisk final : public Filesystem {
 public:
  explicit SimDisk(std::uint64_t seed) : random_(seed) {}
  SimDisk(const SimDisk&) = default;  // the same disk in another world, without the open files
  SimDisk& operator=(const SimDisk&) = delete;
  ~SimDisk() override;

  // The power goes: of what was not synced an arbitrary part stays, in pieces of whole 512-byte sectors; names created,
  // renamed or removed since the last sync_directory() may or may not be so.
  void crash();
  // Only the process dies: what it wrote is still to be seen, and still not on stable storage.
  void kill();

  // Faults. Counts begin with the next operation of the kind; 0 is that one. crash() and kill() call planned ones off.
  void fail_write(std::uint64_t after);  // half-done, then an error
  void fail_sync(std::uint64_t after);   // an error, and what it should have saved may be lost even after later syncs
  void lose_power(std::uint64_t after);  // before a change of any kind: it and all later ones fail until crash()
  bool powerless() const { return powerless_; }
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  std::uint64_t used() const;
  std::uint64_t writes() const { return writes_; }  // so far, to place faults
  std::uint64_t syncs() const { return syncs_; }

  // For tests that look at, or damage, what is stored. The file must exist.
  const std::string& content(std::string_view name) const;
  void flip(std::string_view name, std::uint64_t offset, std::uint8_t bits);
  void cut(std::string_view name, std::uint64_t length);

  Result<std::vector<std::string>> list() override;
  Result<std::unique_ptr<File>> create(std::string_view name) override;
  Result<std::unique_ptr<File>> open(std::string_view name) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view name) override;
  Result<void> sync_directory() override;
  Result<std::uint64_t> free_bytes() override;

 private:
  friend class SimFile;
  using FileNumber = std::uint64_t;
  struct Change {
    std::uint64_t offset = 0;
    std::string bytes;
    bool truncates = false;  // to `offset`
  };
  struct Data {
    std::string seen, stable;
    std::vector<Change> unsynced;
    std::uint64_t reserved = 0;
  };
  struct NameChange {
    enum class Kind : std::uint8_t { create, rename, remove } kind;
    std::string name, to;
    FileNumber file = 0;
  };
  static void apply(std::string& content, const Change& change);
  void tear(Data& data);
  void forget_names();
  void drop_unnamed();
  std::uint64_t allocated(const Data& data) const;
  Result<void> change_begins();  // once for every operation that changes something
  bool fault_now(std::optional<std::uint64_t>& countdown);

  Result<void> write(FileNumber file, std::uint64_t offset, std::string_view bytes);
  Result<void> sync(FileNumber file);
  Result<void> truncate(FileNumber file, std::uint64_t length);
  Result<void> reserve(FileNumber file, std::uint64_t length);

  Prng random_;
  std::map<FileNumber, Data> files_;
  std::map<std::string, FileNumber, std::less<>> names_, stable_names_;
  std::vector<NameChange> unsynced_names_;
  FileNumber last_file_ = 0;
  std::uint64_t power_cycle_ = 0;  // open files of an earlier one are dead
  std::uint64_t capacity_ = UINT64_MAX / 4;
  std::uint64_t writes_ = 0, syncs_ = 0;
  std::optional<std::uint64_t> failing_write_, failing_sync_, failing_power_;
  bool powerless_ = false;
};

}  // namespace millrace
