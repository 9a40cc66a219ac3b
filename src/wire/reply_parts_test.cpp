// src/wire/reply_parts_test.cpp - a reply of any size arrives.
#include "wire/reply_parts.h"

#include <gtest/gtest.h>

#include "client.pb.h"

namespace millrace {
namespace {

wire::Reply reply_of(std::size_t bytes) {
  wire::Reply reply;
  reply.set_number(9);
  reply.set_more(true);
  reply.mutable_jobs()->add_jobs()->set_name(std::string(bytes, 'n'));
  return reply;
}

TEST(ReplyParts, A_small_reply_is_one_frame_as_it_is) {
  ReplyCutter cutter{reply_of(100).SerializeAsString()};
  ASSERT_FALSE(cutter.done());
  EXPECT_EQ(cutter.next(), reply_of(100).SerializeAsString());
  EXPECT_TRUE(cutter.done());
}

TEST(ReplyParts, A_large_reply_comes_in_frames_and_is_put_together) {
  const std::string whole = reply_of(90u << 20).SerializeAsString();
  ReplyCutter cutter{whole};
  ReplyJoiner joiner;
  int frames = 0;
  std::optional<wire::Reply> got;
  while (!cutter.done()) {
    ASSERT_FALSE(got);
    const std::string frame = cutter.next();
    ++frames;
    EXPECT_LE(frame.size(), reply_part_max + 64);
    EXPECT_EQ(head_of_reply(frame).number, 9u);
    EXPECT_TRUE(head_of_reply(frame).more);
    auto taken = joiner.take(frame);
    ASSERT_TRUE(taken);
    got = *std::move(taken);
  }
  EXPECT_EQ(frames, 181);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->more());
  EXPECT_EQ(got->jobs().jobs(0).name().size(), 90u << 20);
}

TEST(ReplyParts, The_last_frame_says_whether_further_replies_follow) {
  wire::Reply reply = reply_of(reply_part_max + 1);
  reply.set_more(false);
  ReplyCutter cutter{reply.SerializeAsString()};
  EXPECT_TRUE(head_of_reply(cutter.next()).more);
  EXPECT_FALSE(head_of_reply(cutter.next()).more);
  EXPECT_TRUE(cutter.done());
}

TEST(ReplyParts, Garbage_is_an_error) {
  EXPECT_FALSE(ReplyJoiner{}.take("\xff\xff"));
  wire::Reply part;
  part.set_part("\xff\xff");
  EXPECT_FALSE(ReplyJoiner{}.take(part.SerializeAsString()));
}

}  // namespace
}  // namespace millrace
