// src/config/cgroup_conf.cpp - see cgroup_conf.h.
#include "config/cgroup_conf.h"

#include <cstdlib>

#include "base/text.h"
#include "config/key_setters.h"

namespace millrace {
namespace {

using Settings = CgroupSettings;
using Take = Result<void> (*)(Settings&, std::string_view);

std::unexpected<Error> wrong(std::string_view value, std::string_view right) {
  return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, " + std::string{right} + " would be right");
}

Result<bool> to_flag(std::string_view value) {
  for (const std::string_view word : {"yes", "true", "1"})
    if (equals_ignoring_case(word, value)) return true;
  for (const std::string_view word : {"no", "false", "0"})
    if (equals_ignoring_case(word, value)) return false;
  return wrong(value, "yes or no");
}

Result<double> to_percent(std::string_view value) {
  if (value.ends_with('%')) value.remove_suffix(1);
  char* end = nullptr;
  const std::string text{value};
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !(number >= 0) || number > 1e6)
    return wrong(value, "a percentage, as in 95 or 99.5,");
  return number;
}

template <auto field>
Result<void> flag(Settings& s, std::string_view value) {
  MR_TRY(s.*field, to_flag(value));
  return {};
}

template <auto field>
Result<void> percent(Settings& s, std::string_view value) {
  MR_TRY(s.*field, to_percent(value));
  return {};
}

Result<void> plugin(Settings& s, std::string_view value) {
  if (equals_ignoring_case(value, "autodetect"))
    s.version = CgroupVersion::autodetect;
  else if (equals_ignoring_case(value, "cgroup/v1"))
    s.version = CgroupVersion::v1;
  else if (equals_ignoring_case(value, "cgroup/v2"))
    s.version = CgroupVersion::v2;
  else if (equals_ignoring_case(value, "disabled"))
    s.version = CgroupVersion::disabled;
  else
    return wrong(value, "autodetect, cgroup/v1, cgroup/v2 or disabled");
  return {};
}

Result<void> mountpoint(Settings& s, std::string_view value) {
  if (!value.starts_with('/')) return wrong(value, "an absolute path");
  s.mountpoint = std::string{value.substr(0, value.find_last_not_of('/') + 1)};
  return {};
}

Result<void> slice(Settings& s, std::string_view value) {
  if (value.find("..") != std::string_view::npos) return wrong(value, "the name of a cgroup below the mount point");
  s.slice = std::string{value};
  return {};
}

Result<void> min_memory(Settings& s, std::string_view value) {
  const auto size = parse_memory(value);
  if (!size || size->value < 0) return wrong(value, "a size in MiB");
  s.min_memory_mib = static_cast<std::uint64_t>(size->value);
  return {};
}

Result<void> swappiness(Settings& s, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number || *number < 0 || *number > 100) return wrong(value, "0 to 100");
  s.swappiness = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> processes(Settings& s, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number || *number < 0) return wrong(value, "a number of processes, 0 for no limit,");
  s.processes_max = static_cast<std::uint64_t>(*number);
  return {};
}

Result<void> checked_flag(Settings&, std::string_view value) {
  MR_TRY([[maybe_unused]] const bool ignored, to_flag(value));
  return {};
}
Result<void> anything(Settings&, std::string_view) { return {}; }

enum class Effect : std::uint8_t { works, needless, not_built };
struct Row {
  std::string_view name;
  Effect effect;  // needless: what it would do is how things are here
  Take take;
};

// clang-format off
constexpr Row rows[] = {
    {"CgroupPlugin", Effect::works, plugin},
    {"CgroupMountpoint", Effect::works, mountpoint},
    {"CgroupSlice", Effect::works, slice},
    {"CgroupAutomount", Effect::not_built, checked_flag},
    {"CgroupJobIdPaths", Effect::not_built, anything},
    {"CgroupReleaseAgentDir", Effect::needless, anything},
    {"ConstrainCores", Effect::works, flag<&Settings::constrain_cores>},
    {"ConstrainDevices", Effect::works, flag<&Settings::constrain_devices>},
    {"ConstrainRAMSpace", Effect::works, flag<&Settings::constrain_memory>},
    {"ConstrainSwapSpace", Effect::works, flag<&Settings::constrain_swap>},
    {"AllowedRAMSpace", Effect::works, percent<&Settings::allowed_memory_percent>},
    {"AllowedSwapSpace", Effect::works, percent<&Settings::allowed_swap_percent>},
    {"MaxRAMPercent", Effect::works, percent<&Settings::max_memory_percent>},
    {"MaxSwapPercent", Effect::works, percent<&Settings::max_swap_percent>},
    {"MinRAMSpace", Effect::works, min_memory},
    {"MemorySwappiness", Effect::works, swappiness},
    {"EnableControllers", Effect::works, flag<&Settings::enable_controllers>},
    {"EnableExtraControllers", Effect::not_built, anything},
    {"IgnoreSystemd", Effect::needless, checked_flag},
    {"IgnoreSystemdOnFailure", Effect::needless, checked_flag},
    {"SystemdTimeout", Effect::needless, anything},
    {"SignalChildrenProcesses", Effect::not_built, checked_flag},
    {"MillraceMaxProcesses", Effect::works, processes},
};
// clang-format on

}  // namespace

void read_cgroup_conf(const std::vector<ConfLine>& lines, Configuration& configuration,
                      std::vector<std::string>& errors) {
  for (const ConfLine& line : lines) {
    const std::string place = line.file + ":" + std::to_string(line.line) + ": ";
    if (!line.problem.empty()) errors.push_back(place + line.problem);
    for (const ConfPair& pair : line.pairs) {
      const Row* found = nullptr;
      for (const Row& row : rows)
        if (equals_ignoring_case(row.name, pair.key)) found = &row;
      if (found == nullptr) {
        errors.push_back(place + "unknown key " + pair.key + "; see docs/admin/cgroups.md for those there are");
        continue;
      }
      if (const auto taken = found->take(configuration.isolation.cgroup, pair.value); !taken)
        errors.push_back(place + std::string{found->name} + ": " + taken.error().story);
      if (found->effect == Effect::not_built)
        configuration.not_built.push_back({pair.key, line.file, line.line, "not built yet"});
    }
  }
}

}  // namespace millrace
