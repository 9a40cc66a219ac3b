// src/step/channel.cpp - see channel.h.
#include "step/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace millrace {

Channel& Channel::operator=(Channel&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  reader_ = std::move(other.reader_);
  unsent_ = std::move(other.unsent_);
  return *this;
}

void Channel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  unsent_.clear();
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
  while (fd_ >= 0 && !unsent_.empty()) {
    const ssize_t count = ::send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count < 0) return close();
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
}

bool Channel::fill() {
  char buffer[16384];
  while (fd_ >= 0) {
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
