// src/cli/render/text_forms.cpp - see text_forms.h.
#include "cli/render/text_forms.h"

#include <grp.h>
#include <pwd.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace millrace {
namespace {

// The nearer a day, the less of it has to be said.
const char* relative_format(const tm& parts) {
  const time_t now = time(nullptr);
  tm today{};
  localtime_r(&now, &today);
  tm midnight = parts;
  for (tm* each : {&today, &midnight}) each->tm_hour = 12, each->tm_min = each->tm_sec = 0, each->tm_isdst = -1;
  const double days = difftime(mktime(&midnight), mktime(&today)) / 86400;
  const int distance = static_cast<int>(days < 0 ? days - 0.5 : days + 0.5);
  if (distance == 0) return "%H:%M:%S";
  if (distance == -1) return "Ystday %H:%M";
  if (distance == 1) return "Tomorr %H:%M";
  if (distance < -365 || distance > 365) return "%-d %b %Y";
  if (distance < -1 || distance > 6) return "%-d %b %H:%M";
  return "%a %H:%M";
}

}  // namespace

std::string format_time(std::int64_t microseconds, std::string_view unset) {
  if (microseconds == 0) return std::string{unset};
  const time_t t = static_cast<time_t>(microseconds / 1'000'000);
  tm parts{};
  localtime_r(&t, &parts);
  char buffer[128];
  const char* format = std::getenv("SLURM_TIME_FORMAT");
  if (format != nullptr && std::string_view{format} == "relative") format = relative_format(parts);
  const bool own = format != nullptr && std::string_view{format}.find('%') != std::string_view::npos;
  const std::size_t length = strftime(buffer, sizeof buffer, own ? format : "%Y-%m-%dT%H:%M:%S", &parts);
  return {buffer, length};
}

std::string format_date_line(std::int64_t microseconds) {
  const time_t t = static_cast<time_t>(microseconds / 1'000'000);
  tm parts{};
  localtime_r(&t, &parts);
  char buffer[64];
  const std::size_t length = strftime(buffer, sizeof buffer, "%a %b %d %H:%M:%S %Y", &parts);
  return {buffer, length};
}

std::string format_short_duration(std::int64_t total) {
  // Over a year is more likely a clock that jumped than a job.
  if (total < 0 || total > 365 * 86400) return "INVALID";
  const long long days = total / 86400, hours = total / 3600 % 24, mins = total / 60 % 60, secs = total % 60;
  char buffer[64];
  int length = 0;
  if (days > 0)
    length = std::snprintf(buffer, sizeof buffer, "%lld-%02lld:%02lld:%02lld", days, hours, mins, secs);
  else if (hours > 0)
    length = std::snprintf(buffer, sizeof buffer, "%lld:%02lld:%02lld", hours, mins, secs);
  else
    length = std::snprintf(buffer, sizeof buffer, "%lld:%02lld", mins, secs);
  return {buffer, static_cast<std::size_t>(length)};
}

std::string format_mib(std::uint64_t mib) {
  constexpr char units[] = "MGTP";
  std::size_t unit = 0;
  while (mib >= 1024 && mib % 1024 == 0 && unit + 2 < sizeof units) mib /= 1024, ++unit;
  return mib == 0 ? "0" : std::to_string(mib) + units[unit];
}

std::string format_limit(std::uint32_t minutes) {
  return minutes == UINT32_MAX ? "UNLIMITED" : format_duration(static_cast<std::int64_t>(minutes) * 60);
}

std::string format_short_limit(std::uint32_t minutes) {
  if (minutes == UINT32_MAX) return "UNLIMITED";
  const std::int64_t total = static_cast<std::int64_t>(minutes) * 60;
  return total > 365 * 86400 ? format_duration(total) : format_short_duration(total);
}

std::string_view or_null(std::string_view text) { return text.empty() ? "(null)" : text; }

std::string upper_case(std::string_view text) {
  std::string out{text};
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

const std::string& Names::user(std::uint32_t uid) {
  const auto [it, fresh] = users_.try_emplace(uid);
  if (fresh) {
    const passwd* entry = getpwuid(uid);
    it->second = entry != nullptr ? entry->pw_name : std::to_string(uid);
  }
  return it->second;
}

const std::string& Names::group(std::uint32_t gid) {
  const auto [it, fresh] = groups_.try_emplace(gid);
  if (fresh) {
    const ::group* entry = getgrgid(gid);
    it->second = entry != nullptr ? entry->gr_name : std::to_string(gid);
  }
  return it->second;
}

}  // namespace millrace
