// src/sim/watched_controller.cpp - see watched_controller.h.
#include "sim/watched_controller.h"

namespace millrace {

ControllerSettings watched_settings(bool with_crontab) {
  ControllerSettings out;
  out.agent_timeout = seconds(20);
  out.snapshot_bytes = with_crontab ? 2 << 10 : 24 << 10;  // crontabs are written rarely
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
