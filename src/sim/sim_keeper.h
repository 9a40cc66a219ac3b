// src/sim/sim_keeper.h - a simulated keeper of a job's steps: makes some, lets them end, and tells of them as the real
// one does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/sim_world.h"
#include "step/fact_queue.h"

namespace millrace {

// What nobody in the cluster can forget: what a keeper was told to be in the log.
struct StepRecord {
  std::uint64_t job_key = 0;
  std::uint32_t attempt = 0;
  wire::StepFact fact;
  bool start_heard = false, end_heard = false;
};

class SimKeeper {
 public:
  // `send` passes a batch on to the agent, if there is one.
  SimKeeper(SimWorld& world, std::uint64_t job_key, std::uint32_t attempt, std::string node,
            std::function<void(const wire::StepFromNode&)> send);
  ~SimKeeper();
  SimKeeper(const SimKeeper&) = delete;
  SimKeeper& operator=(const SimKeeper&) = delete;

  void hear(const wire::StepToNode& message);
  void stop();  // its attempt is over: nothing starts or ends any more
  std::vector<wire::StepFact> unheard() const { return facts_.unheard(); }
  std::vector<StepRecord> records() const;

 private:
  void next_step();
  void end_step(std::uint32_t id);
  void tell();

  SimWorld& world_;
  std::uint64_t job_key_;
  std::uint32_t attempt_;
  std::string node_;
  std::function<void(const wire::StepFromNode&)> send_;
  FactQueue facts_;
  std::map<std::uint32_t, StepRecord> records_;
  std::map<std::uint32_t, std::uint64_t> ends_;  // events, by step
  std::uint64_t start_event_ = 0, tell_event_ = 0;
  std::uint32_t next_id_ = 0, steps_left_;
};

}  // namespace millrace
