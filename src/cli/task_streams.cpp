// src/cli/task_streams.cpp - see task_streams.h.
#include "cli/task_streams.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>

namespace millrace {
namespace {

constexpr std::size_t peers_max = 65536;
constexpr int accepts_per_turn = 64;  // anybody may call without end
constexpr std::int64_t prove_within_us = 30'000'000;
constexpr std::size_t turn_max = 1u << 20;  // one that sends without end is not read without end

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

}  // namespace

TaskStreams::~TaskStreams() {
  for (Connections& list : connections_)
    while (!list.empty()) close_connection(list.front());
  if (listener_ >= 0) close(listener_);
}

Result<std::uint16_t> TaskStreams::listen(const Endpoint& endpoint) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  // Of a range the first that is free, from a place of our own on: others look too.
  const std::uint32_t ports = endpoint.last_port - endpoint.first_port + 1u;
  bool bound = false;
  for (std::uint32_t i = 0; i < ports && !bound; ++i) {
    address.sin_port =
        htons(static_cast<std::uint16_t>(endpoint.first_port + (static_cast<std::uint32_t>(getpid()) + i) % ports));
    bound = bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (!bound && errno != EADDRINUSE) break;
  }
  socklen_t size = sizeof address;
  if (listener_ < 0 || !bound || ::listen(listener_, 1024) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail(Errc::io, std::string{"cannot listen for tasks: "} + std::strerror(errno) +
                              (endpoint.first_port == 0 ? ""
                                                        : " (SrunPortRange=" + std::to_string(endpoint.first_port) +
                                                              "-" + std::to_string(endpoint.last_port) + ")"));
  return ntohs(address.sin_port);
}

void TaskStreams::open_display(X11Display display) {
  x11_.emplace(std::move(display));
  talk_.want_x11();
}

void TaskStreams::add_to(std::vector<pollfd>& entries) const {
  entries.push_back({listener_, POLLIN, 0});
  for (const Connections& list : connections_)
    for (const Connection& one : list) {
      const bool has_unsent = !one.peer->unsent.empty();
      if (one.peer->proved && !talk_.is_ready() && !has_unsent) continue;
      entries.push_back({one.fd, static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN), 0});
    }
  if (x11_) x11_->add_to(entries, !talk_.is_slow());
}

void TaskStreams::handle(const std::vector<pollfd>& entries) {
  serve(entries, true);
  serve(entries, false);
  // Last: a new connection may have the number of one that was closed above.
  if (std::ranges::any_of(entries, [&](const pollfd& one) { return one.fd == listener_ && one.revents != 0; }))
    accept_some();
  if (x11_) {
    take_from_displays();
    x11_->handle(entries);
    for (X11Relay::Outgoing& out : x11_->take_outgoing()) talk_.send_x11(out.node, std::move(out.piece));
  }
  flush_all();
  drop_silent();
  closed_.clear();
}

void TaskStreams::serve(const std::vector<pollfd>& entries, bool proved) {
  for (const pollfd& entry : entries) {
    if (entry.revents == 0) continue;
    const auto found = by_descriptor_.find(entry.fd);
    if (found == by_descriptor_.end() || (found->second->standing == Standing::proved) != proved) continue;
    Connection& one = *found->second;
    if ((entry.revents & POLLOUT) != 0) flush(one);
    if ((entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(one);
  }
}

void TaskStreams::take_from_displays() {
  for (const TaskTalk::FromDisplay& one : talk_.take_x11()) x11_->take(one.node, one.piece);
}

void TaskStreams::accept_some() {
  for (int taken = 0; taken < accepts_per_turn; ++taken) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == ECONNABORTED || errno == EINTR)) continue;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && drop_oldest_stranger()) continue;
    if (fd < 0) return;
    if (!accept_one(fd, from.sin_addr.s_addr)) close(fd);
  }
}

bool TaskStreams::accept_one(int fd, std::uint32_t host) {
  if (by_descriptor_.size() >= peers_max) return false;
  if (const auto known = strangers_of_.find(host);
      known != strangers_of_.end() && known->second >= strangers_max_.of_host)
    drop_oldest_stranger(host);
  if (of(Standing::silent).size() + of(Standing::talking).size() >= strangers_max_.all) drop_oldest_stranger();
  ++strangers_of_[host];
  Connections& strangers = of(Standing::silent);
  strangers.push_back({fd, &talk_.join(), host, Standing::silent, now_us() + prove_within_us});
  by_descriptor_[fd] = std::prev(strangers.end());
  read_from(strangers.back());  // its greeting is usually here already
  return true;
}

