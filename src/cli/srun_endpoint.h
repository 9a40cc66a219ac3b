// src/cli/srun_endpoint.h - where the nodes of a step find the command that started it, and which job that command is
// in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"

namespace millrace {

// Where tasks find us: loopback when the whole cluster is this host, else the address that faces the controller.
struct Endpoint {
  std::string host;
  bool loopback_only = false;
  std::uint16_t first_port = 0, last_port = 0;  // where we may listen; 0: anywhere
};

Endpoint choose_endpoint(const ClientSettings& settings);

// The job we are in.
std::optional<std::uint32_t> job_around();

}  // namespace millrace
