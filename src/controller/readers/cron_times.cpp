// src/controller/readers/cron_times.cpp - see cron_times.h.
#include "controller/readers/cron_times.h"

#include <time.h>

namespace millrace {
namespace {

constexpr time_t minute = 60, hour = 60 * minute, day = 24 * hour;
constexpr time_t far_enough = 9 * 366 * day;  // from one 29 February to the next, also about the year 2100

tm clock_at(time_t at) {
  tm out{};
  localtime_r(&at, &out);
  return out;
}

bool is_month(const CronTimes& times, const tm& shown) { return (times.months >> (shown.tm_mon + 1) & 1) != 0; }
bool is_day(const CronTimes& times, const tm& shown) {
  return is_month(times, shown) && times.has_day(shown.tm_mday, shown.tm_wday);
}
bool is_hour(const CronTimes& times, const tm& shown) { return (times.hours >> shown.tm_hour & 1) != 0; }
bool is_time(const CronTimes& times, const tm& shown) {
  return is_day(times, shown) && is_hour(times, shown) && (times.minutes >> shown.tm_min & 1) != 0;
}

// The clock has been set back: what it shows it has shown before.
bool is_repeated(time_t at, const tm& shown) {
  const long before = clock_at(at - 3 * hour).tm_gmtoff;
  const long set_back = before - shown.tm_gmtoff;
  return set_back > 0 && clock_at(at - set_back).tm_gmtoff == before;
}

// The clock is set forward in this minute, over a time of the line.
bool is_left_out(const CronTimes& times, time_t at, const tm& shown) {
  const long before = clock_at(at - minute).tm_gmtoff;
  for (time_t past = 0; past < shown.tm_gmtoff - before; past += minute) {
    const time_t never_shown = at + before + past;
    tm fields{};
    if (gmtime_r(&never_shown, &fields) != nullptr && is_time(times, fields)) return true;
  }
  return false;
}

// To the next minute that may match, never past it: a change of the clock on the way moves the end by an hour at most.
time_t step_from(const CronTimes& times, const tm& shown) {
  if (!is_month(times, shown) && shown.tm_mday < 27) return (27 - shown.tm_mday) * day;
  if (!is_day(times, shown) && shown.tm_hour < 23) return (23 - shown.tm_hour) * hour - shown.tm_min * minute;
  if (!is_day(times, shown) || !is_hour(times, shown)) return hour - shown.tm_min * minute;
  return minute;
}

}  // namespace

std::optional<Time> next_cron_time(const CronTimes& times, Time after) {
  const time_t first = static_cast<time_t>(after.value / 1'000'000) / minute * minute + minute;
  for (time_t at = first; at < first + far_enough;) {
    const tm shown = clock_at(at);
    const bool due = times.any_hour
                         ? is_time(times, shown)
                         : (is_time(times, shown) && !is_repeated(at, shown)) || is_left_out(times, at, shown);
    if (due) return Time{static_cast<std::int64_t>(at) * 1'000'000};
    at += step_from(times, shown);
  }
  return std::nullopt;
}

}  // namespace millrace
