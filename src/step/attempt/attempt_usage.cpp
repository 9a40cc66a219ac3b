// src/step/attempt/attempt_usage.cpp - see attempt_usage.h.
#include "step/attempt/attempt_usage.h"

#include <algorithm>
#include <set>

namespace millrace {
namespace {

std::int64_t micros(const timeval& time) { return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec; }

void raise_to(wire::TaskSample& most, const ProcessUsage& now) {
  const auto raise = [](std::int64_t seen, std::int64_t value, auto set) {
    if (value > seen) set(value);
  };
  raise(most.user_us(), now.user_us, [&](std::int64_t v) { most.set_user_us(v); });
  raise(most.system_us(), now.system_us, [&](std::int64_t v) { most.set_system_us(v); });
  raise(most.max_rss_bytes(), now.rss_bytes, [&](std::int64_t v) { most.set_max_rss_bytes(v); });
  raise(most.max_vm_bytes(), now.vm_bytes, [&](std::int64_t v) { most.set_max_vm_bytes(v); });
  raise(most.read_bytes(), now.read_bytes, [&](std::int64_t v) { most.set_read_bytes(v); });
  raise(most.write_bytes(), now.written_bytes, [&](std::int64_t v) { most.set_write_bytes(v); });
  raise(most.page_faults(), now.page_faults, [&](std::int64_t v) { most.set_page_faults(v); });
}

}  // namespace

// A task is the tree below it: what it left to us belongs to nobody and is counted when it ends.
void AttemptUsage::look(std::vector<RunningTask>& tasks, std::int64_t now_us) {
  for (RunningTask& task : tasks) {
    if (task.wait_status) continue;
    ProcessUsage sum = process_usage(task.pid);
    for (const pid_t pid : descendants(task.pid)) {
      const ProcessUsage one = process_usage(pid);
      sum.user_us += one.user_us;
      sum.system_us += one.system_us;
      sum.rss_bytes += one.rss_bytes;
      sum.vm_bytes += one.vm_bytes;
      sum.read_bytes += one.read_bytes;
      sum.written_bytes += one.written_bytes;
      sum.page_faults += one.page_faults;
    }
    raise_to(task.sample, sum);
  }
  if (every_us_ != 0) due_us_ = now_us + every_us_;
}

// The kernel has the sums of whoever has ended, with all it waited for, until it is reaped.
void AttemptUsage::take_end(std::vector<RunningTask>& tasks, pid_t pid, const rusage& used, const ProcessUsage& io) {
  ProcessUsage all;
  all.user_us = micros(used.ru_utime);
  all.system_us = micros(used.ru_stime);
  all.rss_bytes = static_cast<std::int64_t>(used.ru_maxrss) * 1024;
  all.read_bytes = io.read_bytes;
  all.written_bytes = io.written_bytes;
  all.page_faults = used.ru_majflt;
  wire::TaskSample sample;
  for (RunningTask& task : tasks) {
    if (task.pid != pid) continue;
    raise_to(task.sample, all);
    sample = task.sample;
  }
  total_.set_user_us(total_.user_us() + all.user_us);
  total_.set_system_us(total_.system_us() + all.system_us);
  total_.set_max_rss_bytes(std::max({total_.max_rss_bytes(), all.rss_bytes, sample.max_rss_bytes()}));
  total_.set_max_vm_bytes(std::max(total_.max_vm_bytes(), sample.max_vm_bytes()));
  total_.set_read_bytes(total_.read_bytes() + all.read_bytes);
  total_.set_write_bytes(total_.write_bytes() + all.written_bytes);
}

// A gpu does not know whose kernel it runs: whoever has it is charged with all it does, and several parts of one alike.
void AttemptUsage::take_gpus(const wire::LaunchPlan& plan, const wire::GpuReadings& readings) {
  std::int64_t busy = 0, used_mib = 0;
  bool any = false;
  for (const wire::DeviceGrant& grant : plan.devices())
    for (const wire::GpuReading& gpu : readings.gpus()) {
      if (grant.name() != "gpu" || std::ranges::find(grant.devices(), gpu.device()) == grant.devices().end()) continue;
      busy += gpu.busy_percent();
      used_mib += static_cast<std::int64_t>(gpu.used_mib());
      any = true;
    }
  if (!any) return;
  total_.set_gpu_looks(total_.gpu_looks() + 1);
  total_.set_gpu_busy_sum(total_.gpu_busy_sum() + busy);
  total_.set_gpu_busy_max(std::max(total_.gpu_busy_max(), busy));
  total_.set_gpu_memory_max_bytes(std::max(total_.gpu_memory_max_bytes(), used_mib << 20));
}

wire::StepSample AttemptUsage::sample(const std::vector<RunningTask>& tasks, const std::vector<pid_t>& all) const {
  wire::StepSample sample;
  sample.set_gpu_looks(total_.gpu_looks());
  sample.set_gpu_busy_max(total_.gpu_busy_max());
  sample.set_gpu_memory_max_bytes(total_.gpu_memory_max_bytes());
  std::set<pid_t> of_tasks;
  for (std::uint32_t local = 0; local < tasks.size(); ++local) {
    const RunningTask& task = tasks[local];
    wire::TaskSample& one = *sample.add_tasks();
    one = task.sample;
    one.set_rank(task.rank);
    one.set_local_rank(local);
    one.set_pid(static_cast<std::uint32_t>(task.pid));
    one.set_running(!task.wait_status);
    of_tasks.insert(task.pid);
  }
  for (const pid_t pid : all)
    if (!of_tasks.contains(pid)) sample.add_other_pids(static_cast<std::uint32_t>(pid));
  return sample;
}

}  // namespace millrace
