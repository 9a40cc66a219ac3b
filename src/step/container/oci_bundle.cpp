// src/step/container/oci_bundle.cpp - see oci_bundle.h.
#include "step/container/oci_bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace millrace {
namespace {

namespace json = boost::json;

json::object& object_in(json::object& from, std::string_view key) {
  json::value& value = from[key];
  if (!value.is_object()) value = json::object{};
  return value.as_object();
}

json::array& array_in(json::object& from, std::string_view key) {
  json::value& value = from[key];
  if (!value.is_array()) value = json::array{};
  return value.as_array();
}

bool is_text(const json::value& value, std::string_view text) {
  return value.is_string() && std::string_view{value.as_string()} == text;
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// The bundle's come first; what the job says of the same name wins, but for where programs and the home are inside.
void set_environment(json::object& process, const std::vector<std::string>& environment) {
  json::array& entries = array_in(process, "env");
  std::vector<std::string> out;
  for (const json::value& each : entries)
    if (each.is_string()) out.emplace_back(each.as_string().c_str());
  const std::size_t own = out.size();
  for (const std::string& entry : environment) {
    const std::string_view name = name_of(entry);
    const auto same = std::find_if(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(own),
                                   [&](const std::string& has) { return name_of(has) == name; });
    if (same == out.begin() + static_cast<std::ptrdiff_t>(own))
      out.push_back(entry);
    else if (name != "PATH" && name != "HOME")
      *same = entry;
  }
  entries = json::array(out.begin(), out.end());
}

void add_mount(json::object& config, const std::string& path, const json::array& options) {
  for (const json::value& mount : array_in(config, "mounts"))
    if (mount.is_object() && mount.as_object().contains("destination") && is_text(mount.at("destination"), path))
      return;
  array_in(config, "mounts")
      .push_back(json::object{{"destination", path}, {"type", "bind"}, {"source", path}, {"options", options}});
}

// The user alone, as himself: nothing in a bundle can reach what its owner could not reach outside.
void set_identity(json::object& config, const BundleTask& task) {
  json::object& process = object_in(config, "process");
  const unsigned uid = task.root_inside ? 0 : task.uid, gid = task.root_inside ? 0 : task.gid;
  process["user"] = json::object{{"uid", uid}, {"gid", gid}};
  json::object& linux_part = object_in(config, "linux");
  json::array& spaces = array_in(linux_part, "namespaces");
  json::array kept;
  for (const json::value& space : spaces) {
    if (!space.is_object() || !space.as_object().contains("type")) continue;
    const json::value& type = space.at("type");
    // The job's network and cgroup are used; a user namespace is made below.
    if (is_text(type, "user") || is_text(type, "network") || is_text(type, "cgroup")) continue;
    kept.push_back(json::object{{"type", type}});
  }
  const auto has = [&](std::string_view type) {
    return std::any_of(kept.begin(), kept.end(),
                       [&](const json::value& space) { return is_text(space.at("type"), type); });
  };
  if (!has("mount")) kept.push_back(json::object{{"type", "mount"}});
  kept.push_back(json::object{{"type", "user"}});
  spaces = std::move(kept);
  linux_part["uidMappings"] = json::array{json::object{{"containerID", uid}, {"hostID", task.uid}, {"size", 1}}};
  linux_part["gidMappings"] = json::array{json::object{{"containerID", gid}, {"hostID", task.gid}, {"size", 1}}};
  linux_part.erase("cgroupsPath");
  linux_part.erase("resources");  // the job's cgroup limits it
  linux_part.erase("devices");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string{};
}

bool is_folder(const std::string& path) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace

Result<std::string> task_config(const std::string& bundle_config, const BundleTask& task) {
  boost::system::error_code problem;
  json::value parsed = json::parse(bundle_config, problem);
  if (problem || !parsed.is_object())
    return fail(Errc::invalid, task.bundle + "/config.json: " + (problem ? problem.message() : "no object"));
  json::object& config = parsed.as_object();
  json::object& root = object_in(config, "root");
  if (!root.contains("path") || !root.at("path").is_string())
    return fail(Errc::invalid, task.bundle + "/config.json: root.path is missing");
  std::string path{root.at("path").as_string().c_str()};
  if (!path.starts_with('/')) path = task.bundle + "/" + path;
  if (!is_folder(path)) return fail(Errc::not_found, path + ": " + (errno != 0 ? std::strerror(errno) : "no folder"));
  root["path"] = path;
  json::object& process = object_in(config, "process");
  process["terminal"] = false;  // that of srun --pty is standard input already
  if (!task.arguments.empty())
    process["args"] = json::array(task.arguments.begin(), task.arguments.end());
  else if (array_in(process, "args").empty())
    return fail(Errc::invalid,
                "no program: neither the command line nor process.args of " + task.bundle + "/config.json names one");
  if (!process.contains("cwd")) process["cwd"] = task.work_dir.empty() ? "/" : task.work_dir;
  set_environment(process, task.environment);
  set_identity(config, task);
  for (const std::string& device : task.devices) add_mount(config, device, {"bind", "rw", "nosuid"});
  if (!task.script.empty()) add_mount(config, task.script, {"bind", "ro"});
  // What the kernel lets only root of the machine mount is taken from the machine.
  for (json::value& mount : array_in(config, "mounts")) {
    if (!mount.is_object() || !mount.as_object().contains("type") || !mount.as_object().contains("destination"))
      continue;
    json::object& each = mount.as_object();
    if (is_text(each["type"], "sysfs")) {
      each["type"] = "bind";
      each["source"] = "/sys";
      each["options"] = json::array{"rbind", "ro", "nosuid", "noexec", "nodev"};
    } else if (is_text(each["type"], "cgroup") || is_text(each["type"], "cgroup2")) {
      each["type"] = "bind";
      each["source"] = "/sys/fs/cgroup";
      each["options"] = json::array{"rbind", "ro", "nosuid", "noexec", "nodev"};
    } else if (is_text(each["type"], "devpts") && each.contains("options") && each["options"].is_array()) {
      json::array options;
      for (const json::value& option : each["options"].as_array())
        if (!option.is_string() || !std::string_view{option.as_string()}.starts_with("gid=")) options.push_back(option);
      each["options"] = std::move(options);
    }
  }
  return json::serialize(parsed);
}

std::string find_container_runtime() {
  const auto first_of = [](std::initializer_list<const char*> paths) -> std::string {
    for (const char* path : paths)
      if (access(path, X_OK) == 0) return path;
    return {};
  };
  const std::string crun = first_of({"/usr/bin/crun", "/usr/local/bin/crun"});
  const std::string runc = first_of({"/usr/bin/runc", "/usr/sbin/runc", "/usr/local/sbin/runc", "/usr/local/bin/runc"});
  const bool mixed = !read_file("/sys/fs/cgroup/unified/cgroup.controllers").empty();
  return crun.empty() || (mixed && !runc.empty()) ? runc : crun;
}

Result<void> become_container(const BundleTask& task, const std::string& runtime) {
  if (!is_folder(task.bundle)) return fail(Errc::not_found, "container " + task.bundle + ": " + std::strerror(errno));
  const std::string text = read_file(task.bundle + "/config.json");
  if (text.empty()) return fail(Errc::not_found, "container " + task.bundle + ": config.json cannot be read");
  const bool crun = runtime.ends_with("crun");
  BundleTask mapped = task;
  mapped.root_inside = !crun;  // runc wants it
  MR_TRY(const std::string config, task_config(text, mapped));
  const std::string state = task.directory + "/state";
  mkdir(state.c_str(), 0700);
  {
    std::ofstream file(task.directory + "/config.json", std::ios::binary);
    file << config;
    if (!file.flush()) return fail(Errc::io, task.directory + "/config.json cannot be written");
  }
  std::string name = "task-" + std::to_string(getpid());
  std::vector<std::string> words{runtime, "--root=" + state};
  if (crun) words.emplace_back("--cgroup-manager=disabled");  // it stays in the job's
  words.insert(words.end(), {"run", "--bundle=" + task.directory, name});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv("XDG_RUNTIME_DIR", state.c_str(), 1);
  execv(runtime.c_str(), arguments.data());
  return fail(Errc::unavailable, runtime + ": " + std::strerror(errno));
}

}  // namespace millrace
