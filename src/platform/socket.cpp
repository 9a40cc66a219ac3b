// src/platform/socket.cpp - see socket.h.
#include "platform/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace millrace {

namespace {

constexpr int stream_flags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

const sockaddr* generic(const SocketAddress& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

void set_option(int socket, int level, int option, int value) {
  // An option that does not take costs speed, never truth.
  ::setsockopt(socket, level, option, &value, sizeof value);
}

void tune_tcp(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // A node that lost power says nothing: without probes its link would look alive for hours.
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

Result<std::vector<SocketAddress>> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int problem =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (problem != 0)
    return fail(problem == EAI_AGAIN ? Errc::unavailable : Errc::not_found,
                "address of '" + host + "': " + ::gai_strerror(problem));
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

// Whether somebody accepts connections at this path now.
bool answers(const SocketAddress& address) {
  const Descriptor probe{::socket(AF_UNIX, stream_flags, 0)};
  if (!probe) return true;  // in doubt nothing is taken from anybody
  return ::connect(probe.get(), generic(address), address.length) == 0 || errno == EAGAIN;
}

// Held by one process at a time; the file goes with it. Who waited for it meanwhile has one that is gone, and asks
// anew.
class PathLock {
 public:
  static Result<PathLock> take(std::string path, const std::string& doing) {
    for (;;) {
      Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
      if (!file || ::flock(file.get(), LOCK_EX) != 0) return fail_errno(Errc::io, doing + ": " + path);
      struct stat now{};
      if (::fstat(file.get(), &now) != 0) return fail_errno(Errc::io, doing + ": " + path);
      if (now.st_nlink > 0) return PathLock(std::move(path), std::move(file));
    }
  }
  PathLock(PathLock&&) = default;
  ~PathLock() {
    if (file_) ::unlink(path_.c_str());
  }

 private:
  PathLock(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
};

}  // namespace

std::string SocketAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &in.sin_addr, buffer, sizeof buffer);
    return std::string{buffer} + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
    if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {  // IPv4 on a socket that takes both
      ::inet_ntop(AF_INET, &in.sin6_addr.s6_addr[12], buffer, sizeof buffer);
      return std::string{buffer} + ":" + std::to_string(ntohs(in.sin6_port));
    }
    ::inet_ntop(AF_INET6, &in.sin6_addr, buffer, sizeof buffer);
    return "[" + std::string{buffer} + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  return reinterpret_cast<const sockaddr_un&>(storage).sun_path;
}

Result<SocketAddress> unix_address(const std::string& path) {
  SocketAddress address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() >= sizeof un.sun_path)
    return fail(Errc::invalid,
                "socket " + path + ": a path of 1 to " + std::to_string(sizeof un.sun_path - 1) + " bytes is needed");
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.c_str(), path.size() + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
  return look_up(host, port, 0);
}

std::vector<SocketAddress> parse_address(const std::string& host, std::uint16_t port) {
  return look_up(host, port, AI_NUMERICHOST).value_or(std::vector<SocketAddress>{});
}

Result<Descriptor> listen_tcp(const SocketAddress& address) {
  const std::string doing = "listen on " + address.text();
  Descriptor socket{::socket(address.storage.ss_family, stream_flags, 0)};
  if (!socket) return fail_errno(Errc::io, doing);
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.storage.ss_family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), generic(address), address.length) != 0)
    return fail_errno(errno == EADDRINUSE ? Errc::refused : Errc::io, doing);
  if (::listen(socket.get(), 1024) != 0) return fail_errno(Errc::io, doing);
  return socket;
}

Result<Descriptor> listen_unix(const std::string& path, mode_t mode) {
  const std::string doing = "listen on " + path;
  MR_TRY(const SocketAddress address, unix_address(path));
  // Made under another name and renamed when ready: nobody ever meets it with the wrong mode or not yet listening.
  MR_TRY(const SocketAddress fresh, unix_address(path + ".new"));
  // Two that begin at the same moment would take each other's for what somebody has left behind.
  MR_TRY(const PathLock lock, PathLock::take(path + ".lock", doing));
  struct stat present{};
  if (::lstat(path.c_str(), &present) == 0) {
    if (!S_ISSOCK(present.st_mode)) return fail(Errc::refused, doing + ": a file that is no socket is in the way");
    if (answers(address)) return fail(Errc::refused, doing + ": another process listens there");
  }
  ::unlink(fresh.text().c_str());
  Descriptor socket{::socket(AF_UNIX, stream_flags, 0)};
  if (!socket || ::bind(socket.get(), generic(fresh), fresh.length) != 0) return fail_errno(Errc::io, doing);
  if (::chmod(fresh.text().c_str(), mode) != 0 || ::listen(socket.get(), 1024) != 0 ||
      ::rename(fresh.text().c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(fresh.text().c_str());
    return fail_errno(Errc::io, doing, error);
  }
  return socket;
}

Result<std::uint16_t> local_port(const Descriptor& socket) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0)
    return fail_errno(Errc::io, "own address of a socket");
  if (address.storage.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
}

Result<Descriptor> connect_begin(const SocketAddress& address) {
  Descriptor socket{::socket(address.storage.ss_family, stream_flags, 0)};
  if (!socket) return fail_errno(Errc::io, "connect to " + address.text());
  if (address.storage.ss_family != AF_UNIX) tune_tcp(socket.get());
  if (::connect(socket.get(), generic(address), address.length) != 0 && errno != EINPROGRESS && errno != EINTR)
    return fail_errno(Errc::unavailable, "connect to " + address.text());
  return socket;
}

int connect_outcome(const Descriptor& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

Result<std::optional<std::pair<Descriptor, Peer>>> accept_one(const Descriptor& listener) {
  SocketAddress address;
  Descriptor socket;
  do {
    address.length = sizeof address.storage;
    socket = Descriptor{::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC)};
    // ECONNABORTED and the network's errors belong to the connection that is gone, not to the listener.
  } while (!socket && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO));
  if (!socket) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<std::pair<Descriptor, Peer>>{};
    const bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return fail_errno(full ? Errc::unavailable : Errc::io, "accept a connection");
  }
  Peer peer;
  if (address.storage.ss_family == AF_UNIX) {
    ucred who{};
    socklen_t length = sizeof who;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
      return fail_errno(Errc::io, "credentials of a peer");
    peer.credentials = PeerCredentials{who.uid, who.gid, who.pid};
    peer.address = "process " + std::to_string(who.pid) + " of user id " + std::to_string(who.uid);
  } else {
    tune_tcp(socket.get());
    peer.address = address.text();
  }
  return std::pair{std::move(socket), std::move(peer)};
}

}  // namespace millrace
