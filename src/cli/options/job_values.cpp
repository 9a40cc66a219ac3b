// src/cli/options/job_values.cpp - see job_values.h.
#include "cli/options/job_values.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/text.h"
#include "core/model/resources.h"

namespace millrace {
namespace {

bool digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::int64_t start_of_day(std::int64_t when, int days_later) {
  const time_t t = static_cast<time_t>(when);
  tm parts{};
  localtime_r(&t, &parts);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday += days_later;
  parts.tm_isdst = -1;
  return mktime(&parts);
}

struct Unit {
  std::string_view word;
  std::int64_t seconds;
};
constexpr Unit units[] = {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"weeks", 604800}};

std::optional<std::int64_t> parse_offset(std::string_view text, std::int64_t now) {
  if (text.empty()) return now;
  const std::int64_t sign = text[0] == '-' ? -1 : 1;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  text = trim(text.substr(1));
  const std::size_t end = text.find_first_not_of("0123456789");
  const auto count = parse_integer(text.substr(0, end));
  if (!count || *count > INT32_MAX) return std::nullopt;
  const std::string unit = end == std::string_view::npos ? "s" : lower(trim(text.substr(end)));
  for (const Unit& row : units)
    if (!unit.empty() && row.word.starts_with(unit)) return now + sign * *count * row.seconds;
  return std::nullopt;
}

// HH:MM[:SS] [AM|PM] as seconds of the day.
std::optional<std::int64_t> parse_clock(std::string_view text) {
  std::int64_t shift = -1;
  const std::string small = lower(text);
  std::string_view rest = small;
  if (rest.ends_with("am") || rest.ends_with("pm")) {
    shift = rest.ends_with("pm") ? 12 : 0;
    rest = trim(rest.substr(0, rest.size() - 2));
  }
  const auto parts = split(rest, ':');
  if (parts.size() > 3 || (parts.size() < 2 && shift < 0)) return std::nullopt;
  std::array<std::int64_t, 3> values{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!digits_only(parts[i]) || parts[i].size() > 2) return std::nullopt;
    values[i] = *parse_integer(parts[i]);
  }
  if (shift >= 0) {
    if (values[0] < 1 || values[0] > 12) return std::nullopt;
    values[0] = values[0] % 12 + shift;
  }
  if (values[0] > 23 || values[1] > 59 || values[2] > 59) return std::nullopt;
  return values[0] * 3600 + values[1] * 60 + values[2];
}

// MMDDYY, MM/DD[/YY], MM.DD.YY, YYYY-MM-DD: midnight of that day.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) {
  const time_t t = static_cast<time_t>(now);
  tm parts{};
  localtime_r(&t, &parts);
  std::int64_t year = parts.tm_year + 1900, month = 0, day = 0;
  const char separator = text.find('-') != std::string_view::npos   ? '-'
                         : text.find('/') != std::string_view::npos ? '/'
                                                                    : '.';
  const auto words = split(text, separator);
  const auto number = [](std::string_view word) {
    return digits_only(word) && word.size() <= 4 ? *parse_integer(word) : -1;
  };
  if (separator == '-') {
    if (words.size() != 3) return std::nullopt;
    year = number(words[0]), month = number(words[1]), day = number(words[2]);
  } else if (words.size() == 1 && digits_only(text) && (text.size() == 6 || text.size() == 4)) {
    month = number(text.substr(0, 2)), day = number(text.substr(2, 2));
    if (text.size() == 6) year = 2000 + number(text.substr(4, 2));
  } else if (words.size() == 2 || words.size() == 3) {
    month = number(words[0]), day = number(words[1]);
    if (words.size() == 3) year = number(words[2]) < 100 ? 2000 + number(words[2]) : number(words[2]);
  } else {
    return std::nullopt;
  }
  if (year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  tm date{};
  date.tm_year = static_cast<int>(year - 1900), date.tm_mon = static_cast<int>(month - 1),
  date.tm_mday = static_cast<int>(day);
  date.tm_isdst = -1;
  return mktime(&date);
}

struct NamedClock {
  std::string_view word;
  std::int64_t second;
};
constexpr NamedClock named_clocks[] = {
    {"midnight", 0}, {"elevenses", 11 * 3600}, {"noon", 12 * 3600}, {"fika", 15 * 3600}, {"teatime", 16 * 3600}};

}  // namespace

