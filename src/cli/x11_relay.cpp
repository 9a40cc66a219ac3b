// src/cli/x11_relay.cpp - see x11_relay.h.
#include "cli/x11_relay.h"

#include <fcntl.h>
#include <netdb.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/constant_time.h"
#include "base/text.h"

extern char** environ;

namespace millrace {
namespace {

constexpr std::string_view cookie_kind = "MIT-MAGIC-COOKIE-1";
constexpr std::size_t greeting_max = 12 + 2 * 256;  // its lengths have 16 bits; nobody's names are that long
constexpr std::size_t connections_max = 1024;

int connect_to(const X11Display& display) {
  if (display.host.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/tmp/.X11-unix/X" + std::to_string(display.number);
    if (path.size() >= sizeof address.sun_path) return -1;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(display.host.c_str(), std::to_string(6000 + display.number).c_str(), &hints, &found) != 0) return -1;
  int fd = -1;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{5, 0};
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (fd < 0 || ::connect(fd, one->ai_addr, one->ai_addrlen) == 0) continue;
    close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

Result<std::string> output_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::io, std::strerror(errno));
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int problem = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  char buffer[4096];
  ssize_t got = 0;
  while (problem == 0 && ((got = read(ends[0], buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)))
    if (got > 0) out.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  if (problem != 0) return fail(Errc::not_found, std::strerror(problem));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return out;
}

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

}  // namespace

Result<X11Display> parse_display(std::string_view text) {
  const auto wrong = [&] { return fail(Errc::refused, "unable to parse DISPLAY value: " + std::string{text}); };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  X11Display out;
  out.host = text.substr(0, colon);
  if (out.host == "unix") out.host.clear();
  const std::string_view rest = text.substr(colon + 1);
  const std::size_t dot = rest.find('.');
  const auto number = parse_integer(rest.substr(0, dot));
  const auto screen =
      dot == std::string_view::npos ? std::optional<std::int64_t>{0} : parse_integer(rest.substr(dot + 1));
  if (!number || *number < 0 || *number > 59000 || !screen || *screen < 0 || *screen > 255) return wrong();
  out.number = static_cast<std::uint32_t>(*number);
  out.screen = static_cast<std::uint32_t>(*screen);
  return out;
}

std::string cookie_of_listing(std::string_view lines) {
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t kind = line.find(cookie_kind);
    if (kind == std::string_view::npos) continue;
    const std::string_view hex = trim(line.substr(kind + cookie_kind.size()));
    std::string out;
    bool good = !hex.empty() && hex.size() % 2 == 0;
    for (std::size_t i = 0; good && i < hex.size(); i += 2) {
      const int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
      good = high >= 0 && low >= 0;
      out += static_cast<char>(high * 16 + low);
    }
    if (good) return out;
  }
  return {};
}

Result<X11Display> find_display() {
  const char* text = std::getenv("DISPLAY");
  if (text == nullptr || *text == '\0')
    return fail(Errc::refused, "No DISPLAY variable set, cannot setup x11 forwarding.");
  MR_TRY(X11Display display, parse_display(text));
  std::string name = text;
  if (const std::size_t dot = name.find('.', name.rfind(':')); dot != std::string::npos)
    name.resize(dot);  // xauth knows displays, not screens
  const auto listing = output_of({"xauth", "list", name});
  if (!listing) return fail(Errc::refused, "--x11 needs the program xauth on this host: " + listing.error().story);
  display.cookie = cookie_of_listing(*listing);
  if (display.cookie.empty())
    return fail(Errc::refused, "Could not retrieve magic cookie. Cannot use X11 forwarding. (`xauth list " + name +
                                   "` should show one)");
  return display;
}

