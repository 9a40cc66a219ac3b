// src/step/stdio/stream_call.cpp - see stream_call.h.
#include "step/stdio/stream_call.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace millrace {
namespace {

constexpr std::int64_t connect_within_us = 10'000'000;
constexpr std::int64_t prove_within_us = 60'000'000;  // srun may be stopped in its shell, or its host be busy
constexpr std::size_t addresses_max = 16;
constexpr std::size_t found_max = addresses_max * (1 + sizeof(sockaddr_storage));

// A host of srun that lost power or its cable ends the step, after about a minute of silence.
void set_options(int fd) {
  const int on = 1, idle_s = 30, every_s = 10, times = 3, unacknowledged_ms = 60'000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

// In the process that may wait: each address as its length and its bytes.
[[noreturn]] void find_addresses(const std::string& host, std::uint32_t port, int out) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) _exit(1);
  std::string bytes;
  std::size_t count = 0;
  for (const addrinfo* one = found; one != nullptr && count < addresses_max; one = one->ai_next, ++count) {
    bytes += static_cast<char>(one->ai_addrlen);
    bytes.append(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen);
  }
  // Less than a pipe holds: it is written at once.
  _exit(write(out, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) ? 0 : 1);
}

}  // namespace

std::vector<StreamAddress> read_addresses(std::string_view found) {
  std::vector<StreamAddress> out;
  while (!found.empty() && out.size() < addresses_max) {
    const auto size = static_cast<std::size_t>(static_cast<unsigned char>(found.front()));
    found.remove_prefix(1);
    if (size > found.size() || size > sizeof(sockaddr_storage)) break;
    StreamAddress& one = *out.emplace(out.begin());
    one.size = static_cast<socklen_t>(size);
    std::memcpy(&one.bytes, found.data(), size);
    found.remove_prefix(size);
  }
  return out;
}

StreamCall::StreamCall(const wire::StdioEndpoint& peer, const StreamParty& self, std::int64_t now_us)
    : host_(peer.host()),
      port_(peer.port()),
      where_("connect to srun at " + host_ + ":" + std::to_string(port_)),
      talk_(peer.secret(), self),
      deadline_us_(now_us + connect_within_us) {
  begin(peer, now_us);
}

void StreamCall::begin(const wire::StdioEndpoint& peer, std::int64_t now_us) {
  if (peer.secret().size() < stream_secret_min) return fail_with("the step has no secret of its own");
  StreamAddress literal;
  auto& v4 = reinterpret_cast<sockaddr_in&>(literal.bytes);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(literal.bytes);
  if (inet_pton(AF_INET, host_.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port_));
    literal.size = sizeof v4;
  } else if (inet_pton(AF_INET6, host_.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port_));
    literal.size = sizeof v6;
  } else {
    return begin_finding();
  }
  addresses_.push_back(literal);
  connect_next(now_us);
}

StreamCall::~StreamCall() {
  end_finder();
  if (fd_ >= 0) close(fd_);
}

void StreamCall::fail_with(const std::string& why) {
  state_ = State::failed;
  problem_ = where_ + ": " + why;
  end_finder();
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

// The answer to a question for a name comes from somebody's name server, or never.
void StreamCall::begin_finding() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail_with(std::string{"make a pipe: "} + std::strerror(errno));
  const pid_t supervisor = getpid();
  finder_ = fork();
  if (finder_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(1);
    find_addresses(host_, port_, ends[1]);
  }
  const int problem = errno;
  close(ends[1]);
  finder_fd_ = ends[0];
  if (finder_ < 0) fail_with(std::string{"fork: "} + std::strerror(problem));
}

// Nobody waits for it: the supervisor reaps whatever ends.
void StreamCall::end_finder() {
  if (finder_fd_ >= 0) close(std::exchange(finder_fd_, -1));
  if (finder_ > 0) kill(finder_, SIGKILL);
  finder_ = -1;
}

void StreamCall::read_found(std::int64_t now_us) {
  char buffer[4096];
  const ssize_t count = read(finder_fd_, buffer, sizeof buffer);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count > 0) found_.append(buffer, static_cast<std::size_t>(count));
  if (count > 0 && found_.size() <= found_max) return;
  if (count <= 0) finder_ = -1;  // it is ending by itself
  end_finder();
  addresses_ = read_addresses(found_);
  if (addresses_.empty()) return fail_with("the name of the host is not known");
  connect_next(now_us);
}

void StreamCall::connect_next(std::int64_t now_us) {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  while (!addresses_.empty()) {
    const StreamAddress address = addresses_.back();
    addresses_.pop_back();
    fd_ = socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool begun = fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0;
    if (begun) return on_connected(now_us);
    if (fd_ >= 0 && errno == EINPROGRESS) {
      deadline_us_ = now_us + connect_within_us;
      return;
    }
    last_problem_ = std::strerror(errno);
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  fail_with(last_problem_);
}

void StreamCall::on_connected(std::int64_t now_us) {
  set_options(fd_);
  connected_ = true;
  deadline_us_ = now_us + prove_within_us;
  const std::string bytes = talk_.opening();  // a new connection has room for so little
  if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    fail_with(std::strerror(errno));
}

void StreamCall::handle(std::int64_t now_us) {
  if (state_ != State::under_way) return;
  if (finder_fd_ >= 0) return read_found(now_us);
  if (connected_) return read_proof();
  int problem = 0;
  socklen_t size = sizeof problem;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem == 0) return on_connected(now_us);
  last_problem_ = std::strerror(problem);
  connect_next(now_us);
}

void StreamCall::read_proof() {
  char buffer[frame_header_size + proof_frame_max];
  const ssize_t count = recv(fd_, buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (count < 0) return fail_with(std::strerror(errno));
  if (count == 0) return fail_with("who listens there hung up before it proved to be the srun of this step");
  const auto own = talk_.take({buffer, static_cast<std::size_t>(count)});
  if (!own) return fail_with(own.error().story);
  if (!*own) return;
  const std::string& out = **own;
  if (::send(fd_, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size()))
    return fail_with(std::strerror(errno));
  state_ = State::answered;
}

void StreamCall::on_time(std::int64_t now_us) {
  if (state_ != State::under_way || now_us < deadline_us_) return;
  if (connected_) return fail_with("who listens there did not prove to be the srun of this step in time");
  if (finder_fd_ >= 0) return fail_with("the name server did not answer in time");
  last_problem_ = std::strerror(ETIMEDOUT);
  connect_next(now_us);
}

int StreamCall::take_socket() { return std::exchange(fd_, -1); }

}  // namespace millrace
