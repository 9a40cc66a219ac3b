// src/platform/dialer.cpp - see dialer.h.
#include "platform/dialer.h"

#include <utility>

#include "platform/event_loop.h"
#include "platform/tls.h"

namespace millrace {

TlsDialer::TlsDialer(EventLoop& loop, Worker& resolver, std::string host, std::uint16_t port, std::string node,
                     MakeFace face, LinkLimits limits)
    : loop_(loop),
      resolver_(resolver),
      host_(std::move(host)),
      port_(port),
      node_(std::move(node)),
      face_(std::move(face)),
      limits_(limits) {}

std::unique_ptr<Link> TlsDialer::dial(LinkHandler& handler) {
  const std::string address = host_ + ":" + std::to_string(port_);
  auto face = face_();
  if (!face) {
    auto link = std::make_unique<FramedLink>(loop_, address, limits_, nullptr);
    link->start(handler);
    link->fail_later(face.error().story);
    return link;
  }
  auto link = std::make_unique<FramedLink>(loop_, address, limits_,
                                           tls_client(std::move(face->identity), std::move(face->key), node_));
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
