// src/platform/daemon_log.cpp - see daemon_log.h.
#include "platform/daemon_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/shown_text.h"

namespace millrace {
namespace {

std::string in_form(const char* form, const tm& when) {
  char text[64];
  return {text, std::strftime(text, sizeof text, form, &when)};
}

std::string zero_filled(long value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*ld", digits, value);
  return text;
}

// +01:00, which strftime writes without the colon.
std::string offset_of(const tm& when) {
  std::string zone = in_form("%z", when);
  if (zone.size() == 5) zone.insert(3, ":");
  return zone;
}

int syslog_priority(LogLevel level) {
  switch (level) {
    case LogLevel::fatal:
      return LOG_CRIT;
    case LogLevel::error:
      return LOG_ERR;
    case LogLevel::info:
    case LogLevel::verbose:
      return LOG_INFO;
    default:
      return LOG_DEBUG;
  }
}

}  // namespace

std::string log_stamp(LogTimeFormat format, timeval now) {
  tm local{};
  localtime_r(&now.tv_sec, &local);
  switch (format) {
    case LogTimeFormat::iso8601:
      return in_form("%Y-%m-%dT%H:%M:%S", local);
    case LogTimeFormat::iso8601_ms:
      return in_form("%Y-%m-%dT%H:%M:%S.", local) + zero_filled(now.tv_usec / 1000, 3);
    case LogTimeFormat::rfc5424:
      return in_form("%Y-%m-%dT%H:%M:%S", local) + offset_of(local);
    case LogTimeFormat::rfc5424_ms:
      return in_form("%Y-%m-%dT%H:%M:%S.", local) + zero_filled(now.tv_usec / 1000, 3) + offset_of(local);
    case LogTimeFormat::rfc3339: {
      tm utc{};
      gmtime_r(&now.tv_sec, &utc);
      return in_form("%Y-%m-%dT%H:%M:%SZ", utc);
    }
    case LogTimeFormat::clock:
      return std::to_string(std::clock());
    case LogTimeFormat::short_form:
      return in_form("%b %d %H:%M:%S", local);
    case LogTimeFormat::thread_id: {
      char name[16] = {};
      pthread_getname_np(pthread_self(), name, sizeof name);
      return in_form("%b %d %H:%M:%S.", local) + zero_filled(now.tv_usec, 6) + " " + std::to_string(getpid()) + " " +
             name + " " + std::to_string(syscall(SYS_gettid));
    }
  }
  return {};
}

DaemonLog::~DaemonLog() {
  if (file_ > 2) close(file_);
}

Result<void> DaemonLog::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (file < 0) return fail(Errc::io, "log file " + path + ": " + std::strerror(errno));
  if (file_ > 2) close(file_);
  file_ = file;
  return {};
}

void DaemonLog::give_to(const LocalUser& user) {
  if (file_ > 2) [[maybe_unused]]
    const int done = fchown(file_, user.uid, user.gid);
}

void DaemonLog::set_level(LogLevel level) {
  file_level_ = level;
  level_ = std::max(file_level_, syslog_level_.value_or(LogLevel::quiet));
}

void DaemonLog::set_syslog(const char* name, std::optional<LogLevel> level) {
  if (level && *level > LogLevel::quiet) openlog(name, LOG_PID, LOG_DAEMON);
  syslog_level_ = level;
  set_level(file_level_);
}

void DaemonLog::write(LogLevel level, std::string_view prefix, std::string_view told) {
  // One line is one line, whatever names of users and peers are in it.
  const std::string text = shown_text(told);
  if (syslog_level_ && level <= *syslog_level_)
    syslog(syslog_priority(level), "%.*s%.*s", static_cast<int>(prefix.size()), prefix.data(),
           static_cast<int>(text.size()), text.data());
  if (level > file_level_) return;
  timeval now{};
  gettimeofday(&now, nullptr);
  std::string line = "[" + log_stamp(format_, now) + "] ";
  line += prefix;
  line += text;
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(file_, line.data(), line.size());  // where would we complain?
}

}  // namespace millrace
