// src/controller/readers/power_reader.h - powers nodes down and up by the site's programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/readers/reader.h"

namespace millrace {

// Decides which node is powered down or up, durably first; the programs follow from what is durable, so that a
// controller after a crash runs what it cannot know to have been run. A program of the site may run twice.
class PowerReader final : public Reader {
 public:
  explicit PowerReader(const Context& context) : c_(context) {}
  void advanced(const Advance& step) override;
  void time(Time now) override;
  void clock_set(Duration by) override;

 private:
  void run_programs();
  void run_program(Power what, const std::vector<NodeIndex>& nodes);
  void program_ended(Power what, const std::vector<std::pair<NodeIndex, Time>>& nodes);
  void resume_failed(const std::vector<NodeIndex>& nodes);
  void leave_unpowered(JobKey key);
  ProgramRun program_of(const std::string& program, const std::vector<NodeIndex>& nodes,
                        std::uint32_t limit_seconds) const;
  std::string resume_file(const std::vector<NodeIndex>& nodes) const;

  const Context& c_;
  std::map<NodeIndex, Time> runs_;         // nodes for which a program runs, and the due time of that change
  std::vector<Time> told_down_, told_up_;  // in the last minute, for the rates; by the clock that nobody sets
};

}  // namespace millrace
