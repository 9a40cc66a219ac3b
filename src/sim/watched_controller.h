// src/sim/watched_controller.h - how a simulated controller is set: times are short, every law is asked before each
// decision becomes a fact, and one that it had to refuse is a bug that somebody hears of.
#pragma once

#include "controller/controller.h"

namespace millrace {

ControllerSettings watched_settings(bool with_crontab);
// For ControllerHooks.say: what the log says of decisions that broke a law.
std::function<void(const std::string&)> bugs_go_to(std::function<void(std::string)> complain);

}  // namespace millrace
