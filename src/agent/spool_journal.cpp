// src/agent/spool_journal.cpp - see spool_journal.h.
#include "agent/spool_journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/leftovers.h"

namespace millrace {
namespace {

constexpr std::string_view unfinished = ".new";

std::string read_whole(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return text;
  char buffer[16384];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

Result<void> write_whole(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(Errc::io, "open " + path + ": " + std::strerror(errno));
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    good = count > 0 || (count < 0 && errno == EINTR);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  const int problem = errno;
  close(fd);
  if (!good) return fail(Errc::io, "write " + path + ": " + std::strerror(problem));
  return {};
}

}  // namespace

std::vector<AttemptName> SpoolJournal::names() const {
  std::vector<AttemptName> out;
  if (DIR* directory = opendir(directory_.c_str())) {
    while (const dirent* entry = readdir(directory))
      if (wire::ProgramRecord record;
          entry->d_name[0] != '.' && record.ParseFromString(read_whole(directory_ + "/" + entry->d_name)))
        out.push_back({record.job_key(), record.attempt()});
    closedir(directory);
  }
  return out;
}

std::vector<wire::ProgramRecord> SpoolJournal::read() {
  std::vector<wire::ProgramRecord> out;
  DIR* directory = opendir(directory_.c_str());
  if (directory == nullptr) return out;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = directory_ + "/" + entry->d_name;
    wire::ProgramRecord record;
    // After a boot nothing is left of the job; what was begun to be written had no effect yet.
    if (path.ends_with(unfinished) || !record.ParseFromString(read_whole(path)) || record.boot_id() != boot_id_)
      unlink(path.c_str());
    else
      out.push_back(std::move(record));
  }
  closedir(directory);
  return out;
}

Result<void> SpoolJournal::write(const wire::ProgramRecord& record) {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(Errc::io, "make " + directory_ + ": " + std::strerror(errno));
  const std::string path = path_of({record.job_key(), record.attempt()}), fresh = path + std::string{unfinished};
  wire::ProgramRecord signed_by_boot = record;
  signed_by_boot.set_boot_id(boot_id_);
  MR_TRY_VOID(write_whole(fresh, signed_by_boot.SerializeAsString()));
  if (rename(fresh.c_str(), path.c_str()) != 0) return fail(Errc::io, "rename " + fresh + ": " + std::strerror(errno));
  return {};
}

void SpoolJournal::erase(AttemptName name) { unlink(path_of(name).c_str()); }

std::string SpoolJournal::mark_of(AttemptName name) const { return "MILLRACE_ATTEMPT=" + path_of(name); }

bool SpoolJournal::end_leftovers(AttemptName name) {
  const auto left = find_leftovers(AttemptRecord{}, path_of(name));
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  return left.empty();
}

}  // namespace millrace
