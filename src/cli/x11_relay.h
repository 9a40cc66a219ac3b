// src/cli/x11_relay.h - srun's side of --x11: connections that programs opened on their nodes, each to the display of
// this host.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task.pb.h"

namespace millrace {

struct X11Display {
  std::string host;  // empty: a socket of this host
  std::uint32_t number = 0;
  std::uint32_t screen = 0;
  std::string cookie;
};

Result<X11Display> parse_display(std::string_view text);  // ":0", "localhost:10.0", "unix:1"
// The first cookie of `xauth list`, "host/unix:0  MIT-MAGIC-COOKIE-1  0123..."; empty where there is none.
std::string cookie_of_listing(std::string_view lines);
// What DISPLAY names, with the cookie that xauth knows for it.
Result<X11Display> find_display();

// The first message of a program has the cookie of its node in it; the display gets its own instead. Until all of it
// has come, nothing is passed on.
class X11Greeting {
 public:
  enum class Verdict { wants_more, good, bad };
  Verdict take(std::string_view data, std::string_view expected, std::string_view real);
  const std::string& bytes() const { return bytes_; }  // once good

 private:
  std::string bytes_;
};

class X11Relay {
 public:
  explicit X11Relay(X11Display display) : display_(std::move(display)) {}
  X11Relay(const X11Relay&) = delete;
  X11Relay& operator=(const X11Relay&) = delete;
  ~X11Relay();

  struct Outgoing {
    std::uint32_t node = 0;
    wire::X11Piece piece;
  };
  void take(std::uint32_t node, const wire::X11Piece& piece);
  void drop_node(std::uint32_t node);
  void add_to(std::vector<pollfd>& entries, bool may_read) const;
  void handle(const std::vector<pollfd>& entries);
  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // node, connection there
  struct Connection {
    int fd = -1;
    X11Greeting greeting{};
    bool greeted = false;
    std::string unsent;
    bool ended = false;
  };
  void end(const Key& key, bool tell);
  void flush(Connection& connection);

  X11Display display_;
  std::map<std::uint32_t, std::string> cookies_;  // by node
  std::map<Key, Connection> connections_;
  std::vector<Outgoing> outgoing_;
};

}  // namespace millrace
