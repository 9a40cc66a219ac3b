// src/isolation/control_file.cpp - see control_file.h.
#include "isolation/control_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace millrace {

std::string read_control(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

bool has_control(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Result<void> write_control(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  int problem = errno;
  bool good = fd >= 0;
  if (good) {
    good = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    problem = errno;
    close(fd);
  }
  if (good) return {};
  std::string story = "write '" + std::string{text} + "' to " + path + ": " + std::strerror(problem);
  return fail(problem == ENOENT ? Errc::not_found : problem == EBUSY ? Errc::unavailable : Errc::io, std::move(story));
}

std::optional<std::uint64_t> control_number(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() <= word.size() || !line.starts_with(word) || line[word.size()] != ' ') continue;
    return std::strtoull(std::string{line.substr(word.size() + 1)}.c_str(), nullptr, 10);
  }
  return std::nullopt;
}

}  // namespace millrace
