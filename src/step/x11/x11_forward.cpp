// src/step/x11/x11_forward.cpp - see x11_forward.h.
#include "step/x11/x11_forward.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace millrace {
namespace {

constexpr std::uint32_t display_first = 50, display_last = 999;  // below are people's own, and ssh's
constexpr std::uint32_t tcp_of_display = 6000;
constexpr std::size_t connections_max = 256;
constexpr std::size_t unsent_max = 16u << 20;      // of a program that does not read what its display says
constexpr std::size_t unsent_sum_max = 64u << 20;  // of all of them

// -1 and errno: the number is not to be had there.
int listen_on(const sockaddr* address, socklen_t size) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  const bool alone = address->sa_family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) == 0;
  if (alone && bind(fd, address, size) == 0 && listen(fd, 64) == 0) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

// "localhost" is 127.0.0.1 to one library and ::1 to another. Who listens on either is told the cookie, so a number is
// ours on both or not at all; where there is no ::1, nobody listens on it.
std::vector<int> listen_on_loopback(std::uint32_t display) {
  const in_port_t port = htons(static_cast<std::uint16_t>(tcp_of_display + display));
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = port;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int first = listen_on(reinterpret_cast<const sockaddr*>(&four), sizeof four);
  if (first < 0) return {};
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = port;
  six.sin6_addr = in6addr_loopback;
  const int second = listen_on(reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (second >= 0) return {first, second};
  if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) return {first};
  close(first);
  return {};
}

void put(std::string& out, std::string_view field) {
  out += static_cast<char>(field.size() >> 8);
  out += static_cast<char>(field.size() & 0xff);
  out += field;
}

}  // namespace

std::string xauthority_entry(std::uint32_t display, const std::string& cookie) {
  std::string out = "\xff\xff";  // any address: "localhost" is this host's name to one library and 127.0.0.1 to another
  put(out, "");
  put(out, std::to_string(display));
  put(out, "MIT-MAGIC-COOKIE-1");
  put(out, cookie);
  return out;
}

X11Forward::~X11Forward() { close(); }

void X11Forward::close() {
  for (auto& [number, connection] : connections_)
    if (connection.fd >= 0) ::close(connection.fd);
  connections_.clear();
  for (const int fd : listeners_) ::close(fd);
  listeners_.clear();
}

Result<void> X11Forward::open(std::uint32_t screen) {
  cookie_.resize(16);
  if (getrandom(cookie_.data(), cookie_.size(), 0) != static_cast<ssize_t>(cookie_.size()))
    return fail(Errc::io, std::string{"make a cookie: "} + std::strerror(errno));
  number_ = display_first;
  while (number_ <= display_last && (listeners_ = listen_on_loopback(number_)).empty()) ++number_;
  if (listeners_.empty()) return fail(Errc::unavailable, "no display of 50 to 999 is free on this node");
  display_ = "localhost:" + std::to_string(number_) + "." + std::to_string(screen);
  return {};
}

wire::X11Piece X11Forward::greeting() const {
  wire::X11Piece piece;
  piece.set_cookie(cookie_);
  return piece;
}

void X11Forward::add_polls(std::vector<pollfd>& polls, bool may_read) const {
  for (const int fd : listeners_) polls.push_back({fd, POLLIN, 0});
  for (const auto& [number, connection] : connections_) {
    short events = may_read ? POLLIN : 0;
    if (!connection.unsent.empty()) events |= POLLOUT;
    polls.push_back({connection.fd, events, 0});
  }
}

void X11Forward::accept_all(int listener) {
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (connections_.size() >= connections_max)
      ::close(fd);
    else
      connections_[next_++].fd = fd;
  }
}

bool X11Forward::handle(const pollfd& ready, std::vector<wire::X11Piece>& out) {
  if (std::ranges::find(listeners_, ready.fd) != listeners_.end()) {
    accept_all(ready.fd);
    return true;
  }
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    auto& [number, connection] = *it;
    if (connection.fd != ready.fd) continue;
    if ((ready.revents & POLLOUT) != 0) flush(connection);
    bool gone = connection.ended && connection.unsent.empty();
    if (!gone && (ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      char buffer[65536];
      const ssize_t got = read(connection.fd, buffer, sizeof buffer);
      gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
      if (got > 0 && !connection.ended) {
        wire::X11Piece& piece = out.emplace_back();
        piece.set_connection(number);
        piece.set_data(buffer, static_cast<std::size_t>(got));
      }
    }
    if (!gone) return true;
    if (!connection.ended) {
      wire::X11Piece& piece = out.emplace_back();
      piece.set_connection(number);
      piece.set_ended(true);
    }
    ::close(connection.fd);
    connections_.erase(it);
    return true;
  }
  return false;
}

void X11Forward::flush(Connection& connection) {
  std::string& unsent = connection.unsent;
  while (!unsent.empty()) {
    const ssize_t sent = send(connection.fd, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) unsent.clear();  // reading says that it is gone
    if (sent > 0) unsent.erase(0, static_cast<std::size_t>(sent));
  }
  constexpr std::size_t kept = 64u << 10;  // what has been sent takes no memory
  if (unsent.capacity() > kept && unsent.size() < unsent.capacity() / 4) unsent.shrink_to_fit();
}

void X11Forward::take(const wire::X11Piece& piece) {
  const auto it = connections_.find(piece.connection());
  if (it == connections_.end()) return;  // ended meanwhile
  it->second.unsent += piece.data();
  it->second.ended = it->second.ended || piece.ended();
  flush(it->second);
  const std::size_t unsent = it->second.unsent.size();
  std::size_t sum = 0;
  if (unsent > 0)
    for (const auto& [number, connection] : connections_) sum += connection.unsent.size();
  if (unsent <= unsent_max && sum <= unsent_sum_max && (!it->second.ended || unsent > 0)) return;
  ::close(it->second.fd);
  connections_.erase(it);
}

}  // namespace millrace
