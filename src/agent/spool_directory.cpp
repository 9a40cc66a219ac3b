// src/agent/spool_directory.cpp - see spool_directory.h.
#include "agent/spool_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "agent.pb.h"
#include "base/text.h"

namespace millrace {

namespace {

constexpr std::string_view forgotten_prefix = ".forgotten-";

std::unexpected<Error> io_failure(const std::string& doing) {
  return fail(Errc::io, doing + ": " + std::strerror(errno));
}

std::string read_whole(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

Result<void> write_whole(const std::string& path, int flags, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (fd < 0) return io_failure("open " + path);
  const bool good = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int problem = errno;
  close(fd);
  errno = problem;
  if (!good) return io_failure("write " + path);
  return {};
}

ProcessName process_name(std::string_view pid, std::string_view start_time) {
  return {static_cast<pid_t>(parse_integer(pid).value_or(0)),
          static_cast<std::uint64_t>(parse_integer(start_time).value_or(0))};
}

// So many entries are removed at once: a user's folder may hold any number, and the agent has others to serve.
constexpr std::size_t removals_at_once = 1'000, removals_at_start = 100'000;

// Never through a link: below a task's own folder names are its user's.
void empty_folder(int folder, int levels, std::size_t& removals) {
  DIR* directory = fdopendir(folder);
  if (directory == nullptr) {
    close(folder);
    return;
  }
  while (const dirent* entry = readdir(directory)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (removals == 0) break;
    --removals;
    if (unlinkat(dirfd(directory), entry->d_name, 0) == 0 || levels == 0) continue;
    const int below = openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0) continue;
    empty_folder(below, levels - 1, removals);
    unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
  }
  closedir(directory);
}

// False: there was more of it.
bool remove_tree(const std::string& path, std::size_t removals) {
  constexpr int levels = 16;
  if (const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); folder >= 0)
    empty_folder(folder, levels, removals);
  return rmdir(path.c_str()) == 0 || removals > 0;
}

}  // namespace

std::string text_of(AttemptName name) {
  return std::to_string(name.job_key) + "." + std::to_string(name.attempt) +
         (name.is_step() ? "." + std::to_string(name.step) : "");
}

std::optional<AttemptName> parse_attempt_name(std::string_view text) {
  const auto words = split(text, '.');
  if (words.size() < 2 || words.size() > 3 || words[0].empty()) return std::nullopt;
  const auto key = parse_integer(words[0]), attempt = parse_integer(words[1]);
  const auto step = words.size() == 3 ? parse_integer(words[2]) : std::optional<std::int64_t>{-1};
  if (!key || !attempt || !step || *key < 0 || *attempt < 0 || *attempt > UINT32_MAX) return std::nullopt;
  if (words.size() == 3 && (*step < 0 || *step > UINT32_MAX)) return std::nullopt;
  const AttemptName name{static_cast<std::uint64_t>(*key), static_cast<std::uint32_t>(*attempt), *step};
  if (text_of(name) != text) return std::nullopt;  // 07.0 is not where 7.0 is
  return name;
}

std::optional<AttemptRecord> parse_attempt_record(std::string_view text) {
  AttemptRecord record;
  bool claimed = false;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const auto words = split(text.substr(0, end), ' ');
    if (words[0] == "supervisor" && words.size() == 5) {
      record.supervisor = process_name(words[1], words[2]);
      record.boot_id = words[3];
      record.socket = words[4];
      claimed = true;
    } else if (words[0] == "user" && words.size() == 2) {
      record.uid = static_cast<uid_t>(parse_integer(words[1]).value_or(0));
    } else if (words[0] == "task" && words.size() == 4) {
      record.tasks.push_back(process_name(words[1], words[2]));
      record.uid = static_cast<uid_t>(parse_integer(words[3]).value_or(0));
    } else if (words[0] == "isolation" && words.size() == 2) {
      record.isolation = from_hex(words[1]).value_or("");
    } else if (words[0] == "end" && words.size() == 2) {
      record.end = from_hex(words[1]).value_or("");
    }
  }
  if (!claimed) return std::nullopt;
  return record;
}

Result<SpoolDirectory> SpoolDirectory::open(std::string path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0755);
  if (mkdir(path.c_str(), 0711) != 0 && errno != EEXIST) return io_failure("make spool directory " + path);
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return io_failure("look at spool directory " + path);
  if (!S_ISDIR(info.st_mode)) return fail(Errc::invalid, "spool directory " + path + " is not a directory");
  // Whoever may write here could put his own attempt in place of another's.
  if ((info.st_uid != 0 && info.st_uid != geteuid()) || (info.st_mode & 022) != 0)
    return fail(Errc::refused, "spool directory " + path + " can be written by others; chown it and chmod 711 it");
  return SpoolDirectory{std::move(path)};
}

std::vector<AttemptName> SpoolDirectory::list() const {
  std::vector<AttemptName> names;
  DIR* directory = opendir(path_.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view text = entry->d_name;
    if (const std::string path = path_ + "/" + entry->d_name; text.starts_with(forgotten_prefix))
      if (!remove_tree(path, removals_at_start)) unfinished_.push_back(path);
    if (const auto name = parse_attempt_name(text)) names.push_back(*name);
  }
  closedir(directory);
  std::ranges::sort(names);
  return names;
}

std::string SpoolDirectory::path_of(AttemptName name) const { return path_ + "/" + text_of(name); }

Result<void> SpoolDirectory::create(AttemptName name) const {
  if (mkdir(path_of(name).c_str(), 0711) == 0) return {};
  return fail(errno == EEXIST ? Errc::refused : Errc::io, "make " + path_of(name) + ": " + std::strerror(errno));
}

std::optional<AttemptRecord> SpoolDirectory::read(AttemptName name) const {
  return parse_attempt_record(read_whole(path_of(name) + "/state"));
}

Result<bool> SpoolDirectory::give_up(AttemptName name) const {
  const std::string from = path_of(name) + "/state.agent", to = path_of(name) + "/state";
  MR_TRY_VOID(write_whole(from, O_TRUNC, "supervisor 0 0 - -\n"));
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if ((errno == EINVAL || errno == ENOSYS) && link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  return io_failure("give up " + path_of(name));
}

Result<void> SpoolDirectory::write_end(AttemptName name, const wire::AttemptStatus& status) const {
  return write_whole(path_of(name) + "/state", O_APPEND, "end " + to_hex(status.SerializeAsString()) + "\n");
}

void SpoolDirectory::forget(AttemptName name) const {
  const std::string forgotten = path_ + "/" + std::string{forgotten_prefix} + text_of(name);
  if (!unfinished_.empty() && remove_tree(unfinished_.back(), removals_at_once)) unfinished_.pop_back();
  if (rename(path_of(name).c_str(), forgotten.c_str()) != 0) return;
  if (!remove_tree(forgotten, removals_at_once)) unfinished_.push_back(forgotten);
}

std::uint64_t SpoolDirectory::read_epoch() const {
  const std::string text = read_whole(path_ + "/epoch");
  return static_cast<std::uint64_t>(parse_integer(trim(text)).value_or(0));
}

Result<void> SpoolDirectory::write_epoch(std::uint64_t epoch) const {
  MR_TRY_VOID(write_whole(path_ + "/epoch.new", O_TRUNC, std::to_string(epoch) + "\n"));
  if (rename((path_ + "/epoch.new").c_str(), (path_ + "/epoch").c_str()) != 0) return io_failure("rename the epoch");
  return {};
}

}  // namespace millrace
