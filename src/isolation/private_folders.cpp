// src/isolation/private_folders.cpp - see private_folders.h.
#include "isolation/private_folders.h"

#include <dirent.h>
#include <fcntl.h>
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
#include <utility>

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

constexpr unsigned removal_limit_seconds = 600;
constexpr std::size_t open_folders_max = 32;

// One that is ours alone: whoever may write to the folder it lies in could have made another of that name.
bool is_ours(int folder) {
  struct stat found{};
  return folder >= 0 && fstat(folder, &found) == 0 && found.st_uid == geteuid() && (found.st_mode & 077) == 0;
}

int open_folder(int above, const char* name) {
  return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

struct OpenFolder {
  DIR* entries;
  std::string name;  // in the one before
};

// Goes by descriptors and never through a link or into another file system: the names are a user's, and he may have a
// process elsewhere that changes them meanwhile. What lies too deep is moved to the top, where names are ours.
void empty_folder(int top) {
  struct stat own{};
  if (fstat(top, &own) != 0) return;
  std::uint64_t moved = 0;
  for (bool again = true; std::exchange(again, false);) {
    const int first = open_folder(top, ".");
    if (first < 0) return;
    std::vector<OpenFolder> open{{fdopendir(first), {}}};
    while (!open.empty()) {
      DIR* entries = open.back().entries;
      const int here = dirfd(entries);
      const dirent* entry = readdir(entries);
      if (entry == nullptr) {
        const std::string name = std::move(open.back().name);
        closedir(entries);
        open.pop_back();
        if (!open.empty()) unlinkat(dirfd(open.back().entries), name.c_str(), AT_REMOVEDIR);
        continue;
      }
      const char* name = entry->d_name;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      if (unlinkat(here, name, 0) == 0 || unlinkat(here, name, AT_REMOVEDIR) == 0) continue;
      if (open.size() == open_folders_max) {
        const std::string place = "deep-" + std::to_string(getpid()) + "-" + std::to_string(moved++);
        if (renameat2(here, name, top, place.c_str(), RENAME_NOREPLACE) == 0) again = true;
        continue;
      }
      const int below = open_folder(here, name);
      struct stat found{};
      if (below >= 0 && fstat(below, &found) == 0 && found.st_dev == own.st_dev)
        open.push_back({fdopendir(below), name});
      else if (below >= 0)
        close(below);
    }
  }
}

// This one of them and what earlier removals left of others.
[[noreturn]] void remove_gone(const std::string& parent) {
  alarm(removal_limit_seconds);  // somebody may go on filling it
  const int above = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::vector<std::string> left;
  if (DIR* entries = above < 0 ? nullptr : fdopendir(dup(above)); entries != nullptr) {
    while (const dirent* entry = readdir(entries))
      if (std::string_view{entry->d_name}.find(gone_mark) != std::string_view::npos) left.emplace_back(entry->d_name);
    closedir(entries);
  }
  for (const std::string& name : left) {
    const int folder = open_folder(above, name.c_str());
    if (!is_ours(folder)) continue;
    empty_folder(folder);
    unlinkat(above, name.c_str(), AT_REMOVEDIR);
  }
  _exit(0);
}

}  // namespace

Result<void> enter_private_folders(const PrivateFolders& folders) {
  // The job's folder is closed to everybody else; what is mounted from it is as open as what it covers.
  if (mkdir(folders.base.c_str(), 0700) != 0 && errno != EEXIST) return failed("make " + folders.base);
  const int base = open_folder(AT_FDCWD, folders.base.c_str());
  const bool ours = is_ours(base);
  if (base >= 0) close(base);
  if (!ours) return fail(Errc::refused, folders.base + " is there, and somebody else has made it");
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
  if (pid == 0) remove_gone(gone.substr(0, gone.rfind('/')));
  if (pid < 0) return;
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd one{ended, POLLIN, 0};
  if (ended >= 0 && poll(&one, 1, removal_patience_ms) > 0) waitpid(pid, nullptr, WNOHANG);
  if (ended >= 0) close(ended);
}

}  // namespace millrace
