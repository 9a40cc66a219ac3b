// src/agent/spool_owner.cpp - see spool_owner.h.
#include "agent/spool_owner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "agent/leftovers.h"
#include "base/text.h"
#include "wire/random.h"

namespace millrace {
namespace {

constexpr int tries_max = 100, between_tries_ms = 50;
constexpr std::size_t id_bytes = 16;

std::unexpected<Error> failed(const std::string& doing) { return fail(Errc::io, doing + ": " + std::strerror(errno)); }

std::string read_short(int fd) {
  char text[128];
  const ssize_t count = pread(fd, text, sizeof text, 0);
  return std::string{trim(std::string_view(text, count > 0 ? static_cast<std::size_t>(count) : 0))};
}

// Supervisors and tasks of a spool that was there before this one, and that nobody answers for any more.
void end_strangers(const std::string& spool) {
  for (int tries = 0; tries < tries_max; ++tries) {
    const auto strangers = find_strangers(spool);
    if (strangers.empty()) return;
    for (const pid_t pid : strangers) ::kill(pid, SIGKILL);
    poll(nullptr, 0, between_tries_ms);  // before the loop exists
  }
}

}  // namespace

Result<SpoolLock> SpoolLock::take(const std::string& spool) {
  const std::string path = spool + "/agent.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("open " + path);
  SpoolLock lock(fd);
  for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed("lock " + path);
    if (tries == tries_max) {
      const std::string holder = read_short(fd);
      return fail(Errc::refused, "another agent" + (holder.empty() ? "" : ", process " + holder + ",") +
                                     " has the spool directory " + spool +
                                     "; two agents need SlurmdSpoolDir with %n, or one of them has to stop");
    }
    poll(nullptr, 0, between_tries_ms);  // before the loop exists
  }
  return lock;
}

SpoolLock::~SpoolLock() {
  if (fd_ >= 0) close(fd_);
}

void SpoolLock::sign() const {
  const std::string text = std::to_string(getpid()) + "\n";
  if (fd_ >= 0 && ftruncate(fd_, 0) == 0) [[maybe_unused]]
    const ssize_t written = pwrite(fd_, text.data(), text.size(), 0);
}

// Whole or not at all: it gets its name when it is written.
Result<std::string> identify_spool(const std::string& spool) {
  const std::string path = spool + "/id";
  if (const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); fd >= 0) {
    const std::string id = read_short(fd);
    close(fd);
    if (id.size() == id_bytes * 2) return id;
  }
  const std::string id = to_hex(random_bytes(id_bytes)), fresh = path + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("open " + fresh);
  const bool written = write(fd, id.data(), id.size()) == static_cast<ssize_t>(id.size());
  close(fd);
  if (!written) return failed("write " + fresh);
  end_strangers(spool);  // first: an agent that dies here finds no name, and does it again
  if (rename(fresh.c_str(), path.c_str()) != 0) return failed("write " + path);
  return id;
}

}  // namespace millrace
