// src/apps/log_directory.cpp - see log_directory.h.
#include "apps/log_directory.h"

#include "core/admission/put_records_aside.h"
#include "core/ledger/apply.h"
#include "store/high_mark.h"
#include "store/recover.h"
#include "store/segment.h"
#include "store/snapshot.h"
#include "wire/replay.h"

namespace millrace {
namespace {

constexpr int tries_max = 3;  // a snapshot may take segments away while they are read; it comes once in a long while

bool holds_log(const std::string& directory) {
  const auto files = RealFilesystem::open_directory(directory, true);
  if (!files) return false;
  const auto names = (*files)->list();
  if (!names) return false;
  for (const std::string& name : *names)
    if (segment_number(name) || snapshot_index(name)) return true;
  return false;
}

std::unexpected<Error> never_written() { return fail(Errc::refused, "this log is only looked at"); }

// Recovery cuts, syncs and removes what a crash left. Here the owner may be alive, so all of that is left undone.
class OnlyLookingFile final : public File {
 public:
  explicit OnlyLookingFile(std::unique_ptr<File> file) : file_(std::move(file)) {}
  Result<void> write_at(std::uint64_t, std::string_view) override { return {}; }
  Result<std::string> read_at(std::uint64_t offset, std::uint64_t length) override {
    return file_->read_at(offset, length);
  }
  Result<void> sync_data() override { return {}; }
  Result<void> truncate(std::uint64_t) override { return {}; }
  Result<void> reserve(std::uint64_t) override { return never_written(); }
  Result<std::uint64_t> size() override { return file_->size(); }

 private:
  std::unique_ptr<File> file_;
};

class OnlyLooking final : public Filesystem {
 public:
  OnlyLooking(Filesystem& files, bool hides_mark) : files_(files), hides_mark_(hides_mark) {}
  Result<std::vector<std::string>> list() override { return files_.list(); }
  Result<std::unique_ptr<File>> create(std::string_view) override { return never_written(); }
  Result<std::unique_ptr<File>> open(std::string_view name) override {
    if (hides_mark_ && name == high_mark_name) return fail(Errc::not_found, "the mark is not looked at");
    MR_TRY(auto file, files_.open(name));
    return std::make_unique<OnlyLookingFile>(std::move(file));
  }
  Result<void> rename(std::string_view, std::string_view) override { return never_written(); }
  Result<void> remove(std::string_view) override { return {}; }
  Result<void> sync_directory() override { return {}; }
  Result<std::uint64_t> free_bytes() override { return files_.free_bytes(); }

 private:
  Filesystem& files_;
  const bool hides_mark_;
};

}  // namespace

Result<std::string> find_log_path(const std::string& given) {
  for (const char* below : {"", "/log", "/state/log"})
    if (holds_log(given + below)) return given + below;
  MR_TRY_VOID(RealFilesystem::open_directory(given, true));  // says what is wrong with the directory itself
  return fail(Errc::not_found, given + ": neither here nor in log/ or state/log/ is a segment of an event log");
}

Result<std::unique_ptr<RealFilesystem>> find_log(const std::string& given) {
  MR_TRY(const std::string path, find_log_path(given));
  return RealFilesystem::open_directory(path, true);
}

Result<State> recover_state(Filesystem& files, std::vector<SkippedEvent>& skipped, bool without_mark) {
  OnlyLooking looking(files, without_mark);
  Result<RecoveredLog> log = recover_log(looking);
  for (int tries = 1; !log && tries < tries_max; ++tries) log = recover_log(looking);
  if (!log) return std::unexpected(std::move(log).error());
  return replay(log->recovered, &skipped);
}

Result<State> read_state(Filesystem& files) {
  std::vector<SkippedEvent> skipped;
  MR_TRY(State state, recover_state(files, skipped));
  if (const auto repair = decide_repair(state, Time{}, skipped)) {
    if (repair->still_broken)
      return fail(Errc::corrupt, "the log leads to an impossible state: " + *repair->still_broken);
    apply(state, repair->event);  // as the next start of the controller would
  }
  return state;
}

}  // namespace millrace
