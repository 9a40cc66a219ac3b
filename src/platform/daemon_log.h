// src/platform/daemon_log.h - the log of a daemon: lines with a time stamp, to a file or to standard error, and to
// syslog where the site wants it.
#pragma once

#include <sys/time.h>

#include <optional>
#include <string>

#include "base/log.h"
#include "platform/daemon.h"

namespace millrace {

class DaemonLog final : public Log {
 public:
  DaemonLog() { level_ = file_level_; }
  ~DaemonLog() override;
  Result<void> open(const std::string& path);  // again: after the file was moved away
  bool is_open() const { return file_ > 2; }
  void say(std::string_view text) {
    at(LogLevel::info, [&] { return text; });
  }
  void complain(std::string_view text) {
    at(LogLevel::error, [&] { return text; });
  }
  void give_to(const LocalUser& user);  // who opens it again later
  void set_level(LogLevel level) override;
  LogLevel file_level() const { return file_level_; }
  void set_time_format(LogTimeFormat format) { format_ = format; }
  // Nothing: not to syslog. `name` is what lines are said to be from, for good.
  void set_syslog(const char* name, std::optional<LogLevel> level);
  // A line that another process has made, whose level was looked at there.
  void pass_on(LogLevel level, std::string_view text) { write(level, "", text); }

 private:
  void write(LogLevel level, std::string_view prefix, std::string_view text) override;
  int file_ = 2;
  LogLevel file_level_ = LogLevel::info;
  std::optional<LogLevel> syslog_level_;
  LogTimeFormat format_ = LogTimeFormat::iso8601_ms;
};

// What stands in brackets before a line.
std::string log_stamp(LogTimeFormat format, timeval now);

}  // namespace millrace
