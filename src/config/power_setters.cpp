// src/config/power_setters.cpp - keys about power saving and nodes that come and go.
#include <algorithm>

#include "base/hostlist.h"
#include "config/key_setters.h"
#include "core/model/partition.h"

namespace millrace::setter {
namespace {

Result<void> absolute(std::string& to, std::string_view value) {
  if (!value.empty() && !value.starts_with('/'))
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, the absolute name of a program would be right");
  to = std::string{value};
  return {};
}

std::uint32_t plain(std::string_view value) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(parse_integer(value).value_or(0), 0));
}

}  // namespace

Result<std::uint32_t> suspend_seconds(std::string_view value) {
  if (value == "-1" || equals_ignoring_case(value, "INFINITE") || equals_ignoring_case(value, "UNLIMITED") ||
      equals_ignoring_case(value, "NONE"))
    return unlimited_count;
  const auto count = parse_integer(value);
  if (!count || *count < 0 || *count >= UINT32_MAX)
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, seconds or INFINITE would be right");
  return static_cast<std::uint32_t>(*count);
}

Result<void> suspend_program(Configuration& c, std::string_view value) {
  return absolute(c.power.suspend_program, value);
}
Result<void> resume_program(Configuration& c, std::string_view value) {
  return absolute(c.power.resume_program, value);
}
Result<void> resume_fail_program(Configuration& c, std::string_view value) {
  return absolute(c.power.resume_fail_program, value);
}

Result<void> suspend_time(Configuration& c, std::string_view value) {
  MR_TRY(c.power.suspend_seconds, suspend_seconds(value));
  return {};
}
Result<void> suspend_timeout(Configuration& c, std::string_view value) {
  c.power.suspend_timeout_seconds = std::max(plain(value), 1u);
  return {};
}
Result<void> suspend_rate(Configuration& c, std::string_view value) {
  c.power.suspend_rate = plain(value);
  return {};
}
Result<void> resume_rate(Configuration& c, std::string_view value) {
  c.power.resume_rate = plain(value);
  return {};
}
Result<void> max_node_count(Configuration& c, std::string_view value) {
  const auto count = parse_integer(value);
  if (!count || *count < 1 || *count > 65533)
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, a number from 1 to 65533 would be right");
  c.max_node_count = static_cast<std::uint32_t>(*count);
  return {};
}

// nid[10-20]:4,nid[60-70]: a count holds for all names since the last one; what has none stays on altogether.
Result<void> suspend_except_nodes(Configuration& c, std::string_view value) {
  c.power.keep_up.clear();
  std::string names;
  const auto add = [&](std::uint32_t count) -> Result<void> {
    MR_TRY(auto nodes, expand_hostlist(names));
    c.power.keep_up.push_back({std::move(nodes), count});
    names.clear();
    return {};
  };
  int depth = 0;
  std::string word;
  const auto take = [&]() -> Result<void> {
    const std::size_t colon = word.rfind(':');
    names += (names.empty() ? "" : ",") + word.substr(0, colon);
    if (colon != std::string::npos) {
      const auto count = parse_integer(std::string_view{word}.substr(colon + 1));
      if (!count || *count < 1) return fail(Errc::invalid, "'" + word + "' is wrong, NODES:COUNT would be right");
      MR_TRY_VOID(add(static_cast<std::uint32_t>(*count)));
    }
    word.clear();
    return {};
  };
  for (const char each : value) {
    depth += each == '[' ? 1 : each == ']' ? -1 : 0;
    if (each == ',' && depth == 0) {
      MR_TRY_VOID(take());
    } else {
      word += each;
    }
  }
  if (!word.empty()) {
    MR_TRY_VOID(take());
  }
  if (!names.empty()) {
    MR_TRY_VOID(add(unlimited_count));
  }
  return {};
}

Result<void> suspend_except_partitions(Configuration& c, std::string_view value) {
  c.power.except_partitions.clear();
  for (const std::string_view word : split(value, ','))
    if (!trim(word).empty()) c.power.except_partitions.emplace_back(trim(word));
  return {};
}

Result<void> suspend_except_states(Configuration& c, std::string_view value) {
  struct Row {
    std::string_view name;
    std::uint32_t state;
  };
  constexpr Row rows[] = {{"cloud", except_cloud},
                          {"down", except_down},
                          {"drain", except_drain},
                          {"dynamic_norm", except_dynamic},
                          {"fail", except_fail},
                          {"maintenance", except_maintenance},
                          {"not_responding", except_silent},
                          {"reserved", except_reserved},
                          {"dynamic_future", 0},
                          {"invalid_reg", 0},
                          {"perfctrs", 0},
                          {"planned", 0},
                          {"blocked", 0}};
  c.power.except_states = 0;
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name.empty()) continue;
    const auto row = std::ranges::find(rows, name, &Row::name);
    if (row == std::end(rows))
      return fail(Errc::invalid,
                  "'" + std::string{word} +
                      "' is not one of CLOUD, DOWN, DRAIN, DYNAMIC_NORM, FAIL, MAINTENANCE, NOT_RESPONDING, RESERVED");
    if (row->state == 0) c.not_built.push_back({"SuspendExcStates=" + std::string{trim(word)}, "", 0, "not built yet"});
    c.power.except_states |= row->state;
  }
  return {};
}

// `cloud` is the odd one: it shows everybody nodes that are hidden otherwise.
Result<void> private_data(Configuration& c, std::string_view value) {
  struct Row {
    std::string_view name;
    std::uint32_t bit;
  };
  constexpr Row rows[] = {{"accounts", private_accounts},
                          {"events", private_events},
                          {"jobs", private_jobs},
                          {"nodes", private_nodes},
                          {"partitions", private_partitions},
                          {"reservations", private_reservations},
                          {"usage", private_usage},
                          {"users", private_users}};
  c.power.show_cloud = false;
  c.private_data = 0;
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name.empty() || name == "none") continue;
    const auto row = std::ranges::find(rows, name, &Row::name);
    if (name == "cloud")
      c.power.show_cloud = true;
    else if (row != std::end(rows))
      c.private_data |= row->bit;
    else if (name == "all")
      c.private_data = private_accounts | private_events | private_jobs | private_nodes | private_partitions |
                       private_reservations | private_usage | private_users;
    else
      return fail(Errc::invalid,
                  "'" + std::string{trim(word)} +
                      "' is not one of accounts, cloud, events, jobs, nodes, partitions, reservations, usage, users");
  }
  return {};
}

static Result<std::uint32_t> whole_number(std::string_view word) {
  const auto number = parse_integer(word.substr(word.find('=') + 1));
  if (word.find('=') == std::string_view::npos || !number || *number < 0 || *number > UINT32_MAX)
    return fail(Errc::invalid, "'" + std::string{word} + "' needs a number, as in millrace_keep_ended=86400");
  return static_cast<std::uint32_t>(*number);
}

// Agents come to us under the name of their node, so that its address need not be known.
Result<void> controller_parameters(Configuration& c, std::string_view value) {
  c.user_triggers = false;
  for (const std::string_view word : split(value, ',')) {
    const std::string name = lower(trim(word));
    if (name == "allow_user_triggers") c.user_triggers = true;
    const std::string_view key = std::string_view{name}.substr(0, name.find('='));
    if (key == "millrace_keep_ended_rows") {
      MR_TRY(c.keep_ended_rows, whole_number(name));
    } else if (key == "millrace_keep_ended") {
      MR_TRY(const std::uint32_t kept, whole_number(name));
      c.keep_ended = seconds(kept);
    }
  }
  return {};
}

}  // namespace millrace::setter
