// src/platform/real_filesystem.cpp - see real_filesystem.h.
#include "platform/real_filesystem.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

namespace millrace {

namespace {

// Runs a system call again as long as a signal interrupts it.
template <class Call>
auto restarting(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

Errc code_of(int error) {
  if (error == ENOENT) return Errc::not_found;
  if (error == ENOSPC || error == EDQUOT) return Errc::unavailable;
  return Errc::io;
}

class RealFile final : public File {
 public:
  RealFile(std::string path, Descriptor descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = restarting(
          [&] { return ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (count < 0) return problem("write");
      if (count == 0) return fail(Errc::io, "write " + path_ + ": the device takes no more bytes");
      bytes.remove_prefix(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    return {};
  }

  Result<std::string> read_at(std::uint64_t offset, std::uint64_t length) override {
    // The length may come from a damaged record: never allocate beyond what the file can hold.
    const auto present = size();
    if (!present) return std::unexpected(present.error());
    length = offset >= *present ? 0 : std::min(length, *present - offset);
    std::string bytes(length, '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t count = restarting([&] {
        return ::pread(descriptor_.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(offset + got));
      });
      if (count < 0) return problem("read");
      if (count == 0) break;
      got += static_cast<std::size_t>(count);
    }
    bytes.resize(got);
    return bytes;
  }

  // Not repeated on an error, EINTR included: what a failed sync left on disk is unknown (see ports/event_log.h).
  Result<void> sync_data() override {
    if (::fdatasync(descriptor_.get()) != 0) return problem("sync");
    return {};
  }

  Result<void> truncate(std::uint64_t length) override {
    if (restarting([&] { return ::ftruncate(descriptor_.get(), static_cast<off_t>(length)); }) != 0)
      return problem("truncate");
    return {};
  }

  Result<void> reserve(std::uint64_t length) override {
    const auto grown =
        restarting([&] { return ::fallocate(descriptor_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(length)); });
    // A file system that cannot reserve leaves us with its own word at write time; that is still better than no log.
    if (grown == 0 || errno == EOPNOTSUPP) return {};
    return problem("reserve " + std::to_string(length) + " bytes for");
  }

  Result<std::uint64_t> size() override {
    struct stat status{};
    if (::fstat(descriptor_.get(), &status) != 0) return problem("size of");
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  std::unexpected<Error> problem(const std::string& doing) const {
    const int error = errno;
    return fail_errno(code_of(error), doing + " " + path_, error);
  }

  std::string path_;
  Descriptor descriptor_;
};

}  // namespace

Result<std::unique_ptr<RealFilesystem>> RealFilesystem::open_directory(const std::string& path, bool read_only) {
  Descriptor directory{restarting([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })};
  if (!directory) return fail_errno(code_of(errno), "open directory " + path);
  return std::unique_ptr<RealFilesystem>(new RealFilesystem(path, std::move(directory), read_only));
}

Result<void> RealFilesystem::lock() {
  if (restarting([&] { return ::flock(directory_.get(), LOCK_EX | LOCK_NB); }) == 0) return {};
  if (errno == EWOULDBLOCK) return fail(Errc::refused, "lock " + path_ + ": another process uses this directory");
  return fail_errno(Errc::io, "lock " + path_);
}

Result<std::vector<std::string>> RealFilesystem::list() {
  // A descriptor of its own: reading a directory moves a position that duplicates would share.
  const int copy = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = copy < 0 ? nullptr : ::fdopendir(copy);
  if (directory == nullptr) {
    const int error = errno;
    if (copy >= 0) ::close(copy);
    return fail_errno(code_of(error), "list " + path_, error);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(directory);
  if (error != 0) return fail_errno(code_of(error), "list " + path_, error);
  std::ranges::sort(names);
  return names;
}

Result<std::unique_ptr<File>> RealFilesystem::create(std::string_view name) {
  const std::string text{name};
  Descriptor descriptor{restarting([&] {
    return ::openat(directory_.get(), text.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  })};
  if (!descriptor) return fail_errno(code_of(errno), "create " + full(name));
  return std::make_unique<RealFile>(full(name), std::move(descriptor));
}

Result<std::unique_ptr<File>> RealFilesystem::open(std::string_view name) {
  const std::string text{name};
  const int mode = read_only_ ? O_RDONLY : O_RDWR;
  Descriptor descriptor{
      restarting([&] { return ::openat(directory_.get(), text.c_str(), mode | O_CLOEXEC | O_NOFOLLOW); })};
  if (!descriptor) return fail_errno(code_of(errno), "open " + full(name));
  return std::make_unique<RealFile>(full(name), std::move(descriptor));
}

Result<void> RealFilesystem::rename(std::string_view from, std::string_view to) {
  if (::renameat(directory_.get(), std::string{from}.c_str(), directory_.get(), std::string{to}.c_str()) == 0)
    return {};
  return fail_errno(code_of(errno), "rename " + full(from) + " to " + full(to));
}

Result<void> RealFilesystem::remove(std::string_view name) {
  if (::unlinkat(directory_.get(), std::string{name}.c_str(), 0) == 0) return {};
  return fail_errno(code_of(errno), "remove " + full(name));
}

Result<void> RealFilesystem::sync_directory() {
  if (::fsync(directory_.get()) == 0) return {};
  return fail_errno(Errc::io, "sync directory " + path_);
}

Result<std::uint64_t> RealFilesystem::free_bytes() {
  struct statvfs status{};
  if (::fstatvfs(directory_.get(), &status) != 0) return fail_errno(Errc::io, "free space of " + path_);
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace millrace
