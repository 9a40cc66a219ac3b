// src/core/model/job_extras.cpp - see job_extras.h.
#include "core/model/job_extras.h"

#include "base/text.h"

namespace millrace {
namespace {

struct MailWord {
  std::string_view word;
  std::uint32_t bits;
};

// In the order they are shown in.
constexpr MailWord mail_words[] = {
    {"ARRAY_TASKS", mail_array_tasks},
    {"INVALID_DEPEND", mail_invalid_depend},
    {"BEGIN", mail_begin},
    {"END", mail_end},
    {"FAIL", mail_fail},
    {"REQUEUE", mail_requeue},
    {"STAGE_OUT", mail_stage_out},
    {"TIME_LIMIT_50", mail_time_limit_50},
    {"TIME_LIMIT_80", mail_time_limit_80},
    {"TIME_LIMIT_90", mail_time_limit_90},
    {"TIME_LIMIT", mail_time_limit},
};
constexpr std::uint32_t all_mail =
    mail_begin | mail_end | mail_fail | mail_requeue | mail_invalid_depend | mail_stage_out;

constexpr std::string_view sampled[] = {"task", "energy", "network", "filesystem"};

// "task=30": which, and how often; "30" is that of tasks.
std::optional<std::pair<std::string_view, std::uint32_t>> one_frequency(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = equals == std::string_view::npos ? sampled[0] : word.substr(0, equals);
  const auto seconds = parse_integer(equals == std::string_view::npos ? word : word.substr(equals + 1));
  if (!seconds || *seconds < 0 || *seconds > INT32_MAX) return std::nullopt;
  for (const std::string_view known : sampled)
    if (equals_ignoring_case(known, name)) return std::pair{known, static_cast<std::uint32_t>(*seconds)};
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> parse_mail_types(std::string_view text) {
  std::uint32_t bits = 0;
  for (const std::string_view raw : split(text, ',')) {
    const std::string_view word = trim(raw);
    if (equals_ignoring_case(word, "none")) {
      bits = 0;
      continue;
    }
    if (equals_ignoring_case(word, "all")) {
      bits |= all_mail;
      continue;
    }
    bool known = false;
    for (const MailWord& each : mail_words) {
      if (!equals_ignoring_case(each.word, word)) continue;
      bits |= each.bits;
      known = true;
    }
    if (!known) return std::nullopt;
  }
  return bits;
}

std::string mail_types_text(std::uint32_t types) {
  std::string out;
  for (const MailWord& each : mail_words)
    if ((types & each.bits) != 0) out += (out.empty() ? "" : ",") + std::string{each.word};
  return out.empty() ? "NONE" : out;
}

bool is_acctg_freq(std::string_view text) {
  for (const std::string_view word : split(text, ','))
    if (!one_frequency(trim(word))) return false;
  return true;
}

bool is_mail_address(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const std::string_view each : split(text, ',')) {
    if (each.empty() || !is_plain(each.front())) return false;
    std::size_t ats = 0;
    for (const char c : each) {
      if (c == '@')
        ++ats;
      else if (!is_plain(c) && std::string_view{".+-=%"}.find(c) == std::string_view::npos)
        return false;
    }
    if (ats > 1 || each.back() == '@') return false;
  }
  return !text.empty();
}

std::optional<std::uint32_t> task_sampling_seconds(std::string_view acctg_freq) {
  std::optional<std::uint32_t> out;
  for (const std::string_view word : split(acctg_freq, ','))
    if (const auto one = one_frequency(trim(word)); one && one->first == sampled[0]) out = one->second;
  return out;
}

}  // namespace millrace
