// src/platform/socket.h - non-blocking stream sockets: names to addresses, listening, connecting, who is at the other
// end.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/descriptor.h"

namespace millrace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  std::string text() const;  // 10.0.0.1:6817, [fe80::1]:6817, or the path of a unix socket
};

// What the kernel says about the process that connected to a unix socket.
struct PeerCredentials {
  std::uint32_t uid = 0, gid = 0;
  std::int32_t pid = 0;
};

struct Peer {
  std::string address;                         // for stories
  std::optional<PeerCredentials> credentials;  // unix sockets only
  std::string identity;                        // TLS only: the node whose key the peer proved to hold
};

Result<SocketAddress> unix_address(const std::string& path);
// Blocks in the name service unless `host` is a numeric address. An empty host is every interface.
Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);
// The same without asking anybody: empty when `host` is a name.
std::vector<SocketAddress> parse_address(const std::string& host, std::uint16_t port);

Result<Descriptor> listen_tcp(const SocketAddress& address);
// Takes over a path that nobody answers on any more; refuses when somebody does, or when it is not a socket.
Result<Descriptor> listen_unix(const std::string& path, mode_t mode);
Result<std::uint16_t> local_port(const Descriptor& socket);

// Starts connecting; the outcome is there once the socket is writable (connect_outcome).
Result<Descriptor> connect_begin(const SocketAddress& address);
int connect_outcome(const Descriptor& socket);  // errno, 0 for success

// The next waiting connection; nothing when there is none. `unavailable` when we are out of descriptors.
Result<std::optional<std::pair<Descriptor, Peer>>> accept_one(const Descriptor& listener);

}  // namespace millrace
