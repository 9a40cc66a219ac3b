// src/sim/sim_disk.cpp - see sim_disk.h.
#include "sim/sim_disk.h"

#include <algorithm>

#include "base/assert.h"

namespace millrace {

namespace {

constexpr std::uint64_t sector = 512;

}  // namespace

class SimFile final : public File {
 public:
  SimFile(SimDisk& disk, SimDisk::FileNumber number) : disk_(disk), number_(number), born_(disk.power_cycle_) {}

  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    if (dead()) return gone();
    return disk_.write(number_, offset, bytes);
  }
  Result<std::string> read_at(std::uint64_t offset, std::uint64_t length) override {
    if (dead()) return gone();
    const std::string& seen = disk_.files_.at(number_).seen;
    return offset >= seen.size() ? std::string{} : seen.substr(offset, length);
  }
  Result<void> sync_data() override {
    if (dead()) return gone();
    return disk_.sync(number_);
  }
  Result<void> truncate(std::uint64_t length) override {
    if (dead()) return gone();
    return disk_.truncate(number_, length);
  }
  Result<void> reserve(std::uint64_t length) override {
    if (dead()) return gone();
    return disk_.reserve(number_, length);
  }
  Result<std::uint64_t> size() override {
    if (dead()) return gone();
    return disk_.files_.at(number_).seen.size();
  }

 private:
  // A file removed while it is open is dead here too; our log never uses one.
  bool dead() const { return born_ != disk_.power_cycle_ || !disk_.files_.contains(number_); }
  static std::unexpected<Error> gone() { return fail(Errc::io, "the file was open before the disk lost power"); }

  SimDisk& disk_;
  const SimDisk::FileNumber number_;
  const std::uint64_t born_;
};

SimDisk::~SimDisk() = default;

void SimDisk::apply(std::string& content, const Change& change) {
  if (change.truncates) {
    content.resize(change.offset);
    return;
  }
  if (content.size() < change.offset + change.bytes.size()) content.resize(change.offset + change.bytes.size());
  content.replace(change.offset, change.bytes.size(), change.bytes);
}

// Which part stays: all, none, a beginning, or any sectors whatever, each often enough to be tested.
void SimDisk::tear(Data& data) {
  const std::uint64_t mood = random_.below(5);
  bool lost = false;
  for (const Change& change : data.unsynced) {
    if (mood == 0) break;
    if (change.truncates) {
      if (mood == 1 || random_.chance(1, 2)) apply(data.stable, change);
      continue;
    }
    for (std::uint64_t at = 0; at < change.bytes.size();) {
      const std::uint64_t place = change.offset + at;
      const std::uint64_t length = std::min<std::uint64_t>(change.bytes.size() - at, sector - place % sector);
      if (mood == 2) lost = lost || random_.chance(1, 4);
      const bool keep = mood == 1 || (mood == 2 ? !lost : random_.chance(mood == 3 ? 1 : 3, 4));
      if (keep) apply(data.stable, {place, change.bytes.substr(at, length), false});
      at += length;
    }
  }
  data.unsynced.clear();
}

void SimDisk::forget_names() {
  const std::uint64_t mood = random_.below(3);
  for (const NameChange& change : unsynced_names_) {
    if (mood == 0) break;
    if (mood == 2 && random_.chance(1, 2)) continue;
    switch (change.kind) {
      case NameChange::Kind::create:
        stable_names_[change.name] = change.file;
        break;
      case NameChange::Kind::rename:
        stable_names_[change.to] = change.file;
        if (const auto it = stable_names_.find(change.name); it != stable_names_.end() && it->second == change.file)
          stable_names_.erase(it);
        break;
      case NameChange::Kind::remove:
        if (const auto it = stable_names_.find(change.name); it != stable_names_.end() && it->second == change.file)
          stable_names_.erase(it);
        break;
    }
  }
  names_ = stable_names_;
  unsynced_names_.clear();
}

void SimDisk::crash() {
  kill();
  powerless_ = false;
  for (auto& [number, data] : files_) {
    tear(data);
    data.seen = data.stable;
    data.reserved = 0;  // room that was promised and not used is given back by the check of the file system
  }
  forget_names();
  drop_unnamed();
}

void SimDisk::kill() {
  ++power_cycle_;
  failing_write_.reset();
  failing_sync_.reset();
  failing_power_.reset();
}

// A file lives as long as a name does, seen or stable.
void SimDisk::drop_unnamed() {
  std::erase_if(files_, [&](const auto& entry) {
    const auto named = [&](const auto& name) { return name.second == entry.first; };
    const auto mentioned = [&](const NameChange& change) { return change.file == entry.first; };
    return std::ranges::none_of(names_, named) && std::ranges::none_of(stable_names_, named) &&
           std::ranges::none_of(unsynced_names_, mentioned);
  });
}

void SimDisk::fail_write(std::uint64_t after) { failing_write_ = after; }
void SimDisk::fail_sync(std::uint64_t after) { failing_sync_ = after; }

void SimDisk::lose_power(std::uint64_t after) { failing_power_ = after; }

Result<void> SimDisk::change_begins() {
  if (fault_now(failing_power_)) powerless_ = true;
  if (powerless_) return fail(Errc::io, "the simulated disk has no power");
  return {};
}

bool SimDisk::fault_now(std::optional<std::uint64_t>& countdown) {
  if (!countdown) return false;
  if (*countdown > 0) {
    --*countdown;
    return false;
  }
  countdown.reset();
  return true;
}

std::uint64_t SimDisk::allocated(const Data& data) const {
  return std::max<std::uint64_t>(data.seen.size(), data.reserved);
}

