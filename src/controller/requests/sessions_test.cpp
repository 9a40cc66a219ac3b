// src/controller/requests/sessions_test.cpp - what becomes of a client's bytes before and after the controller.
#include "controller/requests/sessions.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "wire/frame.h"
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

TEST(Sessions, Unread_answers_of_one_user_are_bounded_and_others_are_not_touched) {
  SlowLink::Peer first, second, other, root;
  Sessions sessions{SessionLimits{.unread_bytes_per_user_max = 4u << 20}};
  const auto accept = [&](SlowLink::Peer& peer, std::uint32_t uid) {
    return sessions.accept(std::make_unique<SlowLink>(peer), UserId{uid}, GroupId{uid});
  };
  sessions.reply(accept(first, 1000), large_reply(20u << 20));  // one of any size
  sessions.reply(accept(second, 1000), large_reply(1u << 20));
  ASSERT_EQ(second.got.size(), 1u);
  wire::Reply refused;
  ASSERT_TRUE(refused.ParseFromString(second.got[0]));
  EXPECT_EQ(refused.number(), 1u);
  EXPECT_EQ(refused.failure().code(), 2037u);
  EXPECT_NE(refused.failure().text().find("have not been read"), std::string::npos);
  sessions.reply(accept(other, 1001), large_reply(6u << 20));
  EXPECT_GT(other.got[0].size(), 100'000u);
  sessions.reply(accept(root, 0), large_reply(6u << 20));
  sessions.reply(accept(root, 0), large_reply(6u << 20));
  while (first.wish) first.read_all();
  sessions.reply(accept(second, 1000), large_reply(1u << 20));
  EXPECT_GT(second.got[1].size(), 100'000u) << "it has read them";
}

TEST(Sessions, A_request_for_another_cluster_is_refused_whatever_it_asks) {
  SlowLink::Peer peer;
  Sessions sessions;
  sessions.set_cluster("a", 6817);
  const ClientId client = sessions.accept(std::make_unique<SlowLink>(peer), UserId{1000}, GroupId{1000});
  const auto refused = [&](std::string cluster, std::uint32_t port, bool reconfigure = false) {
    wire::Request request;
    request.set_protocol(protocol_version);
    request.set_number(7);
    request.set_cluster(std::move(cluster));
    request.set_controller_port(port);
    reconfigure ? void(request.mutable_reconfigure()) : void(request.mutable_shutdown());
    const std::size_t before = peer.got.size();
    sessions.handler(client).message(request.SerializeAsString());
    if (peer.got.size() == before) return false;
    wire::Reply reply;
    EXPECT_TRUE(reply.ParseFromString(peer.got.back()));
    EXPECT_EQ(reply.number(), 7u);
    EXPECT_EQ(reply.failure().code(), 1800u);
    EXPECT_EQ(reply.other_cluster(), "cluster 'a' with SlurmctldPort=6817");
    return true;
  };
  EXPECT_TRUE(refused("b", 6817));
  EXPECT_TRUE(refused("b", 6817, true));
  EXPECT_TRUE(refused("a", 6818));
  EXPECT_FALSE(refused("a", 6817));
  EXPECT_FALSE(refused("", 0)) << "one that does not say";
  EXPECT_FALSE(refused("a", 6818, true)) << "the file may be newer than what was read of it";
  sessions.set_cluster("c", 6818);  // as after a reconfigure
  EXPECT_FALSE(refused("a", 6818));
  EXPECT_FALSE(refused("a", 6817));
}

TEST(Sessions, A_connection_that_asks_nothing_is_closed_after_a_while) {
  SlowLink::Peer idle, slow;
  Sessions sessions{SessionLimits{.idle_sweeps_max = 3}};
  sessions.accept(std::make_unique<SlowLink>(idle), UserId{1000}, GroupId{1000});
  const ClientId reader = sessions.accept(std::make_unique<SlowLink>(slow), UserId{1000}, GroupId{1000});
  sessions.reply(reader, large_reply(5u << 20));
  sessions.accept_relayed(UserId{1000}, GroupId{1000}, [](std::string) {});
  for (int i = 0; i < 3; ++i) sessions.sweep();
  EXPECT_EQ(sessions.connections(), 3u);
  sessions.sweep();
  EXPECT_TRUE(idle.closed);
  EXPECT_FALSE(slow.closed) << "its answer is on its way";
  EXPECT_EQ(sessions.connections(), 2u) << "a relay sees to its own";
}

}  // namespace
}  // namespace millrace
