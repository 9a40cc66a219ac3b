// src/core/model/schedule.h - the ways to schedule a cluster, by the names an administrator chooses from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// Numbers are stored in events: never reorder. docs/admin/policies.md explains each.
enum class Schedule : std::uint8_t { conservative, easy, sjbf, guarded };

struct ScheduleName {
  std::string_view name;
  Schedule schedule;
  std::string_view help;
};

constexpr ScheduleName schedule_names[] = {
    {"conservative", Schedule::conservative,
     "by priority; every waiting job has a promised start, which nobody may delay"},
    {"easy", Schedule::easy, "by priority; who does not delay the first blocked job may overtake it"},
    {"sjbf", Schedule::sjbf, "easy, and the shortest estimate overtakes first"},
    {"guarded", Schedule::guarded,
     "short jobs first within bounds, and promised starts for those who have waited longest"},
};

constexpr std::optional<Schedule> find_schedule(std::string_view name) {
  for (const ScheduleName& row : schedule_names)
    if (row.name == name) return row.schedule;
  return std::nullopt;
}

constexpr std::string_view schedule_name(Schedule schedule) {
  for (const ScheduleName& row : schedule_names)
    if (row.schedule == schedule) return row.name;
  return "unknown";
}

inline std::string known_schedules() {
  std::string names;
  for (const ScheduleName& row : schedule_names) names += (names.empty() ? "" : ", ") + std::string{row.name};
  return names;
}

}  // namespace millrace
