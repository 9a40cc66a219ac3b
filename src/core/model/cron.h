// src/core/model/cron.h - the times of a line of a crontab: minute, hour, day, month, weekday, or a word like @daily.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace millrace {

struct CronTimes {
  std::uint64_t minutes = 0;  // bits, of each what matches
  std::uint32_t hours = 0, days = 0, months = 0,
                weekdays = 0;               // days 1 to 31, months 1 to 12, weekdays 0 (Sunday) to 6
  bool any_day = true, any_weekday = true;  // '*': where both are restricted one of them is enough
  bool any_hour = true;  // '*': by the time that passes, and not by the clock on the wall, on the day it is changed
  bool operator==(const CronTimes&) const = default;

  bool has_day(int day, int weekday) const {
    const bool by_day = (days >> day & 1) != 0, by_weekday = (weekdays >> weekday & 1) != 0;
    if (any_day || any_weekday) return by_day && by_weekday;
    return by_day || by_weekday;
  }
};

// "*/5 8-18 * * mon-fri" or "@hourly"; an error says which field is wrong and what would be right.
Result<CronTimes> parse_cron(std::string_view text);

}  // namespace millrace
