// src/step/receive_file.cpp - see receive_file.h.
#include "step/receive_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace millrace {
namespace {

int complain(const std::string& node, const std::string& what) {
  const std::string line = "sbcast: error: REQUEST_FILE_BCAST(" + node + "): " + what + "\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  return 1;
}

bool write_whole(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t count = write(fd, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// Empty, or what went wrong.
std::string copy_input(int fd, const wire::ReceivedFile& file) {
  static char in[65536], out[65536];
  std::uint64_t written = 0;
  z_stream stream{};
  if (file.packed() && inflateInit(&stream) != Z_OK) return "cannot unpack";
  std::string problem;
  bool ended = false;
  while (problem.empty() && !ended) {
    const ssize_t count = read(STDIN_FILENO, in, sizeof in);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (!file.packed()) {
      if (!write_whole(fd, in, static_cast<std::size_t>(count))) problem = std::strerror(errno);
      written += static_cast<std::uint64_t>(count);
      continue;
    }
    stream.next_in = reinterpret_cast<Bytef*>(in);
    stream.avail_in = static_cast<uInt>(count);
    while (problem.empty() && !ended && stream.avail_in > 0) {
      stream.next_out = reinterpret_cast<Bytef*>(out);
      stream.avail_out = sizeof out;
      const int state = inflate(&stream, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END) problem = "what arrives is not packed as it should be";
      const std::size_t made = sizeof out - stream.avail_out;
      if (problem.empty() && !write_whole(fd, out, made)) problem = std::strerror(errno);
      written += made;
      ended = state == Z_STREAM_END;
    }
  }
  if (file.packed()) inflateEnd(&stream);
  if (problem.empty() && written != file.size())
    problem = "only " + std::to_string(written) + " of " + std::to_string(file.size()) + " bytes arrived";
  return problem;
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
  std::string problem = copy_input(fd, file);
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
