// src/platform/daemon.cpp - see daemon.h.
#include "platform/daemon.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace millrace {
namespace {

std::unexpected<Error> failed(const std::string& what) { return fail(Errc::io, what + ": " + std::strerror(errno)); }

}  // namespace

Result<void> Background::leave_terminal() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
  const pid_t child = fork();  // before any thread or large memory exists
  if (child < 0) return failed("fork");
  if (child > 0) {
    close(ends[1]);
    char word = 0;
    const ssize_t got = read(ends[0], &word, 1);
    if (got == 1) _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1);
  }
  close(ends[0]);
  pipe_ = ends[1];
  setsid();
  return {};
}

// One datagram to the socket systemd names (sd_notify(3)); without one, nobody waits for it.
static void tell_service_manager() {
  const char* name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = name == nullptr ? "" : name;
  if ((!path.starts_with('/') && !path.starts_with('@')) || path.size() >= sizeof address.sun_path) return;
  path.copy(address.sun_path, path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  constexpr std::string_view text = "READY=1";
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (socket >= 0) [[maybe_unused]]
    const ssize_t sent =
        sendto(socket, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length);
  if (socket >= 0) close(socket);
}

void Background::ready() {
  if (!told_systemd_) tell_service_manager();
  told_systemd_ = true;
  if (pipe_ < 0) return;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0)
    for (int standard = 0; standard <= 2; ++standard) dup2(null, standard);
  if (null > 2) close(null);
  const char word = 'r';
  [[maybe_unused]] const ssize_t written = write(pipe_, &word, 1);
  close(pipe_);
  pipe_ = -1;
}

Result<void> PidFile::write(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return failed("pid file " + path);
  const std::string text = std::to_string(getpid()) + "\n";
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  if (!written) return failed("pid file " + path);
  path_ = path;
  return {};
}

// One that somebody else has written meanwhile stays.
PidFile::~PidFile() {
  if (path_.empty()) return;
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  char text[32];
  const ssize_t count = file >= 0 ? read(file, text, sizeof text) : -1;
  if (file >= 0) close(file);
  const std::string_view found(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  if (found == std::to_string(getpid()) + "\n") unlink(path_.c_str());
}

void PidFile::give_to(const LocalUser& user) {
  if (!path_.empty()) [[maybe_unused]]
    const int done = lchown(path_.c_str(), user.uid, user.gid);
}

Result<LocalUser> find_user(const std::string& name) {
  const passwd* entry = getpwnam(name.c_str());  // before the loop runs
  if (const bool is_number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
      entry == nullptr && is_number)
    entry = getpwuid(static_cast<uid_t>(std::strtoul(name.c_str(), nullptr, 10)));
  if (entry == nullptr) return fail(Errc::not_found, "there is no user " + name + " on this host");
  return LocalUser{entry->pw_name, entry->pw_uid, entry->pw_gid};
}

Result<void> become(const LocalUser& user) {
  if (initgroups(user.name.c_str(), user.gid) != 0) return failed("groups of " + user.name);
  if (setgid(user.gid) != 0) return failed("group of " + user.name);
  if (setuid(user.uid) != 0) return failed("user " + user.name);
  return {};
}

Result<void> own_directory(const std::string& path, unsigned mode, const LocalUser& user) {
  struct stat entry{};
  const bool fresh = lstat(path.c_str(), &entry) != 0 && errno == ENOENT;
  if (fresh) {
    if (const auto made = make_directories(path, mode); !made) return made;
    if (chown(path.c_str(), user.uid, user.gid) != 0) return failed("directory " + path);
    return {};
  }
  if (!S_ISDIR(entry.st_mode)) return fail(Errc::invalid, path + " is not a directory");
  if (entry.st_uid == user.uid) return {};
  return fail(Errc::refused, path + " belongs to user " + std::to_string(entry.st_uid) + " and must belong to " +
                                 user.name + ": `chown -R " + user.name + " " + path + "` would do it");
}

void close_inherited_descriptors() { static_cast<void>(syscall(SYS_close_range, 3, ~0U, 0)); }

std::string absolute_path(const std::string& path) {
  std::error_code problem;
  const auto full = std::filesystem::absolute(path, problem);
  return path.empty() || problem ? path : full.string();
}

Result<void> work_beside(const std::string& log_file, const std::string& otherwise) {
  if (!otherwise.starts_with('/')) return {};  // what the configuration means by such a path is where we are
  const std::size_t slash = log_file.rfind('/');
  if (slash != std::string::npos && slash > 0 && access(log_file.substr(0, slash).c_str(), W_OK) == 0 &&
      chdir(log_file.substr(0, slash).c_str()) == 0)
    return {};
  if (chdir(otherwise.c_str()) != 0) return failed("work in " + otherwise);
  return {};
}

Result<void> set_niceness(const std::string& value) {
  char* end = nullptr;
  const long number = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number < -20 || number > 19)
    return fail(Errc::invalid, "-n " + value + ": a number from -20 to 19 would be right");
  if (setpriority(PRIO_PROCESS, 0, static_cast<int>(number)) != 0) return failed("niceness " + value);
  return {};
}

Result<void> make_directories(const std::string& path, unsigned mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), slash == std::string::npos ? mode : 0755) != 0 && errno != EEXIST)
      return failed("directory " + part);
    if (slash == std::string::npos) return {};
  }
}

static std::string name_or_number(unsigned user) {
  const passwd* entry = getpwuid(user);  // before the loop runs
  return entry == nullptr ? std::to_string(user) : entry->pw_name;
}

Result<void> make_private_directory(const std::string& path, unsigned user) {
  if (const auto made = make_directories(path, 0700); !made) return made;
  struct stat entry{};
  if (stat(path.c_str(), &entry) != 0) return failed("directory " + path);
  if (entry.st_uid != user && entry.st_uid != 0)
    return fail(Errc::refused, "directory " + path + " belongs to user " + name_or_number(entry.st_uid) +
                                   ", who could put other files there: `chown -R " + name_or_number(user) + " " + path +
                                   "` would do it, where what is in it can be trusted");
  if ((entry.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return fail(Errc::refused,
              "directory " + path + " can be written by other users: `chmod go-w " + path + "` would do it");
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string text = name;
  return text.substr(0, text.find('.'));
}

}  // namespace millrace
