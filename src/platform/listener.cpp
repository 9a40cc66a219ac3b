// src/platform/listener.cpp - see listener.h.
#include "platform/listener.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "platform/event_loop.h"

namespace millrace {

namespace {

constexpr int accepts_per_turn = 64;
constexpr int handshakes_per_turn = 16;      // accepted; those that have begun go on in between
constexpr std::size_t few_connections = 16;  // everybody may have so many, while there are any
constexpr std::size_t few_bytes = 1u << 20;
constexpr Duration breath = milliseconds(100);  // when the process is out of descriptors

// Of "10.0.0.1:6817" the address, of "[2001:db8::1]:6817" the network, in which a host may choose any address.
std::string source_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  in6_addr parsed{};
  if (!host.starts_with('[') || ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &parsed) != 1)
    return host;
  constexpr std::size_t network_bytes = 8;
  return {reinterpret_cast<const char*>(parsed.s6_addr), network_bytes};
}

}  // namespace

struct Listener::Inner : std::enable_shared_from_this<Inner> {
  // A connection whose handshake is not done; nobody but us owns it yet.
  struct Pending final : LinkHandler {
    Pending(Inner& i, std::uint64_t n, const Peer& peer)
        : inner(i), number(n), address(peer.address), source(source_of(peer.address)) {}
    void message(std::string_view) override {}
    void closed(std::string_view why) override { inner.turned_away(number, why); }
    Inner& inner;
    const std::uint64_t number;
    const std::string address, source;
    std::unique_ptr<FramedLink> link;
  };

  Inner(EventLoop& l, Descriptor s, Settings x, Accepted a)
      : loop(l), settings(std::move(x)), accepted(std::move(a)), socket(std::move(s)) {}

  EventLoop& loop;
  Settings settings;
  Accepted accepted;
  std::optional<TlsServer> tls;
  std::string path;  // of a unix socket, with the file it was when we made it
  struct stat file{};
  std::uint16_t port = 0;
  struct Held {
    std::size_t connections = 0, bytes = 0;
  };
  std::size_t open = 0;
  Held of_users;  // all that are not privileged
  std::map<std::uint32_t, Held> of_user;
  bool paused = false, stopped = false;
  std::uint64_t last_number = 0;
  std::map<std::uint64_t, std::unique_ptr<Pending>> pending;  // in the order they came
  std::map<std::string, std::set<std::uint64_t>> pending_of;  // by source
  Descriptor socket;
  std::optional<DescriptorWatch> watch;

  void begin() {
    watch.emplace(loop, socket.get(), [this] { readable(); });
    watch->want_readable();
  }

  void stop() {
    stopped = true;
    pending.clear();
    pending_of.clear();
    watch.reset();
    socket.reset();
    if (path.empty()) return;
    // Only our own: a successor may have put its socket there already.
    struct stat now{};
    if (::lstat(path.c_str(), &now) == 0 && now.st_ino == file.st_ino && now.st_dev == file.st_dev)
      ::unlink(path.c_str());
  }

  void readable() {
    const auto self = shared_from_this();
    for (int turn = 0; turn < (tls ? handshakes_per_turn : accepts_per_turn); ++turn) {
      if (path.empty() && open - pending.size() >= settings.connections_max) {
        paused = true;  // a link that goes wakes us
        return;
      }
      auto next = accept_one(socket);
      if (!next) {
        settings.refused(next.error().story);
        loop.after(breath, [weak = weak_from_this()] {
          if (const auto inner = weak.lock(); inner && inner->watch) inner->watch->want_readable();
        });
        return;
      }
      if (!*next) break;
      take(std::move((*next)->first), std::move((*next)->second));
      if (stopped) return;
    }
    watch->want_readable();
  }

  // A connection's part of the limits. Its end is the end of the connection, whoever owns the link then and whether we
  // still exist or not.
  struct Place final : LinkPlace {
    Place(std::weak_ptr<Inner> i, std::optional<std::uint32_t> u) : inner(std::move(i)), user(u) {}
    ~Place() override {
      if (const auto listener = inner.lock()) listener->freed(*this);
    }
    bool holds(std::size_t now) override {
      const auto listener = inner.lock();
      return !listener || listener->hold(*this, now);
    }
    std::string last_word() override {
      const auto listener = inner.lock();
      return listener ? listener->settings.refusal("too many bytes of this user wait in the daemon; try again later")
                      : std::string{};
    }
    std::weak_ptr<Inner> inner;
    std::optional<std::uint32_t> user;  // not set: privileged, or unknown
    std::size_t bytes = 0;
  };

