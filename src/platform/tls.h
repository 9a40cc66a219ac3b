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

// Who connects and the key it must hold.
struct NodeProof {
  std::string node;
  std::string key;
};

// Of what a peer says it is: a node's name, or a credential that holds one. Nothing: it is not known here.
using NodeKeyOf = std::function<std::optional<NodeProof>(std::string_view identity)>;

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

// The side that connects, as `identity`, with a key of node_key_size bytes. `node` is for messages: a credential is not
// shown.
std::unique_ptr<StreamFilter> tls_client(std::string identity, std::string key, std::string node = {});

}  // namespace millrace
