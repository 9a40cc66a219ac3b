// src/config/priority_setters.cpp - the keys that order jobs and hold their limits: Priority*,
// AccountingStorageEnforce, AccountingStorageTRES.
#include <algorithm>

#include "config/key_setters.h"

namespace millrace::setter {
namespace {

struct Word {
  std::string_view name;
  std::uint32_t value;
};

constexpr Word flag_words[] = {
    {"ACCRUE_ALWAYS", priority_accrue_always},
    {"CALCULATE_RUNNING", priority_calculate_running},
    {"DEPTH_OBLIVIOUS", priority_depth_oblivious},
    {"FAIR_TREE", 0},
    {"NO_FAIR_TREE", priority_no_fair_tree},
    {"INCR_ONLY", priority_incr_only},
    {"MAX_TRES", priority_max_tres},
    {"MAX_TRES_GRES", 0},
    {"SMALL_RELATIVE_TO_TIME", priority_small_relative_to_time},
    {"NO_NORMAL_ALL",
     priority_no_normal_assoc | priority_no_normal_part | priority_no_normal_qos | priority_no_normal_tres},
    {"NO_NORMAL_ASSOC", priority_no_normal_assoc},
    {"NO_NORMAL_PART", priority_no_normal_part},
    {"NO_NORMAL_QOS", priority_no_normal_qos},
    {"NO_NORMAL_TRES", priority_no_normal_tres},
};

constexpr Word enforce_words[] = {
    {"associations", enforce_associations},
    {"limits", enforce_associations | enforce_limits},
    {"qos", enforce_associations | enforce_qos},
    {"safe", enforce_associations | enforce_limits | enforce_safe},
    {"all", enforce_associations | enforce_limits | enforce_qos},
    {"none", 0},
    {"wckeys", enforce_associations | enforce_wckeys},
    {"nojobs", 0},
    {"nosteps", 0},
};

constexpr std::string_view reset_words[] = {"NONE",    "NOW",       "DAILY", "WEEKLY",
                                            "MONTHLY", "QUARTERLY", "YEARLY"};  // in the order of ResetPeriod

template <std::size_t size>
const Word* find(const Word (&words)[size], std::string_view name) {
  const auto it = std::ranges::find_if(words, [&](const Word& word) { return equals_ignoring_case(word.name, name); });
  return it == std::end(words) ? nullptr : it;
}

}  // namespace

Result<void> priority_favor_small(Configuration& c, std::string_view value) {
  c.priority.favor_small = is_yes(value);
  return {};
}

Result<void> priority_flags(Configuration& c, std::string_view value) {
  c.priority.flags = 0;
  for (const std::string_view word : split(value, ',')) {
    const Word* flag = find(flag_words, trim(word));
    if (!flag)
      return fail(
          Errc::invalid,
          "'" + std::string{word} +
              "' is not a flag; NO_FAIR_TREE, MAX_TRES, ACCRUE_ALWAYS, SMALL_RELATIVE_TO_TIME and NO_NORMAL_* are");
    c.priority.flags |= flag->value;
  }
  return {};
}

Result<void> priority_reset(Configuration& c, std::string_view value) {
  const auto it =
      std::ranges::find_if(reset_words, [&](std::string_view word) { return equals_ignoring_case(word, value); });
  if (it == std::end(reset_words))
    return fail(Errc::invalid, "'" + std::string{value} +
                                   "' is not a period; NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY and YEARLY are");
  c.priority.reset = static_cast<ResetPeriod>(it - std::begin(reset_words));
  return {};
}

Result<void> priority_tres(Configuration& c, std::string_view value) {
  MR_TRY(c.priority.tres, parse_tres_weights(value));
  return {};
}

Result<void> enforce(Configuration& c, std::string_view value) {
  c.enforce = 0;
  for (const std::string_view word : split(value, ',')) {
    const Word* known = find(enforce_words, trim(word));
    if (!known)
      return fail(Errc::invalid, "'" + std::string{word} +
                                     "' is not known; associations, limits, qos, safe, wckeys, all and none are");
    c.enforce |= known->value;
    if (equals_ignoring_case(known->name, "wckeys")) c.track_wckeys = true;
  }
  return {};
}

Result<void> tracked_tres(Configuration& c, std::string_view value) {
  constexpr std::string_view always[] = {"cpu",     "mem",  "energy", "node",    "billing",
                                         "fs/disk", "vmem", "pages",  "gres/gpu"};
  c.tres.clear();
  for (const std::string_view word : split(value, ',')) {
    const std::string name = canonical_tres_name(trim(word));
    if (name.empty() || std::ranges::find(always, name) != std::end(always) ||
        std::ranges::find(c.tres, name) != c.tres.end())
      continue;
    if (!name.starts_with("gres/") && !name.starts_with("license/"))
      return fail(Errc::invalid,
                  "'" + std::string{word} +
                      "' is not a resource that can be tracked; gres/NAME, gres/NAME:TYPE and license/NAME are");
    c.tres.push_back(name);
  }
  const std::size_t most = tres_max - first_tres_names().size();
  if (c.tres.size() > most)
    return fail(Errc::invalid, "more than " + std::to_string(most) +
                                   " resources besides cpu, mem, node, billing and gres/gpu can not be tracked");
  return {};
}

}  // namespace millrace::setter
