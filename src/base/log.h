// src/base/log.h - a log with levels: a line that nobody wants is not even made.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log_level.h"

namespace millrace {

// One without a sink of its own says nothing. Belongs to one thread, as everything does that writes to it.
class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  virtual ~Log() = default;

  bool wants(LogLevel level) const { return level <= level_; }
  bool wants(DebugFlag flag) const { return (flags_ & bit_of(flag)) != 0; }
  bool wants_flags() const { return flags_ != 0; }

  // `make` returns the line and runs only if it is written.
  template <class Make>
  void at(LogLevel level, Make&& make) {
    if (wants(level)) write(level, prefix_of(level), std::forward<Make>(make)());
  }
  // A line of a subsystem that was told to say more, whatever the level.
  template <class Make>
  void about(DebugFlag flag, Make&& make) {
    if (wants(flag)) write(LogLevel::info, flag_prefix(flag), std::forward<Make>(make)());
  }
  template <class Make>
  void error(Make&& make) {
    at(LogLevel::error, std::forward<Make>(make));
  }
  template <class Make>
  void info(Make&& make) {
    at(LogLevel::info, std::forward<Make>(make));
  }
  template <class Make>
  void verbose(Make&& make) {
    at(LogLevel::verbose, std::forward<Make>(make));
  }
  template <class Make>
  void debug(Make&& make) {
    at(LogLevel::debug, std::forward<Make>(make));
  }
  template <class Make>
  void debug2(Make&& make) {
    at(LogLevel::debug2, std::forward<Make>(make));
  }
  template <class Make>
  void debug3(Make&& make) {
    at(LogLevel::debug3, std::forward<Make>(make));
  }

  LogLevel level() const { return level_; }
  DebugFlags flags() const { return flags_; }
  virtual void set_level(LogLevel level) { level_ = level; }
  void set_flags(DebugFlags flags) { flags_ = flags; }

 protected:
  virtual void write(LogLevel, std::string_view /*prefix*/, std::string_view /*text*/) {}
  LogLevel level_ = LogLevel::quiet;  // the loudest that anybody listens to

 private:
  static std::string_view flag_prefix(DebugFlag flag) {
    for (const DebugFlagRow& row : debug_flags())
      if (row.flag == flag) return row.prefix;
    return {};
  }
  DebugFlags flags_ = 0;
};

}  // namespace millrace
