// src/platform/dialer.h - opens links: over TLS to the controller, plain to a socket of this host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/framed_link.h"
#include "ports/loop.h"
#include "ports/transport.h"

namespace millrace {

class EventLoop;

// As node `identity` with its key. The host is looked up on `resolver` at each dial, because addresses change.
class TlsDialer final : public Dialer {
 public:
  TlsDialer(EventLoop& loop, Worker& resolver, std::string host, std::uint16_t port, std::string identity,
            std::string key, LinkLimits limits = {});
  std::unique_ptr<Link> dial(LinkHandler& handler) override;

 private:
  EventLoop& loop_;
  Worker& resolver_;
  const std::string host_;
  const std::uint16_t port_;
  const std::string identity_, key_;
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
