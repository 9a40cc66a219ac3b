// src/step/attempt/channel.h - framed messages over one connected socket, for a poll loop: never blocks, keeps what did
// not fit.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "wire/frame.h"

namespace millrace {

class Channel {
 public:
  Channel() = default;
  // `frame_max` is of what the peer may send (wire/limits.h).
  explicit Channel(int fd, std::size_t frame_max = request_size_max) : fd_(fd), reader_(frame_max) {}
  Channel(Channel&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        reader_(std::move(other.reader_)),
        unsent_(std::move(other.unsent_)),
        sent_(std::exchange(other.sent_, 0)) {}
  Channel& operator=(Channel&& other) noexcept;
  ~Channel() { close(); }

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  std::size_t unsent() const { return unsent_.size() - sent_; }
  void close();
  void end_sending();  // the peer sees the end of the stream; we may still read

  void send(std::string_view message);  // closes the channel when the peer is gone
  void flush();
  // Reads what is there, up to a MiB; false (and closed) at the end of the stream or on garbage. Then take messages
  // with next().
  bool fill();
  // The next whole message; empty when there is none. A view of it lasts until the next call.
  std::optional<std::string_view> next();

 private:
  int fd_ = -1;
  FrameReader reader_{request_size_max};
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_: a long queue is not moved for each piece
};

}  // namespace millrace
