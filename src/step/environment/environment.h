// src/step/environment/environment.h - the environment of a job's processes: the submitter's, then Slurm's variables
// for job, step and task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::wire {
class Credential;
class LaunchPlan;
}  // namespace millrace::wire

namespace millrace {

// NAME=value entries, each name once.
class Environment {
 public:
  void set(std::string_view name, std::string_view value);
  void append(std::string_view name, std::string_view value);  // a name not set yet
  void set_number(std::string_view name, std::int64_t value);
  void unset(std::string_view name);
  void set_if_missing(std::string_view name, std::string_view value);
  std::string_view get(std::string_view name) const;  // empty when missing
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::string* find(std::string_view name);
  std::vector<std::string> entries_;
};

// In every process of an attempt: its spool directory, so that an agent can find what a killed supervisor left behind.
// A path and not a number, because several nodes of a host, or a cluster within a job of another, have the same
// numbers.
constexpr std::string_view attempt_marker = "MILLRACE_ATTEMPT";

// What all tasks of this node share. Variables that describe an enclosing job are dropped from the submitter's part.
Environment node_environment(const wire::LaunchPlan& plan, const wire::Credential& identity);
// What one task adds to it; SLURM_TASK_PID is set by the task itself.
void add_task(Environment& environment, std::uint32_t rank, std::uint32_t local_rank);

// What makes the loader run other code in a program of ours. Where its libraries are stays: a site has them anywhere.
void drop_loader_variables(Environment& environment);

// The task numbers of this node.
std::vector<std::uint32_t> ranks_of_node(const wire::LaunchPlan& plan);

// "12.batch", "12.0": as messages name it.
std::string step_name(const wire::LaunchPlan& plan);

}  // namespace millrace
