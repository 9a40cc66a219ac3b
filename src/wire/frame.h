// src/wire/frame.h - how a message lies on a byte stream: 'M' 'R' version(2) length(4), little endian, then the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

constexpr std::uint16_t protocol_version = 1;
constexpr std::size_t frame_header_size = 8;
// Script (4 MiB) + environment + description; anything larger is refused before it is read.
constexpr std::size_t request_size_max = 16u << 20;
constexpr std::size_t reply_size_max = 64u << 20;

std::string frame(std::string_view message);

// Takes a stream apart. Bytes go in as they come, messages come out.
class FrameReader {
 public:
  explicit FrameReader(std::size_t size_max) : size_max_(size_max) {}
  void set_size_max(std::size_t size_max) { size_max_ = size_max; }  // of the messages to come
  bool is_empty() const { return consumed_ == buffer_.size(); }      // not even a part of one waits
  void feed(std::string_view bytes);
  // The next whole message, nothing yet, or an error after which the stream is of no use.
  // The view is valid until the next call of feed() or next().
  Result<std::optional<std::string_view>> next();
  // The last message has been dealt with: its memory is given back. Ends the view next() gave.
  void forget_taken();
  std::size_t buffered() const { return buffer_.size() - consumed_; }

 private:
  std::size_t size_max_;
  std::string buffer_;
  std::size_t consumed_ = 0;
};

}  // namespace millrace
