// src/apps/state_lock.h - StateSaveLocation has one controller at a time.
#pragma once

#include <memory>
#include <string>

#include "platform/real_filesystem.h"

namespace millrace {

// The folder, locked while the result lives. Refused while another controller has it, with the process that the pid
// file names; one that was just killed is given a moment.
Result<std::unique_ptr<RealFilesystem>> lock_state(const std::string& directory, const std::string& pid_file);

}  // namespace millrace