void TaskStreams::stranger_left(std::uint32_t host) {
  const auto known = strangers_of_.find(host);
  if (--known->second == 0) strangers_of_.erase(known);
}

// By what it has said.
void TaskStreams::move_up(Connection& one) {
  const Standing now = one.peer->proved       ? Standing::proved
                       : one.peer->challenged ? Standing::talking
                                              : Standing::silent;
  if (now == one.standing) return;
  Connections& list = of(now);
  list.splice(list.end(), of(one.standing), by_descriptor_.at(one.fd));
  one.standing = now;
  one.prove_by_us = now_us() + prove_within_us;
  if (now != Standing::proved) return;
  stranger_left(one.host);
  const int on = 1, idle_s = 30, every_s = 10, times = 3, unacknowledged_ms = 60'000;
  setsockopt(one.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(one.fd, SOL_SOCKET, SO_KEEPALIVE, &on,
             sizeof on);  // a node that lost its cable is noticed after about a minute
  setsockopt(one.fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(one.fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
  setsockopt(one.fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  setsockopt(one.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

// The one that came first: who knows the secret needs no more than a moment.
bool TaskStreams::drop_oldest_stranger(std::optional<std::uint32_t> host) {
  for (const Standing standing : {Standing::silent, Standing::talking}) {
    const auto oldest =
        std::ranges::find_if(of(standing), [&](const Connection& one) { return !host || one.host == *host; });
    if (oldest == of(standing).end()) continue;
    close_connection(*oldest);
    return true;
  }
  return false;
}

std::int64_t TaskStreams::due_us() const {
  std::int64_t due = INT64_MAX;
  for (const Standing standing : {Standing::silent, Standing::talking})
    if (!of(standing).empty()) due = std::min(due, of(standing).front().prove_by_us);
  return due;
}

void TaskStreams::drop_silent() {
  const std::int64_t now = now_us();
  for (const Standing standing : {Standing::silent, Standing::talking})
    while (!of(standing).empty() && of(standing).front().prove_by_us <= now) close_connection(of(standing).front());
}

void TaskStreams::set_ready(bool ready) {
  const bool begins = ready && !talk_.is_ready();
  talk_.set_ready(ready);
  if (!begins) return;
  for (auto next = of(Standing::proved).begin(); next != of(Standing::proved).end();) {
    Connection& one = *next++;
    if (!talk_.take_frames(*one.peer)) close_connection(one);
  }
  if (x11_) take_from_displays();
  flush_all();
}

void TaskStreams::read_from(Connection& one) {
  char buffer[65536];
  for (std::size_t read = 0; read < turn_max;) {
    if (one.peer->proved && !talk_.is_ready()) return;
    const ssize_t got = recv(one.fd, buffer, one.peer->proved ? sizeof buffer : frame_header_size + proof_frame_max, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0 || !talk_.take(*one.peer, {buffer, static_cast<std::size_t>(got)})) return close_connection(one);
    move_up(one);
    read += static_cast<std::size_t>(got);
  }
}

void TaskStreams::flush_all() {
  if (!talk_.take_news()) return;
  for (Connections& list : connections_)
    for (Connection& one : list) flush(one);
}

void TaskStreams::flush(Connection& one) {
  std::string& unsent = one.peer->unsent;
  while (!unsent.empty()) {
    const ssize_t sent = send(one.fd, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent > 0)
      unsent.erase(0, static_cast<std::size_t>(sent));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return;
    else if (errno != EINTR) {
      unsent.clear();  // reading says that it is gone
      return;
    }
  }
}

// It stays in memory until the turn ends: whoever closes it may be about to look at it.
void TaskStreams::close_connection(Connection& one) {
  const auto place = by_descriptor_.extract(one.fd);
  if (one.standing != Standing::proved) stranger_left(one.host);
  close(std::exchange(one.fd, -1));
  if (x11_ && one.peer->known) {
    take_from_displays();
    x11_->drop_node(one.peer->position);
  }
  talk_.leave(*std::exchange(one.peer, nullptr));
  closed_.splice(closed_.end(), of(one.standing), place.mapped());
}

void TaskStreams::send_input(std::string_view data) {
  talk_.send_input(data);
  flush_all();
}

void TaskStreams::end_input() {
  talk_.end_input();
  flush_all();
}

void TaskStreams::send_window(std::uint32_t rows, std::uint32_t columns) {
  talk_.send_window(rows, columns);
  flush_all();
}

void TaskStreams::send_signal(std::uint32_t signal) {
  talk_.send_signal(signal);
  flush_all();
}

}  // namespace millrace
