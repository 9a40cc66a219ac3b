// src/platform/listener.h - waits for connections, gives each a link, and holds the limits on how many there may be.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "platform/framed_link.h"
#include "platform/tls.h"

namespace millrace {

class EventLoop;

class Listener final {
 public:
  // The new owner calls link->start(handler), or destroys it. Over TLS the peer's identity is proved by then.
  using Accepted = std::move_only_function<void(std::unique_ptr<FramedLink>)>;

  struct Settings {
    LinkLimits limits;
    std::size_t connections_max = 4096;           // above it new ones wait in the kernel's queue
    std::size_t connections_per_user_max = 1024;  // above it new ones are dropped; unix sockets only, not for root
    // Hears of peers that were turned away before anybody owned them (wrong key, garbage, too many), for the log.
    std::function<void(std::string_view story)> refused = [](std::string_view) {};
  };

  static Result<std::unique_ptr<Listener>> on_unix(EventLoop& loop, const std::string& path, mode_t mode,
                                                   Settings settings, Accepted accepted);
  // Port 0 takes any free one; an empty host is every interface.
  static Result<std::unique_ptr<Listener>> on_tcp(EventLoop& loop, const std::string& host, std::uint16_t port,
                                                  Settings settings, Accepted accepted);
  static Result<std::unique_ptr<Listener>> on_tls(EventLoop& loop, const std::string& host, std::uint16_t port,
                                                  NodeKeyOf key_of, Settings settings, Accepted accepted);
  ~Listener();
  std::uint16_t port() const;       // TCP only
  std::size_t connections() const;  // open now

 private:
  struct Inner;
  explicit Listener(std::shared_ptr<Inner> inner);
  std::shared_ptr<Inner> inner_;
};

}  // namespace millrace
