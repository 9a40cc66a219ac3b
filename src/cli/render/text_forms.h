// src/cli/render/text_forms.h - times, durations, sizes and names as Slurm's commands print them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace millrace {

// YYYY-MM-DDTHH:MM:SS in local time, or as SLURM_TIME_FORMAT says; `unset` for 0.
std::string format_time(std::int64_t microseconds, std::string_view unset);
// "Sun Nov 15 07:22:28 2026"
std::string format_date_line(std::int64_t microseconds);
// squeue's and sinfo's short form: 0:05, 1:00:00, 1-00:00:00.
std::string format_short_duration(std::int64_t seconds);
// 50M, 4G: the unit goes up only when nothing is lost.
std::string format_mib(std::uint64_t mib);
std::string format_limit(std::uint32_t minutes);        // [D-]HH:MM:SS or UNLIMITED
std::string format_short_limit(std::uint32_t minutes);  // the short form, or UNLIMITED
std::string_view or_null(std::string_view text);        // (null) for nothing
std::string upper_case(std::string_view text);

// Users and groups by number, each asked once.
class Names {
 public:
  const std::string& user(std::uint32_t uid);
  const std::string& group(std::uint32_t gid);

 private:
  std::map<std::uint32_t, std::string> users_, groups_;
};

}  // namespace millrace