// Byte order, version, two lengths, and what they measure: the kind of cookie and the cookie, each padded to four
// bytes.
X11Greeting::Verdict X11Greeting::take(std::string_view data, std::string_view expected, std::string_view real) {
  bytes_ += data;
  if (bytes_.size() < 12) return Verdict::wants_more;
  const bool big = bytes_[0] == 'B';
  if (!big && bytes_[0] != 'l') return Verdict::bad;
  const auto number = [&](std::size_t at) {
    const auto a = static_cast<unsigned char>(bytes_[at]), b = static_cast<unsigned char>(bytes_[at + 1]);
    return static_cast<std::size_t>(big ? a << 8 | b : b << 8 | a);
  };
  const std::size_t kind = number(6), cookie = number(8);
  const std::size_t cookie_at = 12 + padded(kind), end = cookie_at + padded(cookie);
  if (end > greeting_max) return Verdict::bad;
  if (bytes_.size() < end) return Verdict::wants_more;
  if (std::string_view{bytes_}.substr(12, kind) != cookie_kind || expected.empty() ||
      !equal_in_constant_time(std::string_view{bytes_}.substr(cookie_at, cookie), expected))
    return Verdict::bad;
  std::string replaced{real};
  replaced.resize(padded(real.size()), '\0');
  bytes_.replace(cookie_at, end - cookie_at, replaced);
  bytes_[big ? 9 : 8] = static_cast<char>(real.size() & 0xff);
  bytes_[big ? 8 : 9] = static_cast<char>(real.size() >> 8);
  return Verdict::good;
}

X11Relay::~X11Relay() {
  for (auto& [key, connection] : connections_)
    if (connection.fd >= 0) close(connection.fd);
}

void X11Relay::end(const Key& key, bool tell) {
  const auto it = connections_.find(key);
  if (it == connections_.end()) return;
  if (it->second.fd >= 0) close(it->second.fd);
  connections_.erase(it);
  if (!tell) return;
  Outgoing& out = outgoing_.emplace_back();
  out.node = key.first;
  out.piece.set_connection(key.second);
  out.piece.set_ended(true);
}

void X11Relay::take(std::uint32_t node, const wire::X11Piece& piece) {
  if (!piece.cookie().empty()) {
    cookies_.try_emplace(node, piece.cookie());
    return;
  }
  const Key key{node, piece.connection()};
  if (!connections_.contains(key) && connections_.size() >= connections_max) return end(key, true);
  Connection& connection = connections_[key];
  if (!connection.greeted) {
    switch (connection.greeting.take(piece.data(), cookies_[node], display_.cookie)) {
      case X11Greeting::Verdict::bad:
        return end(key, true);
      case X11Greeting::Verdict::wants_more:
        if (piece.ended()) end(key, false);
        return;
      case X11Greeting::Verdict::good:
        connection.greeted = true;
        connection.unsent = connection.greeting.bytes();
        connection.fd = connect_to(display_);
        if (connection.fd < 0) return end(key, true);
        fcntl(connection.fd, F_SETFL, fcntl(connection.fd, F_GETFL) | O_NONBLOCK);
    }
  } else {
    connection.unsent += piece.data();
  }
  connection.ended = connection.ended || piece.ended();
  flush(connection);
  if (connection.ended && connection.unsent.empty()) end(key, false);
}

void X11Relay::flush(Connection& connection) {
  while (!connection.unsent.empty()) {
    const ssize_t sent = send(connection.fd, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return connection.unsent.clear();  // reading says that it is gone
    connection.unsent.erase(0, static_cast<std::size_t>(sent));
  }
}

void X11Relay::drop_node(std::uint32_t node) {
  for (auto it = connections_.lower_bound({node, 0}); it != connections_.end() && it->first.first == node;
       it = connections_.lower_bound({node, 0}))
    end(it->first, false);
  cookies_.erase(node);
}

void X11Relay::add_to(std::vector<pollfd>& entries, bool may_read) const {
  for (const auto& [key, connection] : connections_) {
    if (connection.fd < 0) continue;
    short events = may_read ? POLLIN : 0;
    if (!connection.unsent.empty()) events |= POLLOUT;
    entries.push_back({connection.fd, events, 0});
  }
}

void X11Relay::handle(const std::vector<pollfd>& entries) {
  for (const pollfd& entry : entries) {
    if (entry.revents == 0 || entry.fd < 0) continue;
    for (auto& [key, connection] : connections_) {
      if (connection.fd != entry.fd) continue;
      if ((entry.revents & POLLOUT) != 0) flush(connection);
      bool gone = connection.ended && connection.unsent.empty();
      if (!gone && (entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        char buffer[65536];
        const ssize_t got = read(connection.fd, buffer, sizeof buffer);
        gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
        if (got > 0) {
          Outgoing& out = outgoing_.emplace_back();
          out.node = key.first;
          out.piece.set_connection(key.second);
          out.piece.set_data(buffer, static_cast<std::size_t>(got));
        }
      }
      if (gone) end(Key{key}, !connection.ended);
      break;
    }
  }
}

}  // namespace millrace
