// src/cli/stream_endpoint.h - where tasks find the command that shows their output.
#pragma once

#include <string>

#include "config/client_settings.h"

namespace millrace {

// Loopback when the whole cluster is this host, else the address that faces the controller.
struct StreamEndpoint {
  std::string host;
  bool loopback_only = false;
};
StreamEndpoint choose_stream_endpoint(const ClientSettings& settings);

}  // namespace millrace
