// src/apps/admin_commands.h - the commands of millrace-admin.
#pragma once

#include "apps/flags.h"

namespace millrace {

// Each runs to its end and gives the exit code of the program.
int run_up(const Words& words);
int run_down(const Words& words);
int run_doctor(const Words& words);
int run_log(const Words& words);
int run_log_repair(const std::string& given, bool may_cut, bool accept_loss);  // what `millrace log repair` does

}  // namespace millrace
