// src/wire/reply_parts.h - replies that are larger than a frame should be: cut into parts, and put together again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::wire {
class Reply;
}

namespace millrace {

constexpr std::size_t reply_part_max = 512u << 10;    // a reply up to this size is sent as it is
constexpr std::size_t whole_reply_max = 1024u << 20;  // of what a client puts together

// The first two fields of an encoded reply: it may hold a hundred thousand jobs that are none of our business.
struct ReplyHead {
  std::uint64_t number = 0;
  bool more = false;
};
ReplyHead head_of_reply(std::string_view reply);

// Gives an encoded reply away in frames of at most about reply_part_max bytes.
class ReplyCutter {
 public:
  explicit ReplyCutter(std::string reply);
  bool done() const { return at_ >= whole_.size() && started_; }
  std::string next();                                       // only while not done()
  std::size_t left() const { return whole_.size() - at_; }  // bytes

 private:
  std::string whole_;
  ReplyHead head_;
  std::size_t at_ = 0;
  bool started_ = false;
};

// Puts the parts of a reply together again.
class ReplyJoiner {
 public:
  // The whole reply, which is the frame itself unless that is a part; nothing: parts follow.
  Result<std::optional<wire::Reply>> take(std::string_view frame);

 private:
  std::string gathered_;
};

}  // namespace millrace
