// src/wire/reply_parts.cpp - see reply_parts.h.
#include "wire/reply_parts.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "client.pb.h"
#include "wire/varint.h"

namespace millrace {

ReplyHead head_of_reply(std::string_view reply) {
  constexpr std::uint64_t number_tag = 1 << 3, more_tag = 2 << 3;
  ReplyHead head;
  while (const auto tag = take_varint(reply)) {
    if (*tag != number_tag && *tag != more_tag) break;
    const auto value = take_varint(reply);
    if (!value) break;
    if (*tag == number_tag) head.number = *value;
    if (*tag == more_tag) head.more = *value != 0;
  }
  return head;
}

ReplyCutter::ReplyCutter(std::string reply) : whole_(std::move(reply)), head_(head_of_reply(whole_)) {}

std::string ReplyCutter::next() {
  MR_ASSERT(!done());
  if (!std::exchange(started_, true) && whole_.size() <= reply_part_max) {
    at_ = 0;
    return std::exchange(whole_, {});
  }
  const std::size_t size = std::min(reply_part_max, whole_.size() - at_);
  wire::Reply out;
  out.set_part(whole_.data() + at_, size);
  at_ += size;
  out.set_number(head_.number);
  out.set_part_follows(at_ < whole_.size());
  // A relay that counts unanswered requests reads this alone.
  out.set_more(out.part_follows() || head_.more);
  return out.SerializeAsString();
}

Result<std::optional<wire::Reply>> ReplyJoiner::take(std::string_view frame) {
  constexpr const char* unreadable = "the reply could not be read";
  wire::Reply reply;
  if (!reply.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) return fail(Errc::corrupt, unreadable);
  if (reply.part().empty() && !reply.part_follows()) {
    gathered_.clear();
    return std::optional{std::move(reply)};
  }
  if (gathered_.size() + reply.part().size() > whole_reply_max)
    return fail(Errc::corrupt, "the reply has more than " + std::to_string(whole_reply_max) + " bytes");
  gathered_ += reply.part();
  if (reply.part_follows()) return std::optional<wire::Reply>{};
  const std::string whole = std::exchange(gathered_, {});
  wire::Reply out;
  if (!out.ParseFromArray(whole.data(), static_cast<int>(whole.size()))) return fail(Errc::corrupt, unreadable);
  return std::optional{std::move(out)};
}

}  // namespace millrace