std::uint64_t SimDisk::used() const {
  std::uint64_t sum = 0;
  for (const auto& [name, number] : names_) sum += allocated(files_.at(number));
  return sum;
}

const std::string& SimDisk::content(std::string_view name) const {
  const auto it = names_.find(name);
  MR_ASSERT(it != names_.end());
  return files_.at(it->second).seen;
}

void SimDisk::flip(std::string_view name, std::uint64_t offset, std::uint8_t bits) {
  const auto it = names_.find(name);
  MR_ASSERT(it != names_.end());
  Data& data = files_.at(it->second);
  for (std::string* content : {&data.seen, &data.stable})
    if (offset < content->size()) (*content)[offset] = static_cast<char>((*content)[offset] ^ bits);
}

void SimDisk::cut(std::string_view name, std::uint64_t length) {
  const auto it = names_.find(name);
  MR_ASSERT(it != names_.end());
  Data& data = files_.at(it->second);
  data.seen.resize(length);
  data.stable = data.seen;
  data.unsynced.clear();
}

Result<std::vector<std::string>> SimDisk::list() {
  std::vector<std::string> found;
  for (const auto& [name, number] : names_) found.push_back(name);
  return found;
}

Result<std::unique_ptr<File>> SimDisk::create(std::string_view name) {
  MR_TRY_VOID(change_begins());
  if (names_.contains(name)) return fail(Errc::io, "create " + std::string{name} + ": it exists");
  const FileNumber number = ++last_file_;
  files_.emplace(number, Data{});
  names_.emplace(name, number);
  unsynced_names_.push_back({NameChange::Kind::create, std::string{name}, {}, number});
  return std::make_unique<SimFile>(*this, number);
}

Result<std::unique_ptr<File>> SimDisk::open(std::string_view name) {
  const auto it = names_.find(name);
  if (it == names_.end()) return fail(Errc::not_found, "open " + std::string{name} + ": no such file");
  return std::make_unique<SimFile>(*this, it->second);
}

Result<void> SimDisk::rename(std::string_view from, std::string_view to) {
  MR_TRY_VOID(change_begins());
  const auto it = names_.find(from);
  if (it == names_.end()) return fail(Errc::not_found, "rename " + std::string{from} + ": no such file");
  const FileNumber number = it->second;
  names_.erase(it);
  names_.insert_or_assign(std::string{to}, number);
  unsynced_names_.push_back({NameChange::Kind::rename, std::string{from}, std::string{to}, number});
  return {};
}

Result<void> SimDisk::remove(std::string_view name) {
  MR_TRY_VOID(change_begins());
  const auto it = names_.find(name);
  if (it == names_.end()) return fail(Errc::not_found, "remove " + std::string{name} + ": no such file");
  unsynced_names_.push_back({NameChange::Kind::remove, std::string{name}, {}, it->second});
  names_.erase(it);
  return {};
}

Result<void> SimDisk::sync_directory() {
  MR_TRY_VOID(change_begins());
  ++syncs_;
  if (fault_now(failing_sync_)) return fail(Errc::io, "sync directory: simulated failure");
  stable_names_ = names_;
  unsynced_names_.clear();
  drop_unnamed();
  return {};
}

Result<std::uint64_t> SimDisk::free_bytes() { return capacity_ > used() ? capacity_ - used() : 0; }

Result<void> SimDisk::write(FileNumber file, std::uint64_t offset, std::string_view bytes) {
  MR_TRY_VOID(change_begins());
  Data& data = files_.at(file);
  ++writes_;
  const std::uint64_t end = offset + bytes.size();
  const std::uint64_t has = allocated(data);
  std::optional<Error> problem;
  if (end > has && used() + (end - has) > capacity_)
    problem = Error{Errc::unavailable, "write: no space on the simulated disk"};
  if (fault_now(failing_write_)) problem = Error{Errc::io, "write: simulated failure"};
  if (problem) {  // like a real one, after a part of it
    const std::uint64_t room = problem->code == Errc::unavailable ? (offset < has ? has - offset : 0) : bytes.size();
    bytes = bytes.substr(0, random_.below(std::min<std::uint64_t>(room, bytes.size()) + 1));
  }
  if (!bytes.empty()) {
    Change change{offset, std::string{bytes}, false};
    apply(data.seen, change);
    data.unsynced.push_back(std::move(change));
  }
  if (problem) return std::unexpected(*std::move(problem));
  return {};
}

Result<void> SimDisk::sync(FileNumber file) {
  MR_TRY_VOID(change_begins());
  Data& data = files_.at(file);
  ++syncs_;
  if (fault_now(failing_sync_)) {
    // The kernel throws the pages' dirty marks away with the error: what they held is seen until the power goes, and no
    // later sync will write it.
    tear(data);
    return fail(Errc::io, "sync: simulated failure");
  }
  // Not simply what is seen: after a failed sync that may be more than will ever be written.
  for (const Change& change : data.unsynced) apply(data.stable, change);
  data.unsynced.clear();
  return {};
}

Result<void> SimDisk::truncate(FileNumber file, std::uint64_t length) {
  MR_TRY_VOID(change_begins());
  Data& data = files_.at(file);
  const Change change{length, {}, true};
  apply(data.seen, change);
  data.unsynced.push_back(change);
  data.reserved = std::min(data.reserved, length);
  return {};
}

Result<void> SimDisk::reserve(FileNumber file, std::uint64_t length) {
  Data& data = files_.at(file);
  const std::uint64_t has = allocated(data);
  if (length > has && used() + (length - has) > capacity_)
    return fail(Errc::unavailable, "reserve: no space on the simulated disk");
  data.reserved = std::max(data.reserved, length);
  return {};
}

}  // namespace millrace
