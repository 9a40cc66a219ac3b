// src/sim/watched_controller.cpp - see watched_controller.h.
#include "sim/watched_controller.h"

namespace millrace {

ControllerSettings watched_settings() {
  ControllerSettings out;
  out.agent_timeout = seconds(20);
  out.snapshot_bytes = 24 << 10;
  out.crontabs = true;
  out.ask_all_laws = true;
  return out;
}

std::function<void(const std::string&)> bugs_go_to(std::function<void(std::string)> complain) {
  return [complain = std::move(complain)](const std::string& line) {
    if (line.starts_with("bug: ")) complain(line);
  };
}

}  // namespace millrace
