// src/apps/state_lock.cpp - see state_lock.h.
#include "apps/state_lock.h"

#include <unistd.h>

#include <fstream>

namespace millrace {

Result<std::unique_ptr<RealFilesystem>> lock_state(const std::string& directory, const std::string& pid_file) {
  MR_TRY(auto state, RealFilesystem::open_directory(directory));
  Result<void> locked = state->lock();
  for (int tries = 0; !locked && tries < 100; ++tries, locked = state->lock())
    usleep(50'000);  // before the loop exists
  if (locked) return state;
  long holder = 0;
  std::ifstream{pid_file} >> holder;
  locked = in_context(
      std::move(locked),
      "another controller" + (holder > 0 ? ", process " + std::to_string(holder) + "," : "") + " uses " + directory);
  return std::unexpected(locked.error());
}

}  // namespace millrace
