// src/client/session.cpp - see session.h.
#include "client/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/assert.h"
#include "client.pb.h"
#include "wire/random.h"

namespace millrace {
namespace {

constexpr Duration retry_pause = milliseconds(20);
constexpr std::uint32_t connect_failure_code = 1800;  // Slurm's number

std::int64_t now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1000;
}

void pause_for(Duration time) {
  const timespec t{time.value / 1'000'000, time.value % 1'000'000 * 1000};
  nanosleep(&t, nullptr);
}

// True when the descriptor became ready before the deadline.
bool wait_ready(int fd, short events, std::optional<std::int64_t> deadline_us) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline_us)
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>((*deadline_us - now_us() + 999) / 1000, 0, INT_MAX));
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // the read or write that follows says what is wrong
  }
}

}  // namespace

void Session::disconnect() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  reader_ = FrameReader(reply_size_max);
  joiner_ = {};
  reset_ = false;
}

Result<void> Session::try_connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Errc::invalid, path + " (path too long for a socket)");
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(Errc::io, std::string{"socket ("} + std::strerror(errno) + ")");
  // Connecting to a unix socket only waits while its queue is full; the send time-out bounds that.
  const timeval limit{options_.timeout.value / 1'000'000, options_.timeout.value % 1'000'000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int done = 0;
  do done = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  while (done != 0 && errno == EINTR);
  if (done != 0) {
    const int problem = errno;
    close(fd);
    return fail(Errc::unavailable, path + " (" + std::strerror(problem) + ")");
  }
  fd_ = fd;
  connected_to_ = path;
  return {};
}

void Session::tell(const char* what, std::uint64_t number, std::size_t bytes) const {
  if (options_.tell)
    options_.tell(std::string{what} + " " + std::to_string(number) + ": " + std::to_string(bytes) + " bytes");
}

Result<void> Session::connect() {
  char byte = 0;
  // The other side may have closed a connection on which nothing was asked for long.
  if (fd_ >= 0 && recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) disconnect();
  if (fd_ >= 0) return {};
  const std::int64_t give_up = now_us() + options_.patience.value;
  for (;;) {
    const auto own = try_connect(options_.socket_path);
    if (own && options_.tell) options_.tell("connected to " + options_.socket_path);
    if (own) break;
    const auto relay = try_connect(options_.socket_path + ".relay");
    if (relay && options_.tell) options_.tell("connected to " + options_.socket_path + ".relay");
    if (relay) break;
    trouble_ = own.error().story + ", " + relay.error().story;
    if (now_us() >= give_up) return fail(Errc::unavailable, connect_failure_text);
    pause_for(retry_pause);
  }
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  trouble_.clear();
  return {};
}

Result<void> Session::send_all(const std::string& bytes, std::int64_t deadline_us) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t got = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (got > 0) {
      sent += static_cast<std::size_t>(got);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_ready(fd_, POLLOUT, deadline_us)) return fail(Errc::outcome_unknown, timed_out_text);
    } else if (errno != EINTR) {
      // The peer may have closed after it read all of it: what it did with it is not known.
      return fail(Errc::outcome_unknown, receive_failure_text);
    }
  }
  return {};
}

Result<bool> Session::fill(std::optional<std::int64_t> deadline_us) {
  char buffer[65536];
  for (;;) {
    const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
    if (got > 0) {
      reader_.feed({buffer, static_cast<std::size_t>(got)});
      return true;
    }
    if (got == 0) return fail(Errc::outcome_unknown, receive_failure_text);
    if (errno == EINTR) continue;
    // Said once by a peer that closed before it read all we sent; what it sent before lies behind it.
    if (errno == ECONNRESET && !std::exchange(reset_, true)) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return fail(Errc::outcome_unknown, receive_failure_text);
    if (!wait_ready(fd_, POLLIN, deadline_us)) return false;
  }
}

