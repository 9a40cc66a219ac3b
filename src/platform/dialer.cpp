// src/platform/dialer.cpp - see dialer.h.
#include "platform/dialer.h"

#include <utility>

#include "platform/event_loop.h"
#include "platform/tls.h"

namespace millrace {

TlsDialer::TlsDialer(EventLoop& loop, Worker& resolver, std::string host, std::uint16_t port, std::string identity,
                     std::string key, LinkLimits limits)
    : loop_(loop),
      resolver_(resolver),
      host_(std::move(host)),
      port_(port),
      identity_(std::move(identity)),
      key_(std::move(key)),
      limits_(limits) {}

std::unique_ptr<Link> TlsDialer::dial(LinkHandler& handler) {
  auto link =
      std::make_unique<FramedLink>(loop_, host_ + ":" + std::to_string(port_), limits_, tls_client(identity_, key_));
  link->start(handler);
  link->connect(resolver_, host_, port_);
  return link;
}

UnixDialer::UnixDialer(EventLoop& loop, std::string path, LinkLimits limits)
    : loop_(loop), path_(std::move(path)), limits_(limits) {}

std::unique_ptr<Link> UnixDialer::dial(LinkHandler& handler) {
  auto link = std::make_unique<FramedLink>(loop_, path_, limits_, nullptr);
  link->start(handler);
  if (auto address = unix_address(path_))
    link->connect({*address});
  else
    link->fail_later(address.error().story);
  return link;
}

}  // namespace millrace
