// src/agent/spool_directory.h - the node's spool as its agent sees it: which attempts there are, who runs them, how
// they ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::wire {
class AttemptStatus;
}

namespace millrace {

struct AttemptName {
  std::uint64_t job_key = 0;
  std::uint32_t attempt = 0;
  std::int64_t step = -1;  // -1: the attempt itself; steps of it have names, directories and supervisors of their own
  auto operator<=>(const AttemptName&) const = default;

  bool is_step() const { return step >= 0; }
  AttemptName whole() const { return {job_key, attempt}; }
};

// Of any message about an attempt or a step of one.
AttemptName name_of(const auto& message) {
  return {message.job_key(), message.attempt(), message.has_step() ? static_cast<std::int64_t>(message.step()) : -1};
}
std::string text_of(AttemptName name);  // 7.0, 7.0.12
std::optional<AttemptName> parse_attempt_name(std::string_view text);

// A process that cannot be mistaken for a later one with its number.
struct ProcessName {
  pid_t pid = 0;
  std::uint64_t start_time = 0;
};

// What the file `state` of an attempt says; its lines are described in step/attempt/spool.h, which writes them.
struct AttemptRecord {
  ProcessName supervisor;  // pid 0: given up by an agent before one began
  std::string boot_id;
  std::string socket;
  std::vector<ProcessName> tasks;
  std::optional<uid_t> uid;  // whose it is
  std::string isolation;     // serialized Isolation: what the supervisor made for it; empty: nothing
  std::string end;           // serialized AttemptStatus; empty: not ended
};
std::optional<AttemptRecord> parse_attempt_record(std::string_view text);

// No process of the attempt is harmed by anything here.
class SpoolDirectory {
 public:
  // Makes the directory when it is missing; users must be able to pass through it to their scripts, not to list it.
  static Result<SpoolDirectory> open(std::string path);

  // Finishes forgetting what was being forgotten; then every attempt there is.
  std::vector<AttemptName> list() const;
  const std::string& path() const { return path_; }
  std::string path_of(AttemptName name) const;
  Result<void> create(AttemptName name) const;  // refused when it is there already
  std::optional<AttemptRecord> read(AttemptName name) const;
  // Takes the place of a supervisor that has not begun, so that none can begin later. False: one was faster.
  Result<bool> give_up(AttemptName name) const;
  Result<void> write_end(AttemptName name, const wire::AttemptStatus& status) const;
  // A bounded part of it, and of one that was left; the rest is gone when others have been forgotten, or at the next
  // start. By a rename first, so that a crash in between leaves either all of it or nothing that looks like an attempt.
  void forget(AttemptName name) const;

  // The highest epoch ever obeyed; 0 when none was.
  std::uint64_t read_epoch() const;
  Result<void> write_epoch(std::uint64_t epoch) const;

 private:
  explicit SpoolDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
  mutable std::vector<std::string> unfinished_;  // forgotten ones with much in them: each call removes some of it
};

}  // namespace millrace
