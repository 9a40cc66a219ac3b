// src/core/ledger/usage_reset.cpp - see usage_reset.h.
#include "core/ledger/usage_reset.h"

namespace millrace {
namespace {

constexpr std::int64_t day_seconds = 86400;

struct Month {
  std::int64_t year, month;  // month from 0
};

// Days since 1970 as a month, and back, in the calendar used today; years are counted from March so that the leap day
// is the last.
Month month_of(std::int64_t days) {
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = shifted / 146097, of_era = shifted % 146097;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t march_month = (5 * of_year + 2) / 153;
  const std::int64_t month = (march_month + 2) % 12;
  return {year + era * 400 + (month < 2 ? 1 : 0), month};
}

std::int64_t first_day(Month m) {
  const std::int64_t year = m.month < 2 ? m.year - 1 : m.year;
  const std::int64_t era = year / 400, of_era = year % 400;
  const std::int64_t of_year = (153 * ((m.month + 10) % 12) + 2) / 5;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

Month after(Month m, std::int64_t months) {
  const std::int64_t all = m.year * 12 + m.month + months;
  return {all / 12, all % 12};
}

}  // namespace

Time next_usage_reset(ResetPeriod period, Time since) {
  const std::int64_t day = since.seconds() / day_seconds;
  const Month here = month_of(day);
  std::int64_t next = 0;
  switch (period) {
    case ResetPeriod::none:
    case ResetPeriod::now:
      return never;
    case ResetPeriod::daily:
      next = day + 1;
      break;
    case ResetPeriod::weekly:
      next = day + 7 - (day + 4) % 7;
      break;  // the first day of 1970 was a Thursday
    case ResetPeriod::monthly:
      next = first_day(after(here, 1));
      break;
    case ResetPeriod::quarterly:
      next = first_day(after(here, 3 - here.month % 3));
      break;
    case ResetPeriod::yearly:
      next = first_day({here.year + 1, 0});
      break;
  }
  return Time{next * day_seconds * 1'000'000};
}

Time next_usage_reset(const State& state) {
  if (!state.usage_reset_at.is_set()) return never;
  return next_usage_reset(state.policy->priority.reset, state.usage_reset_at);
}

}  // namespace millrace
