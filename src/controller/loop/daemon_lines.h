// src/controller/loop/daemon_lines.h - what the controller says in its own log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "controller/settings.h"

namespace millrace {

class DaemonLines final {
 public:
  explicit DaemonLines(const ControllerHooks& hooks);

  Log& log() { return log_; }            // with levels; silent where nobody wants it
  Log& schedule() { return schedule_; }  // what the scheduler decides
  // What a node can cause as often as it likes, by kind.
  void say_often(const std::string& kind, const std::string& line) const;
  void complain(const std::string& text);  // an error that nobody can be answered with
  // A bug of ours. The same decision may come again with every report or tick, so that later ones are only counted.
  void law_broken(const std::string& law, const std::vector<Event>& events);

 private:
  const ControllerHooks& hooks_;
  Log silent_;
  Log& log_;
  Log& schedule_;
  std::uint64_t laws_broken_ = 0;
};

}  // namespace millrace