Result<std::optional<wire::Reply>> Session::parse_one() {
  for (;;) {
    MR_TRY(const auto message, reader_.next());
    if (!message) return std::optional<wire::Reply>{};
    tell("reply to request", number_, message->size());
    auto whole = joiner_.take(*message);
    if (!whole) return fail(Errc::corrupt, receive_failure_text);
    if (!*whole) continue;  // its parts follow
    wire::Reply& reply = **whole;
    // Without a number: we are turned away, whatever we ask.
    if (reply.number() != number_ && !(reply.number() == 0 && reply.has_failure())) continue;
    if (!reply.other_cluster().empty()) {
      trouble_ = connected_to_ + " (there answers " + reply.other_cluster() + ", and slurm.conf names cluster '" +
                 options_.cluster + "' with SlurmctldPort=" + std::to_string(options_.controller_port) + ")";
      return fail(Errc::unavailable, connect_failure_text);
    }
    if (reply.failure().code() != connect_failure_code) return std::optional{std::move(reply)};
    // A relay speaks for a controller it cannot reach, or lost while it was answering: as if the connection had broken
    // here.
    trouble_ = options_.socket_path + ".relay";
    for (const std::string& note : reply.failure().notes()) trouble_ += " (" + note + ")";
    return fail(Errc::outcome_unknown, connect_failure_text);
  }
}

Result<void> Session::send(wire::Request& request) {
  MR_TRY_VOID(connect());
  request.set_protocol(protocol_version);
  request.set_number(++number_);
  if (!options_.cluster.empty()) {
    request.set_cluster(options_.cluster);
    request.set_controller_port(options_.controller_port);
  }
  const std::string bytes = request.SerializeAsString();
  tell("request", number_, bytes.size());
  auto sent = send_all(frame(bytes), now_us() + options_.timeout.value);
  refusal_.clear();
  if (!sent && is_turned_away()) sent = {};  // next() gives its words
  if (!sent) disconnect();
  return sent;
}

Result<wire::Reply> Session::call(wire::Request& request) {
  MR_TRY_VOID(send(request));
  return next(options_.timeout);
}

// A daemon that turns us away says why before it closes, and may have closed before we asked.
bool Session::is_turned_away() {
  for (;;) {
    auto parsed = parse_one();
    if (parsed && *parsed) {
      refusal_ = std::move(**parsed).SerializeAsString();
      return true;
    }
    if (!parsed) return false;
    const auto filled = fill(0);
    if (!filled || !*filled) return false;
  }
}

Result<wire::Reply> Session::next(std::optional<Duration> wait) {
  if (fd_ < 0) return fail(Errc::unavailable, receive_failure_text);
  if (!refusal_.empty()) {
    wire::Reply reply;
    reply.ParseFromString(refusal_);
    disconnect();
    return reply;
  }
  std::optional<std::int64_t> deadline;
  if (wait) deadline = now_us() + wait->value;
  for (;;) {
    auto parsed = parse_one();
    if (!parsed) {
      disconnect();
      return std::unexpected(std::move(parsed).error());
    }
    if (*parsed) return std::move(**parsed);
    auto filled = fill(deadline);
    if (filled && *filled) continue;
    disconnect();
    if (!filled) return std::unexpected(std::move(filled).error());
    return fail(Errc::outcome_unknown, timed_out_text);
  }
}

Result<std::optional<wire::Reply>> Session::take_ready() {
  if (fd_ < 0) return fail(Errc::unavailable, receive_failure_text);
  auto parsed = parse_one();
  if (parsed && !*parsed) {
    auto filled = fill(0);  // a deadline long past: never waits
    if (!filled)
      parsed = std::unexpected(std::move(filled).error());
    else if (*filled)
      parsed = parse_one();
  }
  if (!parsed) disconnect();
  return parsed;
}

Result<wire::Reply> Session::submit(wire::SubmitJob ask) {
  if (ask.idempotency_key().empty()) ask.set_idempotency_key(random_bytes(16));
  const std::int64_t deadline = now_us() + options_.timeout.value;
  wire::Request request;
  *request.mutable_submit() = std::move(ask);
  bool asked = false;
  for (;;) {
    auto reply = call(request);
    if (reply) return reply;
    const bool lost = reply.error().code == Errc::outcome_unknown;
    asked = asked || lost;
    // Nobody listened and nothing was ever sent: the caller may say so at once. Otherwise the job may exist.
    if (!asked || (!lost && reply.error().code != Errc::unavailable) || now_us() >= deadline) {
      if (asked) reply.error().code = Errc::outcome_unknown;
      return reply;
    }
    pause_for(retry_pause);
  }
}

}  // namespace millrace