  void take(Descriptor connection, Peer peer) {
    std::optional<std::uint32_t> user;
    if (peer.credentials && !settings.is_privileged(peer.credentials->uid)) user = peer.credentials->uid;
    if (const std::string why = peer.credentials ? too_many(user) : std::string{}; !why.empty()) {
      if (const std::string word = settings.refusal(why); !word.empty()) {
        const std::string bytes = frame(word);
        (void)::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
      return settings.refused(peer.address + ": " + why);
    }
    if (tls) make_place(source_of(peer.address));
    auto filter = tls ? tls->accept() : nullptr;
    ++open;
    if (user) {
      ++of_user[*user].connections;
      ++of_users.connections;
    }
    auto link = std::make_unique<FramedLink>(loop, std::move(connection), std::move(peer), settings.limits,
                                             std::move(filter), std::make_shared<Place>(weak_from_this(), user));
    if (!tls) return accepted(std::move(link));
    const std::uint64_t number = ++last_number;
    auto& waiting = *(pending[number] = std::make_unique<Pending>(*this, number, link->peer()));
    pending_of[waiting.source].insert(number);
    waiting.link = std::move(link);
    waiting.link->start(waiting, [this, number] { hand_over(number); });
  }

  // For another handshake, by ending one that has not come to its end.
  void make_place(const std::string& source) {
    const auto same = pending_of.find(source);
    std::uint64_t oldest = 0;
    if (same != pending_of.end() && same->second.size() >= settings.handshakes_per_host_max)
      oldest = *same->second.begin();
    else if (pending.size() >= settings.handshakes_max)
      oldest = pending.begin()->first;
    if (oldest == 0) return;
    const auto gone = forget_pending(oldest);
    settings.refused(gone->address + ": its handshake was not done when others came");
  }

  std::unique_ptr<Pending> forget_pending(std::uint64_t number) {
    const auto found = pending.extract(number);
    auto gone = std::move(found.mapped());
    const auto same = pending_of.find(gone->source);
    same->second.erase(number);
    if (same->second.empty()) pending_of.erase(same);
    return gone;
  }

  // Why there is no place for another connection; empty: there is one.
  std::string too_many(std::optional<std::uint32_t> user) const {
    if (!user) return open >= settings.connections_max ? "too many connections in all; try again later" : "";
    const std::size_t places = settings.connections_max - settings.connections_reserved;
    if (of_users.connections >= places) return "too many connections in all; try again later";
    const auto it = of_user.find(*user);
    const std::size_t own = it == of_user.end() ? 0 : it->second.connections;
    const std::size_t most =
        std::min(settings.connections_per_user_max, std::max(places - of_users.connections, few_connections));
    if (own < most) return {};
    return "too many connections of this user (" + std::to_string(own) + "); close some or wait";
  }

  bool hold(Place& place, std::size_t now) {
    if (!place.user) return true;
    Held& own = of_user[*place.user];
    const bool more = now > place.bytes;
    own.bytes += now - place.bytes;  // wraps and comes right where it is less
    of_users.bytes += now - place.bytes;
    place.bytes = now;
    if (!more || own.bytes <= few_bytes) return true;
    const std::size_t left = settings.bytes_max - std::min(settings.bytes_max, of_users.bytes);
    return own.bytes <= std::min(settings.bytes_per_user_max, left);
  }

  void freed(Place& place) {
    (void)hold(place, 0);
    --open;
    if (place.user) {
      --of_users.connections;
      if (--of_user[*place.user].connections == 0) of_user.erase(*place.user);
    }
    if (std::exchange(paused, false) && watch) watch->want_readable();
  }

  void hand_over(std::uint64_t number) {
    const auto self = shared_from_this();
    const auto waiting = forget_pending(number);
    accepted(std::move(waiting->link));
  }

  void turned_away(std::uint64_t number, std::string_view why) {
    const auto self = shared_from_this();
    const auto waiting = forget_pending(number);
    settings.refused(why);
  }

  // The first address that can be listened on. Every interface means IPv6 and IPv4 through one socket where there is
  // IPv6.
  static Result<Descriptor> bind_tcp(const std::string& host, std::uint16_t port) {
    if (host.empty())
      if (auto both = listen_tcp(parse_address("::", port).at(0)); both) return both;
    MR_TRY(const auto addresses, resolve(host.empty() ? "0.0.0.0" : host, port));
    Result<Descriptor> outcome = fail(Errc::not_found, "listen on '" + host + "': no address");
    for (const SocketAddress& address : addresses) {
      outcome = listen_tcp(address);
      if (outcome) break;
    }
    return outcome;
  }
};

Listener::Listener(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) { inner_->begin(); }

Listener::~Listener() { inner_->stop(); }

Result<std::unique_ptr<Listener>> Listener::on_unix(EventLoop& loop, const std::string& path, mode_t mode,
                                                    Settings settings, Accepted accepted) {
  MR_TRY(Descriptor socket, listen_unix(path, mode));
  auto inner = std::make_shared<Inner>(loop, std::move(socket), std::move(settings), std::move(accepted));
  inner->path = path;
  if (::lstat(path.c_str(), &inner->file) != 0) return fail_errno(Errc::io, "listen on " + path);
  return std::unique_ptr<Listener>(new Listener(std::move(inner)));
}

Result<std::unique_ptr<Listener>> Listener::on_tcp(EventLoop& loop, const std::string& host, std::uint16_t port,
                                                   Settings settings, Accepted accepted) {
  MR_TRY(Descriptor socket, Inner::bind_tcp(host, port));
  MR_TRY(const std::uint16_t bound, local_port(socket));
  auto inner = std::make_shared<Inner>(loop, std::move(socket), std::move(settings), std::move(accepted));
  inner->port = bound;
  return std::unique_ptr<Listener>(new Listener(std::move(inner)));
}

Result<std::unique_ptr<Listener>> Listener::on_tls(EventLoop& loop, const std::string& host, std::uint16_t port,
                                                   NodeKeyOf key_of, Settings settings, Accepted accepted) {
  MR_TRY(auto listener, on_tcp(loop, host, port, std::move(settings), std::move(accepted)));
  listener->inner_->tls.emplace(std::move(key_of));
  return listener;
}

std::uint16_t Listener::port() const { return inner_->port; }

std::size_t Listener::connections() const { return inner_->open; }

}  // namespace millrace
