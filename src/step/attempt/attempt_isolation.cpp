// src/step/attempt/attempt_isolation.cpp - see attempt_isolation.h.
#include "step/attempt/attempt_isolation.h"

#include <algorithm>

#include "isolation/order.h"
#include "step/attempt/affinity.h"

namespace millrace {
namespace {

// The part of --distribution about the sockets of a node; Slurm deals them out in turn unless told otherwise.
bool is_cyclic(const std::string& distribution) {
  const std::size_t colon = distribution.find(':');
  return colon == std::string::npos || !distribution.substr(colon + 1).starts_with("block");
}

// Of programs that do not profit from several threads of a core, the first thread each.
std::vector<CpuPlace> first_threads(const std::vector<CpuPlace>& places) {
  std::vector<CpuPlace> out;
  for (const CpuPlace& place : places)
    if (std::ranges::find(out, place.core, &CpuPlace::core) == out.end()) out.push_back(place);
  return out;
}

std::vector<std::uint32_t> cpus_of(const std::vector<CpuPlace>& places) {
  std::vector<std::uint32_t> cpus;
  for (const CpuPlace& place : places) cpus.push_back(place.cpu);
  std::ranges::sort(cpus);
  return cpus;
}

}  // namespace

Result<void> AttemptIsolation::begin(std::uint32_t tasks, AttemptSpool& spool, Environment& environment, Log& log) {
  cgroup_ = cgroup_in(order_);
  if (order_.driver() != wire::Isolation::NO_CGROUPS || !order_.private_base().empty())
    MR_TRY_VOID(blame_machine(spool.write_isolation(order_)));
  if (order_.driver() != wire::Isolation::NO_CGROUPS) {
    CgroupLimits limits = limits_in(order_);
    limits.oom_kills_all = plan_.job().oom_kill_step() && limits.memory.has_value();
    const auto what = [&] {
      return std::string{"cgroup made"} + (limits.memory
                                               ? ", memory at most " + std::to_string(*limits.memory) + " bytes"
                                               : ", memory without limit");
    };
    MR_TRY_VOID(blame_machine(cgroup_->create(limits, job_limits_in(order_))));
    log.debug2(what);
    log.about(DebugFlag::cgroup, what);
  }
  MR_TRY_VOID(choose_cpus(tasks, environment));
  if (order_.private_base().empty()) return {};
  PrivateFolders folders = private_folders_in(order_);
  folders.script_environment = {"SLURM_JOB_ID=" + std::to_string(plan_.job_id()),
                                "SLURM_JOB_MOUNTPOINT_SRC=" + folders.base, "SLURM_CONF=" + plan_.config_path(),
                                "SLURMD_NODENAME=" + plan_.node_name()};
  return blame_machine(enter_private_folders(folders));
}

Result<void> AttemptIsolation::choose_cpus(std::uint32_t tasks, Environment& environment) {
  task_cpus_.assign(std::max(tasks, 1u), {});
  if (!plan_.job().mem_bind().empty()) environment.set("SLURM_MEM_BIND", plan_.job().mem_bind());
  if (!order_.bind_tasks() || order_.places_size() == 0) return {};
  const std::string& hint = plan_.job().resources().hint();
  BindRequest request;
  request.places = places_in(order_);
  if (!hint.empty() && hint != "multithread") request.places = first_threads(request.places);
  allocated_cpus_ = cpus_of(request.places);
  if (!plan_.job().interactive()) return {};  // a script has all of them
  const std::string& asked = plan_.job().cpu_bind().empty() ? order_.default_bind() : plan_.job().cpu_bind();
  if (!asked.empty()) {
    MR_TRY(bind_, in_context(parse_cpu_bind(asked), "cpu-bind"));
  }
  if (!plan_.job().mem_bind().empty()) {
    MR_TRY(memory_bind_, in_context(parse_memory_bind(plan_.job().mem_bind()), "mem-bind"));
  }
  request.tasks = std::max(tasks, 1u);
  request.cpus_per_task = std::max(plan_.job().cpus_per_task(), 1u);
  request.cyclic = is_cyclic(plan_.job().resources().distribution());
  MR_TRY(task_cpus_, bind_tasks(bind_, request));
  add_binding(environment, bind_, task_cpus_);
  return {};
}

void AttemptIsolation::bind(TaskSpec& spec, std::uint32_t rank, std::uint32_t local_rank) const {
  spec.cgroup = cgroup_.get();
  if (allocated_cpus_.empty()) return;
  const auto& own = task_cpus_.at(std::min<std::size_t>(local_rank, task_cpus_.size() - 1));
  spec.cpus = own.empty() ? allocated_cpus_ : own;
  spec.memory_nodes = memory_nodes_of(memory_bind_, local_rank, own, places_in(order_));
  spec.prefer_memory = memory_bind_.prefer;
  if (!bind_.verbose) return;
  const auto padded = [](std::uint32_t number) { return (number < 10 ? " " : "") + std::to_string(number); };
  spec.bind_note = std::string{own.empty() ? "cpu-bind=NULL - " : "cpu-bind=MASK - "} + plan_.node_name() + ", task " +
                   padded(rank) + " " + padded(local_rank);
  spec.bind_mask = format_mask(spec.cpus) + (own.empty() ? "" : " set");
}

bool AttemptIsolation::is_empty() const { return !cgroup_ || cgroup_->processes().empty(); }

void AttemptIsolation::kill_all() const {
  if (cgroup_) cgroup_->kill_all();
}

std::uint64_t AttemptIsolation::oom_kills() const { return cgroup_ ? cgroup_->oom_kills() : 0; }

void AttemptIsolation::end() {
  if (cgroup_) static_cast<void>(cgroup_->remove());
  cgroup_.reset();
  // A step beside the script uses the job's.
  const std::string& base = order_.private_base();
  const bool own = !plan_.has_step() || base.ends_with("." + std::to_string(plan_.step()));
  if (!base.empty() && own) remove_private_folders(base);
}

}  // namespace millrace
