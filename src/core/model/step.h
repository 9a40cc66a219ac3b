// src/core/model/step.h - a step of a job: what it was started with, and what has become of it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"
#include "base/shared_value.h"
#include "core/model/job_state.h"

namespace millrace {

// Numbers from here on are not given out: the script of a batch job is a step of this number, which follows from the
// job and is not stored.
constexpr std::uint32_t batch_step = 0xfffffffb;
// The shell that salloc starts on the first node, where the site says so. One for an attempt; it does not count among
// the others.
constexpr std::uint32_t interactive_step = 0xfffffffa;
constexpr std::uint32_t steps_of_attempt_max = 40'000;

// Over all tasks and what they started; memory is the largest of one task.
struct StepUsage {
  std::int64_t user_us = 0, system_us = 0;
  std::int64_t max_rss_bytes = 0, max_vm_bytes = 0;
  std::int64_t read_bytes = 0, written_bytes = 0;
  // Of its gpus on one node together: how busy, in percent of one, and how much of their memory. Sum and number of
  // looks give the mean.
  std::int64_t gpu_busy_max = 0, gpu_busy_sum = 0, gpu_looks = 0, gpu_memory_max_bytes = 0;
  bool operator==(const StepUsage&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "user_us", self.user_us);
    visit(2, "system_us", self.system_us);
    visit(3, "max_rss_bytes", self.max_rss_bytes);
    visit(4, "max_vm_bytes", self.max_vm_bytes);
    visit(5, "read_bytes", self.read_bytes);
    visit(6, "written_bytes", self.written_bytes);
    visit(791, "gpu_busy_max", self.gpu_busy_max);
    visit(792, "gpu_busy_sum", self.gpu_busy_sum);
    visit(793, "gpu_looks", self.gpu_looks);
    visit(794, "gpu_memory_max_bytes", self.gpu_memory_max_bytes);
  }
};

// Of several nodes together, as of several tasks.
inline void add(StepUsage& sum, const StepUsage& more) {
  sum.user_us += more.user_us;
  sum.system_us += more.system_us;
  sum.max_rss_bytes = std::max(sum.max_rss_bytes, more.max_rss_bytes);
  sum.max_vm_bytes = std::max(sum.max_vm_bytes, more.max_vm_bytes);
  sum.read_bytes += more.read_bytes;
  sum.written_bytes += more.written_bytes;
  sum.gpu_busy_max = std::max(sum.gpu_busy_max, more.gpu_busy_max);
  sum.gpu_busy_sum += more.gpu_busy_sum;
  sum.gpu_looks += more.gpu_looks;
  sum.gpu_memory_max_bytes = std::max(sum.gpu_memory_max_bytes, more.gpu_memory_max_bytes);
}

// Devices it asked for, as people are shown it. Kept apart so that the many steps that ask for none do not pay for it.
struct StepWishes {
  std::string gres;  // what it holds over all its nodes: gres/gpu=2,gres/gpu:a100=2
  std::string tres_per_step, tres_per_node, tres_per_socket, tres_per_task, cpus_per_tres, mem_per_tres;
  bool operator==(const StepWishes&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "gres", self.gres);
    visit(2, "tres_per_step", self.tres_per_step);
    visit(3, "tres_per_node", self.tres_per_node);
    visit(4, "tres_per_socket", self.tres_per_socket);
    visit(5, "tres_per_task", self.tres_per_task);
    visit(6, "cpus_per_tres", self.cpus_per_tres);
    visit(7, "mem_per_tres", self.mem_per_tres);
  }
};

// Many steps of a job run on the same nodes: equal lists are one.
using StepNodes = SharedValue<std::vector<std::uint32_t>>;  // NodeIndex values

struct StepStart {
  std::uint32_t id = 0;
  std::string name;
  StepNodes nodes;
  std::uint32_t tasks = 0;
  Cpus cpus;
  Mebibytes memory;
  Time at;
  std::string srun_host;
  std::uint32_t srun_pid = 0;
  std::string distribution;              // as asked for
  std::uint32_t time_limit_minutes = 0;  // 0: that of its job
  SharedValue<StepWishes> wishes{};      // null: none
  std::string ports{};                   // reserved for it
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", field::said(self.id));
    visit(2, "name", self.name);
    visit(3, "nodes", self.nodes);
    visit(4, "tasks", self.tasks);
    visit(5, "cpus", self.cpus);
    visit(6, "memory", self.memory);
    visit(7, "at", self.at);
    visit(8, "srun_host", self.srun_host);
    visit(9, "srun_pid", self.srun_pid);
    visit(10, "distribution", self.distribution);
    visit(730, "time_limit_minutes", self.time_limit_minutes);
    visit(731, "wishes", self.wishes);
    visit(1020, "ports", self.ports);
  }
};

struct StepEnd {
  std::uint32_t id = 0;
  Outcome outcome{};  // of a step: completed, failed, cancelled, timeout, out_of_memory or node_fail
  std::uint32_t exit_code = 0, exit_signal = 0;
  UserId cancelled_by;
  StepUsage usage;
  Time at;
  bool operator==(const StepEnd&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", field::said(self.id));
    visit(2, "outcome", self.outcome);
    visit(3, "exit_code", self.exit_code);
    visit(4, "exit_signal", self.exit_signal);
    visit(5, "cancelled_by", self.cancelled_by);
    visit(6, "usage", self.usage);
    visit(7, "at", self.at);
  }
};

// What was made different of one that runs.
struct StepChange {
  std::uint32_t id = 0;
  std::uint32_t time_limit_minutes = 0;
  bool operator==(const StepChange&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", field::said(self.id));
    visit(2, "time_limit_minutes", self.time_limit_minutes);
  }
};

struct Step {
  StepStart start;
  StepEnd end;  // outcome none: it runs
  bool is_running() const { return end.outcome == Outcome::none; }
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(2, "start", self.start);
    visit(3, "end", self.end);
  }
};

// As a step manager tells of it. `start.nodes` is not set: it names them.
struct ReportedStep {
  StepStart start;
  std::string nodes;  // hostlist
  std::optional<StepEnd> end{};
};

struct StepKey {
  JobKey job;
  Attempt attempt;
  std::uint32_t id = 0;
  auto operator<=>(const StepKey&) const = default;
};

// What must be known of a job's steps besides themselves.
struct StepTally {
  Attempt attempt;            // of the latest report
  std::uint32_t next_id = 0;  // in that attempt: whatever is below has been told
  std::uint32_t ended = 0;    // kept ones, of all attempts
  StepNodes nodes;            // of the latest start
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(2, "attempt", self.attempt);
    visit(3, "next_id", self.next_id);
    visit(0, "ended", self.ended);
    visit(0, "nodes", self.nodes);
  }
};

}  // namespace millrace
