// src/agent/relay_test.cpp - many clients on one link to the controller: it never has too much to carry, and users take
// turns.
#include "agent/relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client.pb.h"

namespace millrace {
namespace {

constexpr std::size_t large = 13u << 20;

class RelayTest : public ::testing::Test {
 protected:
  struct Client {
    Relay::ClientId id = 0;
    bool held = false;
    std::vector<std::string> answers;
  };
  RelayTest() { connect(); }
  void connect() {
    relay_.connected({[this](const wire::RelayedRequest& request) {
                        users_.push_back(request.uid());
                        unsent_ += request.request().size();
                        most_unsent_ = std::max(most_unsent_, unsent_);
                      },
                      [this](Relay::ClientId id) { closed_.push_back(id); }, [this] { return unsent_; },
                      [this](std::size_t below, Task then) {
                        EXPECT_GE(unsent_, below);
                        wish_ = std::move(then);
                      }});
  }
  Client& client(std::uint32_t uid) {
    Client& made = *clients_.emplace_back(std::make_unique<Client>());
    made.id = relay_.open(
        uid, uid, [&made](std::string bytes) { made.answers.push_back(std::move(bytes)); },
        [&made](bool held) { made.held = held; });
    return made;
  }
  void ask(const Client& client, std::size_t size) {
    wire::Request request;
    request.set_number(++number_);
    request.mutable_submit()->set_script(std::string(size, 'x'));
    relay_.request(client.id, request.SerializeAsString());
  }
  // The controller has taken everything.
  void drain() {
    unsent_ = 0;
    if (Task then = std::exchange(wish_, nullptr)) then();
  }

  std::vector<std::unique_ptr<Client>> clients_;
  Relay relay_;
  std::uint64_t number_ = 0;
  std::vector<std::uint32_t> users_;  // whose requests have left, in order
  std::vector<Relay::ClientId> closed_;
  std::size_t unsent_ = 0, most_unsent_ = 0;
  Task wish_;
};

TEST_F(RelayTest, A_user_with_many_large_requests_neither_ends_the_link_nor_keeps_others_from_it) {
  Client* greedy[10];
  for (Client*& each : greedy) each = &client(1000);
  Client& other = client(1001);
  for (const Client* each : greedy) ask(*each, large);  // all in one turn of the loop
  EXPECT_EQ(users_.size(), 1u);
  for (const Client* each : greedy) EXPECT_TRUE(each->held);
  EXPECT_FALSE(other.held);
  EXPECT_TRUE(client(1000).held) << "nor is his next connection read";
  ask(other, 1);
  ask(other, 1);
  drain();
  drain();
  EXPECT_EQ(users_, (std::vector<std::uint32_t>{1000, 1001, 1000, 1001, 1000}));
  for (int i = 0; i < 8; ++i) drain();
  EXPECT_EQ(users_.size(), 12u);
  EXPECT_LT(most_unsent_, Relay::unsent_enough + large + 100);
  for (const Client* each : greedy) EXPECT_FALSE(each->held);
  EXPECT_TRUE(std::ranges::all_of(clients_, [](const auto& each) { return each->answers.empty(); }));
}

TEST_F(RelayTest, When_all_users_together_have_much_waiting_nobody_is_read_until_it_is_less) {
  ask(client(1), large);
  constexpr std::uint32_t users = Relay::waiting_enough / large + 2;
  for (std::uint32_t uid = 2; uid < 2 + users; ++uid) ask(client(uid), large);
  Client& last = client(5000);
  EXPECT_TRUE(last.held);
  EXPECT_TRUE(relay_.waits(last.id)) << "it is not closed as one that asks nothing";
  for (int i = 0; i < 4; ++i) drain();
  EXPECT_FALSE(last.held);
}

TEST_F(RelayTest, What_waits_of_a_client_that_goes_is_not_asked) {
  Client& first = client(1000);
  Client& second = client(1000);
  ask(first, large);
  ask(first, large);
  ask(second, 1);
  EXPECT_TRUE(second.held);
  relay_.close(first.id);
  EXPECT_FALSE(second.held);
  EXPECT_EQ(closed_, std::vector<Relay::ClientId>{first.id});
  drain();
  EXPECT_EQ(users_.size(), 2u);
}

TEST_F(RelayTest, What_waits_when_the_connection_breaks_is_answered_and_never_sent) {
  Client& one = client(1000);
  ask(one, large);
  ask(one, large);
  relay_.disconnected();
  EXPECT_EQ(one.answers.size(), 2u);
  EXPECT_FALSE(one.held);
  connect();
  drain();
  EXPECT_EQ(users_.size(), 1u);
  ask(one, 1);
  EXPECT_EQ(users_.size(), 2u);
}

}  // namespace
}  // namespace millrace
