// src/step/attempt/channel.cpp - see channel.h.
#include "step/attempt/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace millrace {
namespace {

constexpr std::size_t turn_max = 1u << 20;  // one that sends without end is not read without end

}  // namespace

Channel& Channel::operator=(Channel&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  reader_ = std::move(other.reader_);
  unsent_ = std::move(other.unsent_);
  sent_ = std::exchange(other.sent_, 0);
  return *this;
}

void Channel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  unsent_.clear();
  sent_ = 0;
}

void Channel::end_sending() {
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

void Channel::send(std::string_view message) {
  if (fd_ < 0) return;
  unsent_ += frame(message);
  flush();
}

void Channel::flush() {
  while (fd_ >= 0 && unsent() > 0) {
    const ssize_t count = ::send(fd_, unsent_.data() + sent_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count < 0) return close();
    sent_ += static_cast<std::size_t>(count);
    if (sent_ > unsent_.size() / 2) unsent_.erase(0, std::exchange(sent_, 0));
  }
}

bool Channel::fill() {
  char buffer[16384];
  for (std::size_t turn = 0; fd_ >= 0; ++turn) {
    if (turn == turn_max / sizeof buffer) return true;  // the rest with the next turn of the loop
    const ssize_t count = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (count <= 0) break;
    reader_.feed({buffer, static_cast<std::size_t>(count)});
    if (static_cast<std::size_t>(count) < sizeof buffer) return true;
  }
  close();
  return false;
}

std::optional<std::string_view> Channel::next() {
  auto message = reader_.next();
  if (message) return *message;
  close();
  return std::nullopt;
}

}  // namespace millrace
