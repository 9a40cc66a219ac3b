// src/step/attempt/spool.cpp - see spool.h.
#include "step/attempt/spool.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "agent.pb.h"
#include "base/text.h"
#include "step/attempt/proc.h"

namespace millrace {

namespace {

std::unexpected<Error> io_failure(std::string_view doing) {
  return fail(Errc::io, std::string{doing} + ": " + std::strerror(errno));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

int create_file(const char* name, mode_t mode) {
  return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

int rename_without_replacing(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (link(from, to) != 0) return -1;  // a file system without the flag
  unlink(from);
  return 0;
}

}  // namespace

Result<AttemptSpool> AttemptSpool::enter(const std::string& directory) {
  if (chdir(directory.c_str()) != 0) return io_failure("enter " + directory);
  return AttemptSpool{directory};
}

Result<StepListener> listen_for_agents() {
  StepListener listener;
  listener.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener.fd < 0) return io_failure("make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof(sa_family_t);  // no name: the kernel finds a free one
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.fd, generic, length) == 0 && listen(listener.fd, 4) == 0) {
    length = sizeof address;
    if (getsockname(listener.fd, generic, &length) == 0) {
      listener.name.assign(address.sun_path + 1, length - sizeof(sa_family_t) - 1);
      return listener;
    }
  }
  const int problem = errno;
  close(listener.fd);
  errno = problem;
  return io_failure("listen for agents");
}

Result<void> AttemptSpool::claim(std::string_view boot_id, std::string_view socket, uid_t uid) {
  std::string line = "supervisor " + std::to_string(getpid()) + " " + std::to_string(start_time(getpid())) + " ";
  line.append(boot_id).append(1, ' ').append(socket).append("\nuser " + std::to_string(uid) + "\n");
  state_ = create_file("state.new", 0600);
  if (state_ < 0 && errno == EEXIST) return fail(Errc::refused, "the attempt has another supervisor");
  if (state_ < 0) return io_failure("create the state in " + directory_);
  MR_TRY_VOID(append(line));
  if (rename_without_replacing("state.new", "state") == 0) return {};
  if (errno == EEXIST) return fail(Errc::refused, "the attempt was given up");
  return io_failure("claim " + directory_);
}

// All or nothing: a line that did not fit is taken back, so that the next one does not become its end.
Result<void> AttemptSpool::append(std::string_view line) {
  if (write_all(state_, line)) {
    state_size_ += line.size();
    return {};
  }
  const int problem = errno;
  if (ftruncate(state_, static_cast<off_t>(state_size_)) == 0) lseek(state_, 0, SEEK_END);
  errno = problem;
  return io_failure("write the state in " + directory_);
}

Result<std::string> AttemptSpool::write_script(std::string_view script, uid_t uid, gid_t gid) const {
  return in_context(write_file("slurm_script", 0700, script, uid, gid), "the script");
}

Result<std::string> AttemptSpool::write_file(const std::string& name, mode_t mode, std::string_view bytes, uid_t uid,
                                             gid_t gid) const {
  const std::string path = directory_ + "/" + name;
  const int fd = create_file(name.c_str(), mode);
  if (fd < 0) return io_failure("create " + path);
  const bool good = write_all(fd, bytes) && (geteuid() != 0 || fchown(fd, uid, gid) == 0);
  const int problem = errno;
  close(fd);
  errno = problem;
  if (!good) return io_failure("write " + path);
  return path;
}

Result<std::string> AttemptSpool::make_folder(const std::string& name, uid_t uid, gid_t gid,
                                              const FirstFile& first) const {
  const std::string path = directory_ + "/" + name;
  if (mkdir(path.c_str(), 0700) != 0) return io_failure("make " + path);
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return io_failure("open " + path);
  const bool root = geteuid() == 0;
  bool good = true;
  if (!first.name.empty()) {
    const int file = openat(folder, first.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    good = file >= 0 && write_all(file, first.bytes) && (!root || fchown(file, uid, gid) == 0);
    const int problem = errno;
    if (file >= 0) close(file);
    errno = problem;
  }
  good = good && (!root || fchown(folder, uid, gid) == 0);
  const int problem = errno;
  close(folder);
  errno = problem;
  if (!good) return io_failure("give " + path + " to its user");
  return path;
}

Result<void> AttemptSpool::write_tasks(const std::vector<pid_t>& pids, uid_t uid) {
  std::string lines;
  for (const pid_t pid : pids)
    lines += "task " + std::to_string(pid) + " " + std::to_string(start_time(pid)) + " " + std::to_string(uid) + "\n";
  return append(lines);
}

Result<void> AttemptSpool::write_isolation(const wire::Isolation& isolation) {
  return append("isolation " + to_hex(isolation.SerializeAsString()) + "\n");
}

Result<void> AttemptSpool::write_step(std::uint32_t id) { return append("step " + std::to_string(id) + "\n"); }

Result<void> AttemptSpool::write_end(const wire::AttemptStatus& status) {
  return append("end " + to_hex(status.SerializeAsString()) + "\n");
}

}  // namespace millrace
