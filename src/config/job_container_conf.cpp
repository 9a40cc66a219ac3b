// src/config/job_container_conf.cpp - see job_container_conf.h.
#include "config/job_container_conf.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"

namespace millrace {
namespace {

Result<bool> to_flag(std::string_view value) {
  if (equals_ignoring_case(value, "true") || equals_ignoring_case(value, "yes")) return true;
  if (equals_ignoring_case(value, "false") || equals_ignoring_case(value, "no")) return false;
  return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, true or false would be right");
}

Result<std::string> to_path(std::string_view value) {
  if (!value.starts_with('/') || value.find("..") != std::string_view::npos)
    return fail(Errc::invalid, "'" + std::string{value} + "' is wrong, an absolute path without .. would be right");
  return std::string{value};
}

Result<void> take(const ConfPair& pair, ContainerSettings& out) {
  const auto is = [&](std::string_view name) { return equals_ignoring_case(pair.key, name); };
  if (is("NodeName")) {
    MR_TRY(out.nodes, expand_hostlist(pair.value));
  } else if (is("BasePath")) {
    if (equals_ignoring_case(pair.value, "none")) return out.base_path.clear(), Result<void>{};
    MR_TRY(out.base_path, to_path(pair.value));
  } else if (is("AutoBasePath")) {
    MR_TRY(out.auto_base_path, to_flag(pair.value));
  } else if (is("Dirs")) {
    out.folders.clear();
    for (const std::string_view part : split(pair.value, ',')) {
      MR_TRY(std::string path, to_path(trim(part)));
      out.folders.push_back(std::move(path));
    }
  } else if (is("Shared")) {
    MR_TRY(out.shared, to_flag(pair.value));
  } else if (is("InitScript")) {
    MR_TRY(out.init_script, to_path(pair.value));
  } else if (is("CloneNSScript") || is("CloneNSEpilog") || is("CloneNSScript_Wait") || is("CloneNSEpilog_Wait") ||
             is("EntireStepInNS")) {
    return fail(Errc::refused, "not built yet");
  } else {
    return fail(Errc::invalid, "unknown key; NodeName, AutoBasePath, BasePath, Dirs, InitScript and Shared are known");
  }
  return {};
}

}  // namespace

void read_job_container_conf(const std::vector<ConfLine>& lines, Configuration& configuration,
                             std::vector<std::string>& errors) {
  ContainerSettings defaults;  // a line without NodeName changes what the lines after it begin with
  bool for_all = false;
  for (const ConfLine& line : lines) {
    const std::string place = line.file + ":" + std::to_string(line.line) + ": ";
    if (!line.problem.empty()) errors.push_back(place + line.problem);
    if (line.pairs.empty()) continue;
    ContainerSettings out = defaults;
    for (const ConfPair& pair : line.pairs)
      if (const auto taken = take(pair, out); !taken) errors.push_back(place + pair.key + ": " + taken.error().story);
    if (out.nodes.empty()) {
      defaults = out;
      for_all = true;
    } else {
      configuration.isolation.containers.push_back(std::move(out));
    }
  }
  if (for_all) configuration.isolation.containers.push_back(defaults);
  if (configuration.isolation.private_folders && configuration.isolation.containers.empty())
    errors.push_back(configuration.path +
                     ": NamespaceType needs a job_container.conf beside this file, with BasePath=FOLDER");
}

const ContainerSettings* container_of(const IsolationSettings& settings, const std::string& node) {
  if (!settings.private_folders) return nullptr;
  for (const ContainerSettings& each : settings.containers) {
    if (!each.nodes.empty() && std::ranges::find(each.nodes, node) == each.nodes.end()) continue;
    return each.base_path.empty() ? nullptr : &each;
  }
  return nullptr;
}

}  // namespace millrace
