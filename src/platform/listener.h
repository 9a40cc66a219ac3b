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
    std::size_t connections_max = 4096;  // of TCP, above it new ones wait in the kernel's queue
    // Over TLS those who have not proved themselves have places of their own, of which one host (one network of IPv6)
    // takes only a part. A newcomer gets the place of the oldest: a handshake takes milliseconds, and who holds a place
    // for longer only holds it.
    std::size_t handshakes_max = 1024;
    std::size_t handshakes_per_host_max = 256;
    // These are for unix sockets, where the kernel says whose a connection is. No user has more connections than are
    // still free, and likewise of bytes, so that however many users are greedy there is something left for the next.
    std::size_t connections_per_user_max = 1024;
    std::size_t connections_reserved = 128;  // of connections_max, for the privileged alone
    std::size_t bytes_max = 1024u << 20;     // read and not a whole message yet, or not taken by the peer yet
    std::size_t bytes_per_user_max = 256u << 20;
    // Who keeps the cluster running: neither limits of users nor the sum over users hold for them.
    std::function<bool(std::uint32_t uid)> is_privileged = [](std::uint32_t uid) { return uid == 0; };
    // The message that tells a peer why it is turned away; empty: it is not told.
    std::function<std::string(const std::string& why)> refusal = [](const std::string&) { return std::string{}; };
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
