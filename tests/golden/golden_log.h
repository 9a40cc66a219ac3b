// tests/golden/golden_log.h - opening a log in a folder, for the writer of golden logs and for their
// test.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/ledger/apply.h"
#include "platform/real_filesystem.h"
#include "ports/loop.h"
#include "store/wal.h"
#include "wire/event_codec.h"
#include "wire/replay.h"

namespace millrace {

// Works at once, on the caller's thread.
class DirectWorker final : public Worker {
 public:
  void run(Task work, Task then) override {
    work();
    then();
  }
};

struct GoldenLog {
  std::unique_ptr<RealFilesystem> files;
  DirectWorker worker;
  std::unique_ptr<Wal> wal;
  Recovered recovered;

  Result<void> open(const std::string& folder, WalSettings settings) {
    MR_TRY(files, RealFilesystem::open_directory(folder));
    MR_TRY(auto opened, Wal::open(*files, worker, settings));
    wal = std::move(opened.first);
    recovered = std::move(opened.second);
    return {};
  }
};

}  // namespace millrace
