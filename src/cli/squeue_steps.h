// src/cli/squeue_steps.h - squeue --steps: the steps that run, instead of jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "cli/console.h"
#include "cli/render/data_text.h"

namespace millrace {

struct StepsAsked {
  std::optional<std::string> format, long_format, sort, steps, jobs;
  bool long_view = false, header = true;
  std::set<std::uint32_t> users;
  std::optional<std::uint32_t> not_user;
  std::set<std::string, std::less<>> partitions, names, nodes, accounts, qos;
  std::set<std::string> states;  // RUNNING, SUSPENDED ...; empty: any
  std::optional<DataForm> data;  // --json, --yaml
  bool without_hidden = false;
};
int show_queue_of_steps(const Command& command, const StepsAsked& asked, const ClientSettings& settings);

}  // namespace millrace