Result<NodeCount> parse_node_count(std::string_view text) {
  if (text.find_first_of(",:") != std::string_view::npos) {
    const auto counts = parse_index_set(text, node_counts_max);
    if (!counts || counts->contains(0))
      return fail(Errc::invalid, "\"" + std::string{text} + "\" is not a valid node count");
    const bool gaps = counts->ranges().size() > 1;
    return NodeCount{counts->front(), counts->back(), gaps ? format_index_set(*counts) : ""};
  }
  const std::size_t dash = text.find('-');
  const auto number = [](std::string_view word) -> std::optional<std::int64_t> {
    std::int64_t factor = 1;
    if (!word.empty() && (word.back() == 'k' || word.back() == 'K')) factor = 1024;
    if (!word.empty() && (word.back() == 'm' || word.back() == 'M')) factor = 1048576;
    if (factor != 1) word.remove_suffix(1);
    if (!digits_only(word) || word.size() > 9) return std::nullopt;
    return *parse_integer(word) * factor;
  };
  const auto least = number(text.substr(0, dash));
  const auto most = dash == std::string_view::npos ? least : number(text.substr(dash + 1));
  if (!least || !most) return fail(Errc::invalid, "\"" + std::string{text} + "\" is not a valid node count");
  if (*most < *least)
    return fail(Errc::invalid, "Maximum node count " + std::to_string(*most) + " is less than minimum node count " +
                                   std::to_string(*least));
  if (*least < 1 || *most >= UINT32_MAX)
    return fail(Errc::refused, "invalid number of nodes (-N " + std::string{text} + ")");
  return NodeCount{static_cast<std::uint32_t>(*least), static_cast<std::uint32_t>(*most), {}};
}

Result<std::uint32_t> parse_positive(std::string_view option, std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > INT32_MAX)
    return fail(Errc::refused,
                "Invalid numeric value \"" + std::string{text} + "\" for --" + std::string{option} + ".");
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint64_t> parse_size_mib(std::string_view text) {
  if (text.find_first_not_of("0123456789kKmMgGtTbB") != std::string_view::npos) return std::nullopt;
  const auto size = parse_memory(text);
  if (!size || size->value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(size->value);
}

std::optional<std::uint32_t> parse_limit_minutes(std::string_view text) {
  const auto parsed = parse_duration(text);
  if (!parsed) return std::nullopt;
  if (parsed->unlimited || parsed->seconds == 0) return UINT32_MAX;
  const std::int64_t minutes = (parsed->seconds + 59) / 60;
  return minutes >= UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(minutes);
}

std::optional<std::int64_t> parse_time_of_day(std::string_view text, std::int64_t now) {
  text = trim(text);
  const std::string small = lower(text);
  if (small.starts_with("now")) return parse_offset(trim(std::string_view{small}.substr(3)), now);
  if (small.starts_with("uts=")) return parse_integer(std::string_view{small}.substr(4));
  if (small == "today") return now;
  if (small == "tomorrow") return start_of_day(now, 1);
  const auto next = [&](std::int64_t second) {
    const std::int64_t today = start_of_day(now, 0) + second;
    return today >= now ? today : start_of_day(now, 1) + second;
  };
  for (const NamedClock& row : named_clocks)
    if (row.word == small) return next(row.second);
  if (const auto clock = parse_clock(text)) return next(*clock);
  const std::size_t gap = text.find_first_of("T ");
  const auto date = parse_date(text.substr(0, gap), now);
  if (!date || gap == std::string_view::npos) return date;
  const auto clock = parse_clock(trim(text.substr(gap + 1)));
  if (!clock) return std::nullopt;
  return *date + *clock;
}

Result<std::string> node_list(std::string_view text) {
  if (text.find('/') == std::string_view::npos) {
    if (const auto names = expand_hostlist(text); !names) return std::unexpected(names.error());
    return std::string{text};
  }
  const std::string path{text};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Errc::refused, "Unable to open file " + path);
  std::string content;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0 && content.size() < (1u << 20);)
    content.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  std::string out;
  for (std::string_view line : split(content, '\n')) {
    line = trim(line.substr(0, line.find('#')));
    if (!line.empty()) out += (out.empty() ? "" : ",") + std::string{line};
  }
  return out;
}

Result<std::vector<std::string>> limit_names(std::string_view list) {
  constexpr std::string_view known[] = {"AS",      "CORE",   "CPU",   "DATA", "FSIZE",
                                        "MEMLOCK", "NOFILE", "NPROC", "RSS",  "STACK"};
  std::vector<std::string> out;
  if (equals_ignoring_case(list, "NONE")) return out;
  for (std::string_view word : split(list, ',')) {
    word = trim(word);
    const bool all = equals_ignoring_case(word, "ALL");
    if (word.size() > 7 && equals_ignoring_case(word.substr(0, 7), "RLIMIT_")) word.remove_prefix(7);
    bool found = false;
    for (const std::string_view name : known)
      if (all || equals_ignoring_case(word, name)) {
        out.emplace_back(name);
        found = true;
      }
    if (!found)
      return fail(Errc::invalid, "'" + std::string{word} +
                                     "' is no limit; ALL, NONE or some of AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, "
                                     "NPROC, RSS, STACK would be right");
  }
  return out;
}

std::optional<std::uint32_t> parse_signal(std::string_view text) {
  if (const auto number = parse_integer(text)) {
    if (*number < 0 || *number > 64) return std::nullopt;
    return static_cast<std::uint32_t>(*number);
  }
  if (text.size() > 3 && equals_ignoring_case(text.substr(0, 3), "SIG")) text.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* name = sigabbrev_np(number);
    if (name != nullptr && equals_ignoring_case(name, text)) return static_cast<std::uint32_t>(number);
  }
  return std::nullopt;
}

}  // namespace millrace
