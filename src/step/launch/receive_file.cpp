// src/step/launch/receive_file.cpp - see receive_file.h.
#include "step/launch/receive_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "step/launch/arriving_file.h"

namespace millrace {
namespace {

int complain(const std::string& node, const std::string& what) {
  const std::string line = "sbcast: error: REQUEST_FILE_BCAST(" + node + "): " + what + "\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  return 1;
}

Result<void> write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(Errc::io, std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> copy_input(int fd, const wire::ReceivedFile& file) {
  static char buffer[65536];
  ArrivingFile arriving(file, [fd](std::string_view bytes) { return write_whole(fd, bytes); });
  for (bool more = true; more;) {
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    MR_TRY(more, arriving.take({buffer, static_cast<std::size_t>(count)}));
  }
  return arriving.end();
}

timespec to_timespec(std::int64_t microseconds) {
  return {microseconds / 1'000'000, (microseconds % 1'000'000) * 1000};
}

}  // namespace

int receive_file(const wire::ReceivedFile& file, const std::string& node) {
  const std::string& path = file.path();
  struct stat there{};
  if (!file.force() && lstat(path.c_str(), &there) == 0) return complain(node, std::strerror(EEXIST));
  if (file.make_folder()) {
    const std::string folder = path.substr(0, path.rfind('/'));
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return complain(node, std::strerror(errno));
  }
  // Without a name where the file system can do that, so that nothing is left of one that is killed; else under another
  // name.
  const std::string folder = path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/') + 1);
  std::string temporary = path + ".XXXXXX";
  int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  const bool nameless = fd >= 0;
  if (!nameless) fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return complain(node, std::strerror(errno));
  const auto copied = copy_input(fd, file);
  std::string problem = copied ? std::string{} : copied.error().story;
  if (problem.empty() && fchmod(fd, file.mode() & 07777 & (file.preserve() ? 07777u : 0777u)) != 0)
    problem = std::strerror(errno);
  if (problem.empty() && file.preserve()) {
    const timespec times[] = {to_timespec(file.accessed_at_us()), to_timespec(file.modified_at_us())};
    if (futimens(fd, times) != 0) problem = std::strerror(errno);
  }
  const std::string open_file = "/proc/self/fd/" + std::to_string(fd);
  const auto put = [&](const std::string& name) {
    const char* from = nameless ? open_file.c_str() : temporary.c_str();
    return linkat(AT_FDCWD, from, AT_FDCWD, name.c_str(), nameless ? AT_SYMLINK_FOLLOW : 0);
  };
  // A link, unlike a rename, does not replace what somebody else put there meanwhile.
  if (problem.empty() && !file.force() && put(path) != 0) problem = std::strerror(errno);
  if (problem.empty() && file.force()) {
    const std::string beside = nameless ? path + "." + std::to_string(getpid()) : temporary;
    if ((nameless && put(beside) != 0) || rename(beside.c_str(), path.c_str()) != 0) {
      problem = std::strerror(errno);
      unlink(beside.c_str());
    }
  }
  if (!nameless && (!problem.empty() || !file.force())) unlink(temporary.c_str());
  if (close(fd) != 0 && problem.empty()) problem = std::strerror(errno);
  return problem.empty() ? 0 : complain(node, problem);
}

}  // namespace millrace
