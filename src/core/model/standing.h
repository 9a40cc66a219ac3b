// src/core/model/standing.h - what users leave with the controller to be done again and again: crontabs, and programs for what happens to nodes and jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace millrace {

// scrontab: the file as the user wrote it, and the jobs of its entries, in the order of the file.
struct Crontab {
  std::string text;
  std::vector<JobKey> jobs;
  bool operator==(const Crontab&) const = default;
};

using TriggerId = Id<struct TriggerTag>;

enum class TriggerEvent : std::uint8_t {  // written to the log: never reorder
  node_down, node_up, node_drained, node_draining, node_resumed, node_failing, node_idle, job_end, job_time, reconfigured,
};

// strigger: a program for one thing that happens, once unless it is permanent.
struct Trigger {
  TriggerId id;
  UserId uid;
  TriggerEvent event{};
  JobKey job;                 // 0: of nodes, or of the controller
  JobId job_id;               // as it was named
  std::string nodes;          // hostlist; empty: any
  std::int32_t offset_seconds = 0;  // so long after it happened; of job_time before the end
  bool permanent = false;
  std::string program;        // and its arguments, as one line
  bool operator==(const Trigger&) const = default;
};

}  // namespace millrace
