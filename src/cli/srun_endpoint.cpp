// src/cli/srun_endpoint.cpp - see srun_endpoint.h.
#include "cli/srun_endpoint.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "cli/submission.h"

namespace millrace {

Endpoint choose_endpoint(const ClientSettings& settings) {
  const std::string& controller = settings.controller_address;
  if (controller.empty() || controller == "localhost" || controller.starts_with("127.") || controller == "::1")
    return {"127.0.0.1", true, settings.first_port, settings.last_port};
  Endpoint out{own_host_name(), false, settings.first_port, settings.last_port};
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(controller.c_str(), "6817", &hints, &found) != 0 || found == nullptr) return out;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  char text[INET_ADDRSTRLEN] = {};
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 && ntohl(own.sin_addr.s_addr) >> 24 != 127 &&
      inet_ntop(AF_INET, &own.sin_addr, text, sizeof text) != nullptr)
    out.host = text;  // a loopback address would mean nothing to the other nodes: they get the name then
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return out;
}

std::optional<std::uint32_t> job_around() {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) {
    const char* value = std::getenv(name);
    const auto number = value != nullptr ? parse_integer(value) : std::nullopt;
    if (number && *number > 0 && *number <= UINT32_MAX) return static_cast<std::uint32_t>(*number);
  }
  return std::nullopt;
}

}  // namespace millrace
