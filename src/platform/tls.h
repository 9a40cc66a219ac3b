// src/platform/tls.h - the encrypted session between daemons: TLS 1.3 under a key both sides already share, no
// certificates.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "platform/framed_link.h"

namespace millrace {

constexpr std::size_t node_key_size = 32;

// The key of the node with this name, or nothing when no such node is known.
using NodeKeyOf = std::function<std::optional<std::string>(std::string_view identity)>;

// The side that is connected to. Filters may outlive it.
class TlsServer {
 public:
  explicit TlsServer(NodeKeyOf key_of);
  ~TlsServer();
  std::unique_ptr<StreamFilter> accept();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// The side that connects, as `identity`, with a key of node_key_size bytes.
std::unique_ptr<StreamFilter> tls_client(std::string identity, std::string key);

}  // namespace millrace
