// src/isolation/cgroup_search.cpp - see cgroup_search.h.
#include "isolation/cgroup_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "isolation/cgroup_drivers.h"
#include "isolation/control_file.h"

namespace millrace {
namespace {

Result<void> make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return fail(Errc::io, "make the cgroup " + path + ": " + std::strerror(errno));
}

// The path of this process in the tree of a controller; v2 has the empty name.
std::string own_path(std::string_view own, std::string_view controller) {
  for (const std::string_view line : split(own, '\n')) {
    const std::size_t first = line.find(':'),
                      second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto names = split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::find(names, controller) != names.end()) return std::string{line.substr(second + 1)};
  }
  return {};
}

std::string below(const std::string& folder, std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path.empty() ? folder : folder + (path.starts_with('/') ? "" : "/") + path;
}

bool is_v1_tree(const std::string& path) { return has_control(path + "/tasks"); }

// An empty cpuset takes no process: the node's folder gets what the one above it has.
Result<void> fill_cpuset(const std::string& parent, const std::string& folder) {
  for (const char* file : {"/cpuset.mems", "/cpuset.cpus"})
    if (trim(read_control(folder + file)).empty())
      MR_TRY_VOID(write_control(folder + file, read_control(parent + file)));
  return {};
}

Result<std::string> make_v1_folder(const CgroupSearch& search, const std::string& controller) {
  const std::string tree = search.mountpoint + "/" + controller;
  std::string parent = below(tree, search.slice.empty() ? own_path(search.own, controller) : search.slice);
  if (!is_v1_tree(parent)) {  // a container that sees only its part of the tree, or a slice that is new
    if (search.slice.empty())
      parent = tree;
    else
      MR_TRY_VOID(make_folder(parent));
  }
  const std::string folder = parent + "/" + search.node_folder;
  MR_TRY_VOID(make_folder(folder));
  if (controller == "cpuset") {
    if (!search.slice.empty()) MR_TRY_VOID(fill_cpuset(tree, parent));
    MR_TRY_VOID(fill_cpuset(parent, folder));
  }
  return folder;
}

FoundCgroups find_v1(const CgroupSearch& search) {
  FoundCgroups found;
  std::vector<std::string> wanted = search.controllers;
  // One tree that finds the processes: the freezer can also hold them still.
  for (const char* tracking : {"freezer", "pids", "devices", "cpuacct", "memory"})
    if (is_v1_tree(search.mountpoint + "/" + tracking)) {
      if (std::ranges::find(wanted, tracking) == wanted.end()) wanted.insert(wanted.begin(), tracking);
      break;
    }
  for (const std::string& controller : wanted) {
    if (!is_v1_tree(search.mountpoint + "/" + controller)) {
      found.missing.push_back(controller);
      continue;
    }
    const auto folder = make_v1_folder(search, controller);
    if (!folder) {
      remove_node_folders(found.folders);
      found.folders = {};
      found.problem = folder.error().story;
      return found;
    }
    found.folders.driver = CgroupDriver::v1;
    found.folders.folders.push_back({controller, *folder});
  }
  return found;
}

bool contains_word(const std::string& text, std::string_view word) {
  const auto words = split(trim(text), ' ');
  return std::ranges::find(words, word) != words.end();
}

// Gives the controllers to the cgroups below this one, as far as it has them.
Result<void> hand_down(const std::string& folder, const std::vector<std::string>& controllers) {
  for (const std::string& name : controllers)
    if (contains_word(read_control(folder + "/cgroup.controllers"), name) &&
        !contains_word(read_control(folder + "/cgroup.subtree_control"), name))
      MR_TRY_VOID(write_control(folder + "/cgroup.subtree_control", "+" + name));
  return {};
}

// The first cgroup of a container may hold all its processes, and as long as it does it hands no controllers down.
Result<void> step_aside(const std::string& folder, bool with_others) {
  const std::string aside = folder + "/millrace_agents";
  MR_TRY_VOID(make_folder(aside));
  MR_TRY_VOID(write_control(aside + "/cgroup.procs", "0"));
  if (with_others)  // those that end meanwhile, or belong to the kernel, do not matter
    for (const pid_t pid : pids_in(folder + "/cgroup.procs"))
      static_cast<void>(write_control(aside + "/cgroup.procs", std::to_string(pid)));
  return {};
}

Result<void> prepare_v2(const CgroupSearch& search, const std::string& parent, const std::string& folder,
                        const std::vector<std::string>& controllers) {
  if (parent != search.mountpoint) {
    MR_TRY_VOID(hand_down(search.mountpoint, controllers));
    MR_TRY_VOID(make_folder(parent));
  }
  auto handed = hand_down(parent, controllers);
  const bool busy = !handed && handed.error().code == Errc::unavailable;
  if (busy && below(search.mountpoint, own_path(search.own, "")) == parent) {
    MR_TRY_VOID(step_aside(parent, search.move_others));
    handed = hand_down(parent, controllers);
  }
  // Still busy: without controllers processes can be found and killed, and devices fenced; what is missing is said.
  if (!handed && handed.error().code != Errc::unavailable) return handed;
  MR_TRY_VOID(make_folder(folder));
  return hand_down(folder, controllers);
}

FoundCgroups find_v2(const CgroupSearch& search) {
  FoundCgroups found;
  std::vector<std::string> controllers = search.controllers;
  std::erase(controllers, "devices");  // a program does it
  const std::string parent = below(search.mountpoint, search.slice), folder = parent + "/" + search.node_folder;
  const auto prepared = prepare_v2(search, parent, folder, controllers);
  if (!prepared) {
    rmdir(folder.c_str());
    found.problem = prepared.error().story;
    return found;
  }
  for (const std::string& name : controllers)
    if (!contains_word(read_control(folder + "/cgroup.controllers"), name)) found.missing.push_back(name);
  found.folders.driver = CgroupDriver::v2;
  found.folders.folders.push_back({"", folder});
  return found;
}

}  // namespace

FoundCgroups find_cgroups(const CgroupSearch& search) {
  const bool is_v2 = has_control(search.mountpoint + "/cgroup.controllers");
  FoundCgroups found;
  if (is_v2 && search.allow_v2)
    found = find_v2(search);
  else if (!is_v2 && search.allow_v1)
    found = find_v1(search);
  else
    found.problem = search.mountpoint + " holds cgroups of version " + (is_v2 ? "2" : "1") +
                    ", and CgroupPlugin asks for the other";
  if (found.folders.driver == CgroupDriver::none && found.problem.empty())
    found.problem = "no cgroup file system is mounted at " + search.mountpoint;
  return found;
}

void remove_node_folders(const CgroupFolders& folders) {
  for (const auto& folder : folders.folders) rmdir(folder.path.c_str());
}

std::string node_folder_name(const std::string& node, const std::string& spool) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : spool) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", hash);
  return "millrace_" + node + "_" + digits;
}

}  // namespace millrace
