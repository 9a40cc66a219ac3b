// src/agent/node_isolation.cpp - see node_isolation.h.
#include "agent/node_isolation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "agent.pb.h"
#include "agent/node_devices.h"
#include "base/hostlist.h"
#include "base/index_set.h"
#include "config/job_container_conf.h"
#include "core/model/step.h"
#include "isolation/order.h"

namespace millrace {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

std::uint64_t part_of(std::uint64_t amount, double percent) {
  return static_cast<std::uint64_t>(static_cast<double>(amount) * percent / 100.0);
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// Where folders of jobs lie. In a base that others may write to, they could be there before us: then in one of our own.
Result<std::string> find_private_base(const ContainerSettings& container, const NodeIsolationFacts& facts) {
  for (const std::string& folder : container.folders)
    if (is_below(facts.spool, folder))
      return fail(Errc::invalid, "SlurmdSpoolDir " + facts.spool + " lies in " + folder +
                                     ", which job_container.conf gives to each job alone: no job could be started");
  if (!facts.root) return fail(Errc::refused, "NamespaceType needs an agent that runs as root");
  if (container.auto_base_path)
    for (std::size_t slash = container.base_path.find('/', 1);; slash = container.base_path.find('/', slash + 1)) {
      mkdir(container.base_path.substr(0, slash).c_str(), 0755);
      if (slash == std::string::npos) break;
    }
  if (access(container.base_path.c_str(), W_OK) != 0)
    return fail(Errc::not_found,
                "BasePath " + container.base_path + ": " + std::strerror(errno) + "; AutoBasePath=true would make it");
  struct stat base{};
  constexpr mode_t others = S_IWGRP | S_IWOTH;
  if (stat(container.base_path.c_str(), &base) != 0)
    return fail(Errc::not_found, "BasePath " + container.base_path + ": " + std::strerror(errno));
  if (base.st_uid != geteuid() || ((base.st_mode & others) != 0 && (base.st_mode & S_ISVTX) == 0))
    return fail(Errc::refused, "BasePath " + container.base_path +
                                   " belongs to another user, or others may rename what is in it: users could put "
                                   "folders of their own in the place of a job's");
  if ((base.st_mode & others) == 0) return container.base_path;
  const std::string own = container.base_path + "/.millrace";
  mkdir(own.c_str(), 0700);
  if (lstat(own.c_str(), &base) != 0 || !S_ISDIR(base.st_mode) || base.st_uid != geteuid() ||
      (base.st_mode & others) != 0)
    return fail(Errc::refused, own + " is needed for the folders of jobs, as others may write to BasePath, and " +
                                   "somebody else has made it");
  return own;
}

}  // namespace

Result<NodeIsolation> NodeIsolation::prepare(const IsolationSettings& settings, NodeIsolationFacts facts,
                                             const std::function<void(std::string_view)>& say) {
  NodeIsolation out(settings, std::move(facts));
  if (const ContainerSettings* container = container_of(out.settings_, out.facts_.node)) {
    MR_TRY(out.private_base_, find_private_base(*container, out.facts_));
  }
  out.machine_ = read_cpu_places(out.facts_.sys);
  out.whole_cores_ = counts_cores(out.machine_, out.facts_.threads_per_core, out.facts_.cpus);
  out.cpus_fit_ =
      places_of(out.machine_, out.whole_cores_, std::to_string(out.facts_.cpus > 0 ? out.facts_.cpus - 1 : 0))
          .has_value();
  out.find(say);
  const bool wants_cpus = settings.task_affinity || (settings.task_cgroup && settings.cgroup.constrain_cores);
  if (wants_cpus && !out.cpus_fit_)
    say("jobs are not bound to processors: node " + out.facts_.node + " is configured with " +
        std::to_string(out.facts_.cpus) + " of them, this machine has " + std::to_string(out.machine_.size()));
  return out;
}

void NodeIsolation::find(const std::function<void(std::string_view)>& say) {
  const CgroupSettings& conf = settings_.cgroup;
  if (!settings_.track_by_cgroup && !settings_.task_cgroup) return;  // not asked for
  if (conf.version == CgroupVersion::disabled) return say("cgroups are not used: CgroupPlugin=disabled");
  if (!facts_.root)
    return say("cgroups are not used: this agent does not run as root; CPU and memory are promised, not enforced");
  CgroupSearch search;
  search.allow_v1 = conf.version != CgroupVersion::v2;
  search.allow_v2 = conf.version != CgroupVersion::v1;
  search.mountpoint = conf.mountpoint;
  search.slice = conf.slice;
  search.own = facts_.own_cgroup;
  search.move_others = conf.enable_controllers;
  search.node_folder = node_folder_name(facts_.node, facts_.spool);
  if (settings_.task_cgroup) {
    if (conf.constrain_memory || conf.constrain_swap) search.controllers.push_back("memory");
    if (conf.constrain_cores && cpus_fit_) search.controllers.push_back("cpuset");
    if (conf.constrain_devices) search.controllers.push_back("devices");
    if (conf.constrain_cores || conf.constrain_memory) search.controllers.push_back("cpu");
    if (conf.processes_max != 0) search.controllers.push_back("pids");
  }
  FoundCgroups found = find_cgroups(search);
  folders_ = std::move(found.folders);
  missing_ = std::move(found.missing);
  if (folders_.driver == CgroupDriver::none)
    return say("cgroups are not used: " + found.problem + "; CPU and memory are promised, not enforced");
  std::string text = std::string{"cgroups of version "} + (folders_.driver == CgroupDriver::v1 ? "1" : "2") +
                     " are used, below " + folders_.folders.front().path;
  for (const std::string& controller : missing_)
    text += "; this machine has no " + controller + " controller, so that is not constrained";
  say(text);
}

bool NodeIsolation::has(std::string_view controller) const {
  if (folders_.driver == CgroupDriver::none || std::ranges::find(missing_, controller) != missing_.end()) return false;
  return folders_.driver == CgroupDriver::v2 ||
         std::ranges::find(folders_.folders, controller, &CgroupFolders::Folder::controller) != folders_.folders.end();
}

wire::Isolation NodeIsolation::of(const wire::LaunchPlan& plan) const {
  wire::Isolation out;
  if (folders_.driver != CgroupDriver::none) {
    out.set_driver(folders_.driver == CgroupDriver::v1 ? wire::Isolation::CGROUP_V1 : wire::Isolation::CGROUP_V2);
    for (const auto& folder : folders_.folders) {
      auto* to = out.add_folders();
      to->set_controller(folder.controller);
      to->set_path(folder.path);
    }
    // A requeued job may come back to a node that is still ending its last attempt there, whose end takes its cgroup
    // away.
    const std::string again = plan.attempt() > 0 ? "." + std::to_string(plan.attempt()) : "";
    out.set_job("job_" + std::to_string(plan.job_id()) + again);
    out.set_step(plan.job().interactive()
                     ? plan.step() == interactive_step ? "step_interactive" : "step_" + std::to_string(plan.step())
                     : "step_batch");
    out.set_constrained(settings_.task_cgroup);
  }
  // What the whole job may use here is said beside what is the step's.
  const bool part = plan.has_step() && out.constrained() && plan.has_job_memory_mib();
  if (part) static_cast<void>(out.mutable_whole_job());
  place(plan, out);
  DeviceFiles files = device_files(facts_.kinds, plan);
  for (const std::string& file : files.own) out.add_granted_devices(file);
  if (out.constrained()) {
    limit_memory(plan, out);
    if (settings_.cgroup.constrain_devices) {
      out.set_devices_fenced(has("devices"));
      files.others.insert(files.others.end(), facts_.spare_devices.begin(), facts_.spare_devices.end());
      for (std::string& file : files.others)
        if (std::ranges::find(files.own, file) == files.own.end()) out.add_denied_devices(std::move(file));
      if (part) {
        wire::LaunchPlan whole;
        *whole.mutable_devices() = plan.own_devices() ? plan.job_devices() : plan.devices();
        const std::vector<std::string> of_job = device_files(facts_.kinds, whole).own;
        for (const std::string& file : out.denied_devices())
          if (std::ranges::find(of_job, file) == of_job.end()) out.mutable_whole_job()->add_denied_devices(file);
      }
    }
    if (has("pids")) out.set_processes_max(settings_.cgroup.processes_max);
    const auto position = static_cast<int>(plan.node_position());
    if (has("cpu") && position < plan.cpus_per_node_size())
      out.set_cpu_weight(std::clamp(plan.cpus_per_node(position) * 100, 1u, 10'000u));
    if (part) {
      const auto cpus = parse_index_set(plan.cpu_ids(), 1'000'000);
      if (out.cpu_weight() != 0)
        out.mutable_whole_job()->set_cpu_weight(
            cpus && !cpus->empty() ? std::clamp(static_cast<std::uint32_t>(cpus->size()) * 100, 1u, 10'000u)
                                   : out.cpu_weight());
    }
  }
  make_private(plan, out);
  return out;
}

// As Slurm counts: a share of what the job was given, at least MinRAMSpace, at most MaxRAMPercent of the machine.
void NodeIsolation::limit_memory(std::uint64_t given, auto& out) const {
  const CgroupSettings& conf = settings_.cgroup;
  const std::uint64_t most = std::max(part_of(facts_.machine_memory_mib * mebibyte, conf.max_memory_percent), mebibyte);
  const std::uint64_t least = std::min(conf.min_memory_mib * mebibyte, most);
  // Nothing counted: the whole machine, as far as it may be used at all.
  const std::uint64_t allowed =
      given == 0 ? most : std::clamp(part_of(given, conf.allowed_memory_percent), least, most);
  out.set_memory_bytes(allowed);
  if (given != 0 && allowed > std::max(given, least)) out.set_memory_high_bytes(std::max(given, least));
  if (conf.constrain_swap) {
    const std::uint64_t most_swap = part_of(facts_.machine_memory_mib * mebibyte, conf.max_swap_percent);
    out.set_swap_bytes(std::min(part_of(given, conf.allowed_swap_percent), most_swap));
  }
}

void NodeIsolation::limit_memory(const wire::LaunchPlan& plan, wire::Isolation& out) const {
  const CgroupSettings& conf = settings_.cgroup;
  if (!has("memory") || !(conf.constrain_memory || conf.constrain_swap)) return;
  const auto position = static_cast<int>(plan.node_position());
  limit_memory(position < plan.memory_per_node_mib_size() ? plan.memory_per_node_mib(position) * mebibyte : 0, out);
  if (out.has_whole_job()) limit_memory(plan.job_memory_mib() * mebibyte, *out.mutable_whole_job());
  if (conf.swappiness) out.set_swappiness(*conf.swappiness);
}

void NodeIsolation::place(const wire::LaunchPlan& plan, wire::Isolation& out) const {
  if (!cpus_fit_ || plan.cpu_ids().empty()) return;
  auto places = places_of(machine_, whole_cores_, plan.cpu_ids());
  if (!places || places->empty()) return;
  const bool constrained = out.constrained() && settings_.cgroup.constrain_cores && has("cpuset");
  const auto as_list = [](const std::vector<CpuPlace>& of) {
    std::vector<std::uint32_t> cpus;
    for (const CpuPlace& each : of) cpus.push_back(each.cpu);
    return format_cpu_list(cpus);
  };
  if (constrained && out.has_whole_job()) out.mutable_whole_job()->set_cpus(as_list(*places));
  if (plan.step_cpus_size() > 0) {  // a step has some of them
    std::vector<CpuPlace> chosen;
    for (const std::uint32_t at : plan.step_cpus())
      if (at < places->size()) chosen.push_back((*places)[at]);
    if (!chosen.empty()) *places = std::move(chosen);
  }
  if (constrained) out.set_cpus(as_list(*places));
  if (!settings_.task_affinity) return;
  out.set_bind_tasks(true);
  out.set_default_bind(settings_.default_bind);
  for (const CpuPlace& each : *places) {
    auto* to = out.add_places();
    to->set_cpu(each.cpu);
    to->set_core(each.core);
    to->set_socket(each.socket);
    to->set_memory_node(each.memory_node);
  }
}

static std::string first_name(const std::string& hostlist) {
  const auto names = expand_hostlist(hostlist);
  return names && !names->empty() ? names->front() : "";
}

void NodeIsolation::make_private(const wire::LaunchPlan& plan, wire::Isolation& out) const {
  const ContainerSettings* container = container_of(settings_, facts_.node);
  if (container == nullptr) return;
  // Several nodes of one machine may share a base.
  // Steps beside their step manager see what the script sees; elsewhere nobody else would clear it away, so each has
  // its own.
  const bool apart = plan.has_step() && plan.node_name() != first_name(plan.allocation_nodes());
  out.set_private_base(private_base_ + "/" + node_folder_name(facts_.node, facts_.spool) + "_" +
                       std::to_string(plan.job_id()) + (apart ? "." + std::to_string(plan.step()) : ""));
  for (const std::string& target : container->folders) {
    if (target == "/dev/shm") {
      out.set_private_shm(true);
      continue;
    }
    auto* folder = out.add_private_folders();
    std::string name = target.substr(1);
    std::ranges::replace(name, '/', '_');
    folder->set_target(target);
    folder->set_source(out.private_base() + "/" + name);
  }
  out.set_private_init_script(container->init_script);
}

DeviceFiles device_files(const std::vector<NodeGres>& kinds, const wire::LaunchPlan& plan) {
  std::set<std::string> all, own;
  std::vector<std::vector<std::string>> gpus;  // over all types
  for (const NodeGres& kind : kinds) {
    const auto devices = files_by_device(kind);
    for (const auto& files : devices) all.insert(files.begin(), files.end());
    if (kind.name == "gpu") gpus.insert(gpus.end(), devices.begin(), devices.end());
  }
  for (const wire::DeviceGrant& grant : plan.devices()) {
    const bool part = grant.name() == "shard" || grant.name() == "mps";
    std::int64_t first = 0;
    std::vector<std::vector<std::string>> devices;
    for (const NodeGres& kind : kinds) {
      if (kind.name != grant.name()) continue;
      if (kind.type == grant.type()) {
        devices = files_by_device(kind);
        break;
      }
      first += kind.count;
    }
    if (part) devices = gpus, first = 0;
    if (!part && devices.size() == 1) own.insert(devices.front().begin(), devices.front().end());
    for (const std::uint32_t device : grant.devices())
      if (const std::int64_t at = static_cast<std::int64_t>(device) - first;
          at >= 0 && static_cast<std::size_t>(at) < devices.size())
        own.insert(devices[static_cast<std::size_t>(at)].begin(), devices[static_cast<std::size_t>(at)].end());
  }
  DeviceFiles out{{own.begin(), own.end()}, {}};
  std::ranges::set_difference(all, own, std::back_inserter(out.others));
  return out;
}

bool has_cgroup(const std::string& order) {
  wire::Isolation isolation;
  return !order.empty() && isolation.ParseFromString(order) && isolation.driver() != wire::Isolation::NO_CGROUPS;
}

bool clear_isolation(const std::string& order) {
  wire::Isolation isolation;
  if (order.empty() || !isolation.ParseFromString(order)) return true;
  const auto cgroup = cgroup_in(isolation);
  if (!cgroup->processes().empty()) {
    cgroup->kill_all();
    return false;
  }
  cgroup->remove();
  if (!isolation.private_base().empty()) remove_private_folders(isolation.private_base());
  return true;
}

}  // namespace millrace
