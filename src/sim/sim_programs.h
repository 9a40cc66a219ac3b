// src/sim/sim_programs.h - the site's programs in a simulated process: they take a while, sometimes fail, and die with
// it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ports/programs.h"
#include "sim/sim_world.h"

namespace millrace {

enum class ProgramFate : std::uint8_t { running, well, failed };

// What really ran, for the oracle of the tests. One whose process died under it stays `running`.
struct ProgramRunRecord {
  std::string program;
  std::uint32_t job_id = 0, attempt = 0;
  Time started_at, ended_at;
  ProgramFate fate{};
};

class SimPrograms final : public Programs {
 public:
  SimPrograms(SimWorld& world, Loop& process, std::vector<ProgramRunRecord>& history)
      : world_(world), process_(process), history_(history) {}

  std::vector<std::string> find(const std::string& pattern) override { return {pattern}; }
  Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) override;
  void kill(Id program) override;

  std::function<void(const ProgramRun&)> did = [](const ProgramRun&) {};  // what one does that goes well

 private:
  SimWorld& world_;
  Loop& process_;
  std::vector<ProgramRunRecord>& history_;
  std::map<Id, Loop::TimerId> running_;
  Id last_ = 0;
};

}  // namespace millrace
