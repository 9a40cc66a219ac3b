// src/platform/listener.cpp - see listener.h.
#include "platform/listener.h"

#include <sys/stat.h>

#include <map>
#include <optional>
#include <utility>

#include "platform/event_loop.h"

namespace millrace {

namespace {

constexpr int accepts_per_turn = 64;
constexpr Duration breath = milliseconds(100);  // when the process is out of descriptors

}  // namespace

struct Listener::Inner : std::enable_shared_from_this<Inner> {
  // A connection whose handshake is not done; nobody but us owns it yet.
  struct Pending final : LinkHandler {
    Pending(Inner& i, std::uint64_t n) : inner(i), number(n) {}
    void message(std::string_view) override {}
    void closed(std::string_view why) override { inner.turned_away(number, why); }
    Inner& inner;
    const std::uint64_t number;
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
  std::size_t open = 0;
  std::map<std::uint32_t, std::size_t> open_of_user;
  bool paused = false, stopped = false;
  std::uint64_t last_number = 0;
  std::map<std::uint64_t, std::unique_ptr<Pending>> pending;
  Descriptor socket;
  std::optional<DescriptorWatch> watch;

  void begin() {
    watch.emplace(loop, socket.get(), [this] { readable(); });
    watch->want_readable();
  }

  void stop() {
    stopped = true;
    pending.clear();
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
    for (int turn = 0; turn < accepts_per_turn; ++turn) {
      if (open >= settings.connections_max) {
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

  void take(Descriptor connection, Peer peer) {
    std::optional<std::uint32_t> user;
    if (peer.credentials && peer.credentials->uid != 0) user = peer.credentials->uid;
    if (user && open_of_user[*user] >= settings.connections_per_user_max)
      return settings.refused(peer.address + ": this user already has " +
                              std::to_string(settings.connections_per_user_max) + " connections");
    auto filter = tls ? tls->accept() : nullptr;
    auto link = std::make_unique<FramedLink>(loop, std::move(connection), std::move(peer), settings.limits,
                                             std::move(filter), slot(user));
    if (!tls) return accepted(std::move(link));
    const std::uint64_t number = ++last_number;
    auto& waiting = *(pending[number] = std::make_unique<Pending>(*this, number));
    waiting.link = std::move(link);
    waiting.link->start(waiting, [this, number] { hand_over(number); });
  }

  // Its end is the end of the connection, whoever owns the link then and whether we still exist or not.
  std::shared_ptr<void> slot(std::optional<std::uint32_t> user) {
    ++open;
    if (user) ++open_of_user[*user];
    return {nullptr, [weak = weak_from_this(), user](void*) {
              if (const auto inner = weak.lock()) inner->freed(user);
            }};
  }

  void freed(std::optional<std::uint32_t> user) {
    --open;
    if (user && --open_of_user[*user] == 0) open_of_user.erase(*user);
    if (std::exchange(paused, false) && watch) watch->want_readable();
  }

  void hand_over(std::uint64_t number) {
    const auto self = shared_from_this();
    auto waiting = pending.extract(number);
    accepted(std::move(waiting.mapped()->link));
  }

  void turned_away(std::uint64_t number, std::string_view why) {
    const auto self = shared_from_this();
    const auto waiting = pending.extract(number);
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
