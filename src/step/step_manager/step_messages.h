// src/step/step_manager/step_messages.h - what a step manager says: answers to srun, orders to the nodes of a step,
// facts for the log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent.pb.h"
#include "step/step_manager/step_manager_port.h"

namespace millrace {

// Slurm's number and text of a refusal.
struct StepFailure {
  std::uint32_t code = 0;
  std::string_view text;
};
constexpr StepFailure step_access_denied{2002, "Access/permission denied"},
    step_bad_nodes{2014, "Requested node configuration is not available"},
    step_nodes_busy{2016, "Requested nodes are busy"}, step_unknown_job{2017, "Invalid job id specified"},
    step_already_over{2021, "Job/step already completing or completed"},
    step_bad_tasks{2025, "Task count specification invalid"},
    step_few_ports{2060, "Requires more ports than can be reserved"},
    step_too_many{2076, "Step limit reached for this job"};

// Who asked, and which of the client's questions this was.
struct StepAsker {
  std::uint64_t client = 0, number = 0;
};
StepAsker asker_of(const wire::StepRequest& request);

class StepMessages {
 public:
  StepMessages(std::uint64_t job_key, std::uint32_t attempt, StepManagerPort& port)
      : job_key_(job_key), attempt_(attempt), port_(port) {}

  void tell(StepAsker asker, const wire::StepNews& news);
  void refuse(StepAsker asker, StepFailure why, const std::string& note = {});
  void refuse(StepAsker asker, std::uint32_t code, const std::string& text, const std::string& note);
  void confirm(StepAsker asker);  // it was done

  void kill(std::uint32_t step, const std::vector<std::string>& nodes, std::uint32_t wait_seconds, wire::Kill::Why why);
  void signal(std::uint32_t step, const std::vector<std::string>& nodes, std::uint32_t signal, bool before_end);
  void forget(std::uint32_t step, const std::string& node);
  void send(wire::StepFromNode message, const std::string& node = {});

 private:
  std::uint64_t job_key_;
  std::uint32_t attempt_;
  StepManagerPort& port_;
};

}  // namespace millrace
