// src/controller/readers/crontab_reader.h - has jobs of crontabs come again at their next time.
#pragma once

#include <set>

#include "controller/readers/reader.h"

namespace millrace {

class CrontabReader final : public Reader {
 public:
  explicit CrontabReader(const Context& context) : c_(context) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;
  void time(Time now) override;
  void clock_set(Duration by) override;

 private:
  void look_at(const std::set<JobKey>& jobs);
  void look_at_all();

  const Context& c_;
  bool waits_for_room_ = false;  // on the disk: jobs of crontabs have ended and have no next time yet
};

}  // namespace millrace
