// src/platform/dialer.h - opens links: over TLS to the controller, plain to a socket of this host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "platform/framed_link.h"
#include "ports/loop.h"
#include "ports/transport.h"

namespace millrace {

class EventLoop;

// What a node shows the controller: its name, or a credential that is good once, and the key that goes with it.
struct NodeFace {
  std::string identity;
  std::string key;
};

// As `node`, with a face made for each dial. The host is looked up on `resolver` at each dial, because addresses
// change.
class TlsDialer final : public Dialer {
 public:
  using MakeFace = std::function<Result<NodeFace>()>;
  TlsDialer(EventLoop& loop, Worker& resolver, std::string host, std::uint16_t port, std::string node, MakeFace face,
            LinkLimits limits = {});
  std::unique_ptr<Link> dial(LinkHandler& handler) override;

 private:
  EventLoop& loop_;
  Worker& resolver_;
  const std::string host_;
  const std::uint16_t port_;
  const std::string node_;
  const MakeFace face_;
  const LinkLimits limits_;
};

class UnixDialer final : public Dialer {
 public:
  UnixDialer(EventLoop& loop, std::string path, LinkLimits limits = {});
  std::unique_ptr<Link> dial(LinkHandler& handler) override;

 private:
  EventLoop& loop_;
  const std::string path_;
  const LinkLimits limits_;
};

}  // namespace millrace
