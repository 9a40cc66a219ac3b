// src/controller/requests/waiting_requests_test.cpp - what requests that wait for their turn or their answer may cost.
#include "controller/controller_fixture.h"

namespace millrace {
namespace {

class WaitingRequestsTest : public ControllerTest {
 protected:
  struct Client {
    ClientId id = 0;
    std::vector<wire::Reply> replies;
    ReplyJoiner joiner;
  };

  std::unique_ptr<Client> connect(std::uint32_t uid) {
    auto client = std::make_unique<Client>();
    client->id = sessions.accept_relayed(UserId{uid}, GroupId{uid}, [&out = *client, this, uid](std::string frame) {
      auto reply = out.joiner.take(frame);
      ASSERT_TRUE(reply);
      if (!*reply) return;
      out.replies.push_back(**std::move(reply));
      answered.push_back(uid);
    });
    return client;
  }

  void send(const Client& client, wire::Request request, std::uint64_t number = 1) {
    request.set_protocol(protocol_version);
    request.set_number(number);
    sessions.relayed_message(client.id, request.SerializeAsString());
  }

  std::vector<std::uint32_t> answered;  // users, in the order of their answers
};

wire::Request cancel_of_unknown_jobs(int count) {
  wire::Request request;
  for (int i = 0; i < count; ++i)
    request.mutable_cancel()->add_jobs()->set_job_id(1'000'000u + static_cast<unsigned>(i));
  return request;
}

TEST_F(WaitingRequestsTest, Memory_of_one_users_requests_is_bounded_over_all_connections) {
  start();
  std::vector<std::unique_ptr<Client>> clients;
  wire::Request large;
  *large.mutable_submit() = a_job(3);
  large.mutable_submit()->set_script("#!/bin/sh\n" + std::string(13u << 20, '#'));
  for (int i = 0; i < 40; ++i) {
    clients.push_back(connect(1000));
    send(*clients.back(), large);
  }
  const auto refused = [](const auto& client) {
    return !client->replies.empty() && client->replies[0].failure().code() == 2037;
  };
  EXPECT_GT(std::ranges::count_if(clients, refused), 10);
  EXPECT_NE(clients.back()->replies.at(0).failure().notes(0).find("ask again"), std::string::npos);
  const auto other = connect(1001);
  wire::Request ping;
  ping.mutable_ping();
  send(*other, ping);
  run();
  ASSERT_EQ(other->replies.size(), 1u);
  EXPECT_TRUE(other->replies[0].has_pong());
  // What has been answered counts no more.
  const auto again = connect(1000);
  send(*again, ping);
  run();
  EXPECT_TRUE(again->replies.at(0).has_pong());
}

TEST_F(WaitingRequestsTest, What_a_client_asked_for_ends_with_it_and_counts_no_more) {
  start();
  for (int i = 0; i < 100; ++i) {
    const auto client = connect(1000);
    send(*client, cancel_of_unknown_jobs(65'000));
    EXPECT_TRUE(client->replies.empty()) << i;
    sessions.relayed_closed(client->id);
  }
  run();
}

TEST_F(WaitingRequestsTest, Who_waits_for_jobs_keeps_none_of_his_other_requests_waiting) {
  add_job(a_job(3));
  start();
  wire::Request wait, ping;
  wait.mutable_wait_job()->set_job_id(1);
  ping.mutable_ping();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 129; ++i) {
    clients.push_back(connect(1000));
    for (std::uint64_t number = 1; number <= 256; ++number) send(*clients.back(), wait, number);
    run();
  }
  EXPECT_TRUE(clients[127]->replies.empty());
  ASSERT_EQ(clients[128]->replies.size(), 256u) << "so many may wait";
  EXPECT_EQ(clients[128]->replies[0].failure().code(), 2037u);
  const auto one_more = connect(1000);
  send(*one_more, ping);
  run();
  EXPECT_TRUE(one_more->replies.at(0).has_pong());
  sessions.relayed_closed(clients.front()->id);
  send(*one_more, wait, 2);
  run();
  EXPECT_EQ(one_more->replies.size(), 1u) << "there is a place again, and it waits";
}

TEST_F(WaitingRequestsTest, Number_of_one_users_requests_that_are_not_taken_up_is_bounded) {
  start();
  wire::Request ping;
  ping.mutable_ping();
  std::vector<std::unique_ptr<Client>> clients;
  std::size_t refused = 0;
  for (int i = 0; i < 17; ++i) {
    clients.push_back(connect(1000));
    for (std::uint64_t number = 1; number <= 256; ++number) send(*clients.back(), ping, number);
  }
  for (const auto& client : clients)
    for (const wire::Reply& reply : client->replies) refused += reply.has_failure() ? 1 : 0;
  EXPECT_GE(refused, 255u);
  run();
}

TEST_F(WaitingRequestsTest, Users_take_turns_with_their_requests) {
  start();
  wire::Request ping;
  ping.mutable_ping();
  std::vector<std::unique_ptr<Client>> crowd;
  for (int i = 0; i < 100; ++i) {
    crowd.push_back(connect(1000));
    send(*crowd.back(), ping);
  }
  const auto other = connect(1001);
  send(*other, ping);
  run();
  ASSERT_EQ(answered.size(), 101u);
  const auto at = std::ranges::find(answered, 1001u) - answered.begin();
  EXPECT_LE(at, 3) << "not behind what somebody else has sent before";
}

TEST_F(WaitingRequestsTest, Signals_for_very_many_jobs_are_sent_in_pieces) {
  start();
  wire::Request signal = cancel_of_unknown_jobs(60'000), ping;
  signal.mutable_cancel()->set_signal(10);
  ping.mutable_ping();
  const auto first = connect(1000), second = connect(1001);
  send(*first, signal);
  send(*second, ping);
  run();
  EXPECT_EQ(answered, (std::vector<std::uint32_t>{1001, 1000}));
  EXPECT_EQ(first->replies.at(0).jobs_changed().failed_size(), 60'000);
}

}  // namespace
}  // namespace millrace
