// src/controller/sessions_test.cpp - what becomes of a client's bytes before and after the controller.
#include "controller/sessions.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "wire/reply_parts.h"

namespace millrace {
namespace {

// A peer that reads when the test says so.
class SlowLink final : public Link {
 public:
  struct Peer {
    std::vector<std::string> got;
    std::size_t unsent = 0, wished_below = 0;
    Task wish;
    bool closed = false;
    void read_all() {
      unsent = 0;
      if (Task then = std::exchange(wish, nullptr)) then();
    }
  };
  explicit SlowLink(Peer& peer) : peer_(peer) {}
  ~SlowLink() override { peer_.closed = true; }
  void send(std::string bytes) override {
    peer_.unsent += bytes.size();
    peer_.got.push_back(std::move(bytes));
  }
  void close() override {}
  std::size_t unsent() const override { return peer_.unsent; }
  void when_unsent_below(std::size_t bytes, Task then) override {
    peer_.wished_below = bytes;
    peer_.wish = std::move(then);
  }

 private:
  Peer& peer_;
};

wire::Reply large_reply(std::size_t bytes) {
  wire::Reply reply;
  reply.set_number(1);
  reply.mutable_jobs()->add_jobs()->set_name(std::string(bytes, 'n'));
  return reply;
}

TEST(Sessions, An_answer_that_is_larger_than_every_limit_of_a_link_arrives_as_fast_as_it_is_read) {
  SlowLink::Peer peer;
  Sessions sessions;
  const ClientId client = sessions.accept(std::make_unique<SlowLink>(peer), UserId{1000}, GroupId{1000});
  sessions.reply(client, large_reply(200u << 20));
  bool read = false;
  sessions.when_read(client, [&] { read = true; });
  ReplyJoiner joiner;
  std::size_t most = 0, taken = 0;
  std::optional<wire::Reply> whole;
  for (int turn = 0; turn < 1000 && !whole; ++turn) {
    most = std::max(most, peer.unsent);
    for (; taken < peer.got.size(); ++taken) {
      auto part = joiner.take(peer.got[taken]);
      ASSERT_TRUE(part);
      whole = *std::move(part);
    }
    EXPECT_EQ(read && !whole, false);
    peer.read_all();
  }
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->jobs().jobs(0).name().size(), 200u << 20);
  EXPECT_LE(most, reply_part_max + (1u << 20));
  EXPECT_TRUE(read);
}

TEST(Sessions, A_client_that_leaves_with_its_answer_unread_is_forgotten) {
  SlowLink::Peer peer;
  Sessions sessions;
  const ClientId client = sessions.accept(std::make_unique<SlowLink>(peer), UserId{1000}, GroupId{1000});
  sessions.reply(client, large_reply(20u << 20));
  sessions.handler(client).closed("gone");
  EXPECT_TRUE(peer.closed);
  peer.read_all();
}

TEST(Sessions, Answers_keep_their_order) {
  SlowLink::Peer peer;
  Sessions sessions;
  const ClientId client = sessions.accept(std::make_unique<SlowLink>(peer), UserId{1000}, GroupId{1000});
  sessions.reply(client, large_reply(9u << 20));
  wire::Reply second;
  second.set_number(2);
  sessions.reply(client, second);
  while (peer.wish) peer.read_all();
  ASSERT_GE(peer.got.size(), 3u);
  EXPECT_EQ(head_of_reply(peer.got.back()).number, 2u);
  for (std::size_t i = 0; i + 1 < peer.got.size(); ++i) EXPECT_EQ(head_of_reply(peer.got[i]).number, 1u);
}

}  // namespace
}  // namespace millrace
