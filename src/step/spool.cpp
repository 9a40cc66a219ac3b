// src/step/spool.cpp - see spool.h.
#include "step/spool.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "millrace.pb.h"
#include "step/proc.h"

namespace millrace {

namespace {

std::unexpected<Error> io_failure(std::string_view doing) {
  return fail(Errc::io, std::string{doing} + ": " + std::strerror(errno));
}

Result<void> write_whole(const char* name, mode_t mode, std::string_view bytes, const uid_t* uid, const gid_t* gid) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) return io_failure(std::string{"create "} + name);
  bool good = true;
  while (good && !bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    good = count > 0;
    if (good) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (good && uid != nullptr) good = fchown(fd, *uid, *gid) == 0;
  const int problem = errno;
  close(fd);
  errno = problem;
  if (!good) return io_failure(std::string{"write "} + name);
  return {};
}

}  // namespace

Result<AttemptSpool> AttemptSpool::enter(const std::string& directory) {
  if (chdir(directory.c_str()) != 0) return io_failure("enter " + directory);
  return AttemptSpool{directory};
}

Result<int> AttemptSpool::listen() const {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return io_failure("make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");
  const mode_t before = umask(0177);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int problem = errno;
  umask(before);
  if (bound && ::listen(fd, 4) == 0) return fd;
  close(fd);
  if (!bound) errno = problem;
  return io_failure("listen in " + directory_);
}

Result<void> AttemptSpool::claim(std::string_view boot_id) const {
  std::string owner = std::to_string(getpid()) + " " + std::to_string(start_time(getpid())) + " ";
  owner += boot_id;
  if (symlink(owner.c_str(), "supervisor") == 0) return {};
  if (errno == EEXIST) return fail(Errc::refused, "the attempt was claimed by another process");
  return io_failure("claim " + directory_);
}

Result<std::string> AttemptSpool::write_script(std::string_view script, uid_t uid, gid_t gid) const {
  const bool give = geteuid() == 0;
  MR_TRY_VOID(write_whole("slurm_script", 0700, script, give ? &uid : nullptr, give ? &gid : nullptr));
  return directory_ + "/slurm_script";
}

Result<void> AttemptSpool::write_tasks(const std::vector<pid_t>& pids) const {
  std::string lines;
  for (const pid_t pid : pids) lines += std::to_string(pid) + " " + std::to_string(start_time(pid)) + "\n";
  return write_whole("tasks", 0600, lines, nullptr, nullptr);
}

Result<void> AttemptSpool::write_end(const wire::AttemptStatus& status) const {
  MR_TRY_VOID(write_whole("end.new", 0600, status.SerializeAsString(), nullptr, nullptr));
  if (rename("end.new", "end") != 0) return io_failure("rename the end in " + directory_);
  return {};
}

}  // namespace millrace
