// src/isolation/private_folders.h - /tmp and the like that only one job sees: bind mounts in a mount namespace of its
// own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

struct PrivateFolders {
  struct Folder {
    std::string target;  // as the job sees it
    std::string source;  // below `base`
  };
  std::string base;  // of this job on this node; made here, removed after it
  std::vector<Folder> folders;
  bool own_shm = false;                         // /dev/shm in memory
  std::string init_script;                      // run as root after everything is mounted
  std::vector<std::string> script_environment;  // NAME=value
};

// Puts the calling process, and with it all it starts, into a mount namespace with these folders in place. What is
// mounted or unmounted outside later is still seen inside.
Result<void> enter_private_folders(const PrivateFolders& folders);
// After the last process of the job. What was in them is gone.
void remove_private_folders(const std::string& base);

}  // namespace millrace
