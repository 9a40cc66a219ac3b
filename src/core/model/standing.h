// src/core/model/standing.h - what users leave with the controller to be done again and again: crontabs, and programs
// for what happens to nodes and jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"

namespace millrace {

// scrontab: an entry and the job that comes again for it.
struct CrontabJob {
  JobKey key;
  std::uint32_t line = 0;  // of the file, from 1
  bool operator==(const CrontabJob&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "key", self.key);
    visit(2, "line", self.line);
  }
};

// The file as the user wrote it, and the jobs of its entries, in the order of the file.
struct Crontab {
  std::string text;
  std::vector<CrontabJob> jobs;
  bool operator==(const Crontab&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(2, "text", self.text);
    visit(3, "jobs", self.jobs);
  }
};

using TriggerId = Id<struct TriggerTag>;

enum class TriggerEvent : std::uint8_t {  // written to the log: never reorder
  node_down,
  node_up,
  node_drained,
  node_draining,
  node_resumed,
  node_failing,
  node_idle,
  job_end,
  job_time,
  reconfigured,
  controller_started,
};

// What a trigger waits for has happened; its program is to be run then.
struct TriggerDue {
  Time at;
  std::string about;  // nodes or a job: what the program is told
  bool operator==(const TriggerDue&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "at", self.at);
    visit(2, "about", self.about);
  }
};

// strigger: a program for one thing that happens, once unless it is permanent.
struct Trigger {
  TriggerId id;
  UserId uid;
  TriggerEvent event{};
  JobKey job;                       // 0: of nodes, or of the controller
  JobId job_id;                     // as it was named
  std::string nodes;                // hostlist; empty: any
  std::int32_t offset_seconds = 0;  // so long after it happened; of job_time before the end
  bool permanent = false;
  std::string program;            // and its arguments, as one line
  std::vector<TriggerDue> due{};  // only of those with an offset: a restart in between does not lose what happened
  bool operator==(const Trigger&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "uid", self.uid);
    visit(3, "event", self.event);
    visit(4, "job", self.job);
    visit(5, "job_id", self.job_id);
    visit(6, "nodes", self.nodes);
    visit(7, "offset_seconds", self.offset_seconds);
    visit(8, "permanent", self.permanent);
    visit(9, "program", self.program);
    visit(10, "due", self.due);
  }
};

}  // namespace millrace
