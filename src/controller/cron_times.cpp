// src/controller/cron_times.cpp - see cron_times.h.
#include "controller/cron_times.h"

#include <time.h>

namespace millrace {
namespace {

constexpr int years_ahead = 5;

// Fields beyond their range are put right, and with them the weekday; summer time is found out anew.
std::optional<time_t> settle(tm& local) {
  local.tm_isdst = -1;
  const time_t at = mktime(&local);
  if (at == static_cast<time_t>(-1)) return std::nullopt;
  return at;
}

}  // namespace

std::optional<Time> next_cron_time(const CronTimes& times, Time after) {
  time_t at = static_cast<time_t>(after.value / 1'000'000) / 60 * 60 + 60;
  tm local{};
  if (localtime_r(&at, &local) == nullptr) return std::nullopt;
  const int last_year = local.tm_year + years_ahead;
  while (local.tm_year <= last_year) {
    if ((times.months >> (local.tm_mon + 1) & 1) == 0) {
      ++local.tm_mon;
      local.tm_mday = 1;
      local.tm_hour = local.tm_min = 0;
    } else if (!times.has_day(local.tm_mday, local.tm_wday)) {
      ++local.tm_mday;
      local.tm_hour = local.tm_min = 0;
    } else if ((times.hours >> local.tm_hour & 1) == 0) {
      ++local.tm_hour;
      local.tm_min = 0;
    } else if ((times.minutes >> local.tm_min & 1) == 0) {
      ++local.tm_min;
    } else {
      return Time{static_cast<std::int64_t>(at) * 1'000'000};
    }
    local.tm_sec = 0;
    const time_t before = at;
    const auto settled = settle(local);
    if (!settled) return std::nullopt;
    at = *settled;
    if (at <= before) {  // an hour that the clock goes through twice: on by a minute of real time
      at = before + 60;
      if (localtime_r(&at, &local) == nullptr) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace millrace
