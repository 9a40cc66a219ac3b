// src/isolation/private_folders.cpp - see private_folders.h.
#include "isolation/private_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace millrace {
namespace {

std::unexpected<Error> failed(const std::string& doing) { return fail(Errc::io, doing + ": " + std::strerror(errno)); }

Result<void> run_script(const std::string& script, const std::vector<std::string>& variables) {
  char* const arguments[] = {const_cast<char*>(script.c_str()), nullptr};
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  std::vector<char*> environment{path};
  for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, script.c_str(), nullptr, &attributes, arguments, environment.data());
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) return fail(Errc::io, "InitScript " + script + ": " + std::strerror(problem));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0)
    return fail(Errc::refused, "InitScript " + script + " failed with wait status " + std::to_string(status));
  return {};
}

constexpr std::string_view gone_mark = ".gone-";
constexpr int removal_patience_ms = 1'000;

int remove_entry(const char* path, const struct stat*, int, struct FTW*) {
  ::remove(path);
  return 0;
}

}  // namespace

Result<void> enter_private_folders(const PrivateFolders& folders) {
  // The job's folder is closed to everybody else; what is mounted from it is as open as what it covers.
  if (mkdir(folders.base.c_str(), 0700) != 0 && errno != EEXIST) return failed("make " + folders.base);
  if (unshare(CLONE_NEWNS) != 0) return failed("make a mount namespace");
  // Mounts from outside come in, ours do not go out.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return failed("part the mounts of the job from the others");
  for (const auto& folder : folders.folders) {
    if (mkdir(folder.source.c_str(), 0700) != 0 && errno != EEXIST) return failed("make " + folder.source);
    if (chmod(folder.source.c_str(), 01777) != 0) return failed("open " + folder.source);
    if (mount(folder.source.c_str(), folder.target.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return failed("mount " + folder.source + " at " + folder.target);
  }
  if (folders.own_shm && mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
    return failed("mount a /dev/shm");
  if (!folders.init_script.empty()) return run_script(folders.init_script, folders.script_environment);
  return {};
}

// What is in there is the user's: it may be a million files, or hang. It gets another name, so that the job's next
// attempt begins with empty folders, and a process of its own removes it, with what earlier ones did not finish.
void remove_private_folders(const std::string& base) {
  if (base.empty() || base == "/") return;
  const std::string gone = base + std::string{gone_mark} + std::to_string(getpid());
  if (rename(base.c_str(), gone.c_str()) != 0) return;
  const pid_t pid = fork();
  if (pid == 0) {
    nftw(gone.c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    const std::string parent = gone.substr(0, gone.rfind('/'));
    std::vector<std::string> left;
    if (DIR* folder = opendir(parent.c_str()); folder != nullptr) {
      while (const dirent* entry = readdir(folder))
        if (std::string_view{entry->d_name}.find(gone_mark) != std::string_view::npos)
          left.push_back(parent + "/" + entry->d_name);
      closedir(folder);
    }
    for (const std::string& path : left) nftw(path.c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    _exit(0);
  }
  if (pid < 0) return;
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd one{ended, POLLIN, 0};
  if (ended >= 0 && poll(&one, 1, removal_patience_ms) > 0) waitpid(pid, nullptr, WNOHANG);
  if (ended >= 0) close(ended);
}

}  // namespace millrace
