// src/core/model/reservation.cpp - see reservation.h.
#include "core/model/reservation.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr std::int64_t day_us = 24LL * 60 * 60 * 1'000'000;

// Listed names must hold it, names behind a '-' must not.
bool lists(const std::vector<std::string>& list, const std::string& name) {
  bool listed = false, any_listed = false;
  for (const std::string& each : list) {
    if (each.starts_with('-')) {
      if (each.substr(1) == name) return false;
      continue;
    }
    any_listed = true;
    listed = listed || each == name;
  }
  return listed || !any_listed;
}

// 0 for Monday; the first of January 1970 was a Thursday.
std::int64_t weekday(Time at) { return (at.value / day_us + 3) % 7; }

}  // namespace

bool may_use(const Reservation& reservation, const Owner& owner, const std::string& account) {
  if (!reservation.users.empty() && !lists(reservation.users, owner.user_name)) return false;
  if (!reservation.accounts.empty() && !lists(reservation.accounts, account)) return false;
  if (!reservation.groups.empty() && !lists(reservation.groups, owner.group_name)) return false;
  return true;
}

bool lends_to(const Reservation& reservation, const JobSpec& spec) {
  if (!reservation.has(reserve_magnetic) && reservation.max_start_delay_seconds == 0) return false;
  return spec.resource_request().reservation.empty() && !reservation.nodes.empty() &&
         may_use(reservation, *spec.owner, spec.account);
}

Duration lends_for(const Reservation& reservation) {
  return reservation.has(reserve_magnetic) ? Duration{INT64_MAX} : seconds(reservation.max_start_delay_seconds);
}

Reservation next_turn(const Reservation& reservation, Time now) {
  Reservation next = reservation;
  const auto shift = [&](std::int64_t by) {
    next.start = next.start + Duration{by};
    next.end = next.end + Duration{by};  // never stays never
  };
  do {
    if (reservation.has(reserve_hourly)) {
      shift(day_us / 24);
    } else if (reservation.has(reserve_weekly)) {
      shift(7 * day_us);
    } else {
      shift(day_us);
      const auto wanted = [&] {
        const bool weekend = weekday(next.start) >= 5;
        return reservation.has(reserve_weekday) ? !weekend : reservation.has(reserve_weekend) ? weekend : true;
      };
      while (!wanted()) shift(day_us);
    }
  } while (next.end <= now);
  next.idle_since = Time{};
  next.start_awaited = true;
  return next;
}

std::string flag_words(const Reservation& reservation) {
  static constexpr std::pair<ReservationFlag, const char*> names[] = {
      {reserve_maint, "MAINT"},
      {reserve_flex, "FLEX"},
      {reserve_overlap, "OVERLAP"},
      {reserve_ignore_jobs, "IGNORE_JOBS"},
      {reserve_hourly, "HOURLY"},
      {reserve_daily, "DAILY"},
      {reserve_weekday, "WEEKDAY"},
      {reserve_weekend, "WEEKEND"},
      {reserve_weekly, "WEEKLY"},
      {reserve_spec_nodes, "SPEC_NODES"},
      {reserve_any_nodes, "ANY_NODES"},
      {reserve_all_nodes, "ALL_NODES"},
      {reserve_static_alloc, "STATIC"},
      {reserve_time_float, "TIME_FLOAT"},
      {reserve_no_hold_after, "NO_HOLD_JOBS_AFTER_END"},
      {reserve_magnetic, "MAGNETIC"},
      {reserve_replace, "REPLACE"},
      {reserve_replace_down, "REPLACE_DOWN"},
      {reserve_user_delete, "USER_DELETE"},
  };
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : ",") + word; };
  for (const auto& [flag, word] : names)
    if (reservation.has(flag)) add(word);
  if (reservation.purge_after_idle_seconds > 0) {
    const std::uint32_t s = reservation.purge_after_idle_seconds;
    const auto two = [](std::uint32_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
    add("PURGE_COMP=" + two(s / 3600) + ":" + two(s / 60 % 60) + ":" + two(s % 60));
  }
  return out;
}

}  // namespace millrace
