// src/platform/daemon.h - what every daemon does around its work: its user, its pid file, leaving the terminal.
#pragma once

#include <unistd.h>

#include <string>

#include "base/result.h"

namespace millrace {

// A user of this host, as its account says.
struct LocalUser {
  std::string name;
  unsigned uid = 0, gid = 0;
};
Result<LocalUser> find_user(const std::string& name);  // or number

// Goes into the background; the parent returns to its caller only when the child has called ready() or died, with its
// exit code, so that whoever starts a daemon knows that it serves when the command returns.
class Background {
 public:
  Result<void> leave_terminal();
  // Instead of leave_terminal(): systemd waits until it is told.
  void await_service_manager() { told_systemd_ = false; }
  void ready();  // to be called once the daemon serves; without one of the others it does nothing

 private:
  bool told_systemd_ = true;
  int pipe_ = -1;
};

// Written anew at each start, by a daemon that holds the lock of what it works on; removed at a clean end.
class PidFile {
 public:
  PidFile() = default;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile();
  Result<void> write(const std::string& path);
  void give_to(const LocalUser& user);

 private:
  std::string path_;
};

// What whoever starts us left open is not ours to keep: a pipe of theirs would never end. Before anything is opened.
void close_inherited_descriptors();
// A path of a command line, as it is meant from wherever we work later.
std::string absolute_path(const std::string& path);

// From root to this user, with its groups, for good.
Result<void> become(const LocalUser& user);
// The folder belongs to the user afterwards: made for it when it is missing; one that is there and somebody else's is
// an error that says so.
Result<void> own_directory(const std::string& path, unsigned mode, const LocalUser& user);

// Where a daemon works from then on, so that a core file lies beside its log: the folder of this file, or this folder.
Result<void> work_beside(const std::string& log_file, const std::string& otherwise);
Result<void> set_niceness(const std::string& value);  // as given on a command line

// mkdir -p; existing directories are left as they are.
Result<void> make_directories(const std::string& path, unsigned mode);
// For this user. Refuses one that others may write to, root excepted, or may make theirs because they own it: whoever
// can, can put another log there.
Result<void> make_private_directory(const std::string& path, unsigned user = geteuid());
std::string host_name();

}  // namespace millrace
