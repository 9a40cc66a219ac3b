// src/wire/frame.cpp - see frame.h.
#include "wire/frame.h"

#include "base/assert.h"

namespace millrace {

static constexpr std::size_t keep_capacity_max = 128u << 10;

std::string frame(std::string_view message) {
  MR_ASSERT(message.size() < UINT32_MAX);
  std::string out;
  out.reserve(frame_header_size + message.size());
  const auto length = static_cast<std::uint32_t>(message.size());
  out += 'M';
  out += 'R';
  out += static_cast<char>(protocol_version & 0xff);
  out += static_cast<char>(protocol_version >> 8);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(length >> shift & 0xff);
  out += message;
  return out;
}

void FrameReader::feed(std::string_view bytes) {
  forget_taken();
  buffer_ += bytes;
}

void FrameReader::forget_taken() {
  if (consumed_ == 0) return;
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  // One large message must not cost its size for as long as the connection stands.
  if (buffer_.empty() && buffer_.capacity() > keep_capacity_max) std::string{}.swap(buffer_);
}

Result<std::optional<std::string_view>> FrameReader::next() {
  const std::string_view rest = std::string_view{buffer_}.substr(consumed_);
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(rest[at])); };
  if (!rest.empty() && rest[0] != 'M') return fail(Errc::corrupt, "not a Millrace message");
  if (rest.size() >= 2 && rest[1] != 'R') return fail(Errc::corrupt, "not a Millrace message");
  if (rest.size() >= 4 && (byte(2) | byte(3) << 8) != protocol_version)
    return fail(Errc::invalid, "peer speaks protocol " + std::to_string(byte(2) | byte(3) << 8) + ", we speak " +
                                   std::to_string(protocol_version));
  if (rest.size() < frame_header_size) return std::optional<std::string_view>{};
  const std::size_t length = byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24;
  if (length > size_max_)
    return fail(Errc::invalid,
                "message of " + std::to_string(length) + " bytes is over the limit of " + std::to_string(size_max_));
  if (rest.size() - frame_header_size < length) return std::optional<std::string_view>{};
  consumed_ += frame_header_size + length;
  return std::optional{rest.substr(frame_header_size, length)};
}

}  // namespace millrace
