// src/step/supervisor_usage.cpp - what the tasks use: looked at when somebody asks and now and then, and summed up at
// their ends.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "step/proc.h"
#include "step/supervisor.h"

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
void Supervisor::look_at_usage() {
  for (RunningTask& task : tasks_) {
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
  if (plan_.sample_every_seconds() == 0) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  look_again_us_ = static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000 +
                   static_cast<std::int64_t>(plan_.sample_every_seconds()) * 1'000'000;
}

// The kernel has the sums of whoever has ended, with all it waited for, until it is reaped.
void Supervisor::take_usage(pid_t pid, const rusage& used, const ProcessUsage& io) {
  ProcessUsage all;
  all.user_us = micros(used.ru_utime);
  all.system_us = micros(used.ru_stime);
  all.rss_bytes = static_cast<std::int64_t>(used.ru_maxrss) * 1024;
  all.read_bytes = io.read_bytes;
  all.written_bytes = io.written_bytes;
  all.page_faults = used.ru_majflt;
  wire::TaskSample sample;
  for (RunningTask& task : tasks_) {
    if (task.pid != pid) continue;
    raise_to(task.sample, all);
    sample = task.sample;
  }
  usage_.set_user_us(usage_.user_us() + all.user_us);
  usage_.set_system_us(usage_.system_us() + all.system_us);
  usage_.set_max_rss_bytes(std::max({usage_.max_rss_bytes(), all.rss_bytes, sample.max_rss_bytes()}));
  usage_.set_max_vm_bytes(std::max(usage_.max_vm_bytes(), sample.max_vm_bytes()));
  usage_.set_read_bytes(usage_.read_bytes() + all.read_bytes);
  usage_.set_write_bytes(usage_.write_bytes() + all.written_bytes);
}

// A gpu does not know whose kernel it runs: whoever has it is charged with all it does, and several parts of one alike.
void Supervisor::take_gpus(const wire::GpuReadings& readings) {
  std::int64_t busy = 0, used_mib = 0;
  bool any = false;
  for (const wire::DeviceGrant& grant : plan_.devices())
    for (const wire::GpuReading& gpu : readings.gpus()) {
      if (grant.name() != "gpu" || std::ranges::find(grant.devices(), gpu.device()) == grant.devices().end()) continue;
      busy += gpu.busy_percent();
      used_mib += static_cast<std::int64_t>(gpu.used_mib());
      any = true;
    }
  if (!any) return;
  usage_.set_gpu_looks(usage_.gpu_looks() + 1);
  usage_.set_gpu_busy_sum(usage_.gpu_busy_sum() + busy);
  usage_.set_gpu_busy_max(std::max(usage_.gpu_busy_max(), busy));
  usage_.set_gpu_memory_max_bytes(std::max(usage_.gpu_memory_max_bytes(), used_mib << 20));
}

void Supervisor::answer_inquiry(std::uint64_t number) {
  look_at_usage();
  wire::FromStep message;
  wire::StepSample& sample = *message.mutable_sample();
  sample.set_job_key(plan_.job_key());
  sample.set_attempt(plan_.attempt());
  if (plan_.has_step()) sample.set_step(plan_.step());
  sample.set_inquiry(number);
  sample.set_gpu_looks(usage_.gpu_looks());
  sample.set_gpu_busy_max(usage_.gpu_busy_max());
  sample.set_gpu_memory_max_bytes(usage_.gpu_memory_max_bytes());
  std::map<pid_t, bool> tasks;
  for (std::uint32_t local = 0; local < tasks_.size(); ++local) {
    const RunningTask& task = tasks_[local];
    wire::TaskSample& one = *sample.add_tasks();
    one = task.sample;
    one.set_rank(task.rank);
    one.set_local_rank(local);
    one.set_pid(static_cast<std::uint32_t>(task.pid));
    one.set_running(!task.wait_status);
    tasks[task.pid] = true;
  }
  for (const pid_t pid : descendants(getpid()))
    if (!tasks.contains(pid)) sample.add_other_pids(static_cast<std::uint32_t>(pid));
  agent_.send(message.SerializeAsString());
}

}  // namespace millrace
