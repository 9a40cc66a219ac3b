// src/controller/requests/long_answers_test.cpp - who shares an answer, what slow readers and departed ones cost.
#include "controller/requests/long_answers.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace millrace {
namespace {

class ByHand final : public Worker {
 public:
  void run(Task work, Task then) override { pieces.push_back({std::move(work), std::move(then)}); }
  void one() {
    auto piece = std::move(pieces.front());
    pieces.pop_front();
    piece.first();
    piece.second();
  }
  void all() {
    while (!pieces.empty()) one();
  }
  std::deque<std::pair<Task, Task>> pieces;
};

// Timers that run when the test says so.
class StillLoop final : public Loop {
 public:
  Time now() const override { return time; }
  void post(Task task) override { task(); }
  TimerId after(Duration, Task task) override {
    timers.push_back(std::move(task));
    return timers.size();
  }
  void cancel(TimerId) override {}
  void elapse() {
    for (Task& task : std::exchange(timers, {})) task();
  }
  Time time{1'000'000};
  std::vector<Task> timers;
};

class Readers final : public Clients {
 public:
  void reply(ClientId client, const wire::Reply& reply) override { got[client].push_back(reply); }
  void reply_encoded(ClientId client, std::string bytes) override {
    wire::Reply reply;
    ASSERT_TRUE(reply.ParseFromString(bytes));
    got[client].push_back(reply);
  }
  void when_read(ClientId client, Task then) override {
    if (slow.contains(client))
      waiting[client] = std::move(then);
    else
      then();
  }
  void reads(ClientId client) {
    if (Task then = std::exchange(waiting[client], nullptr)) then();
  }
  std::map<ClientId, std::vector<wire::Reply>> got;
  std::map<ClientId, Task> waiting;
  std::set<ClientId> slow;
};

// Three parts, each with the moment at which the walk began.
struct Walk final : RowWalk {
  explicit Walk(int began) : moment(began) {}
  bool advance(std::string& encoded) override {
    wire::Reply reply;
    reply.mutable_pong()->set_host(std::to_string(moment));
    reply.set_more(++made < 3);
    encoded = reply.SerializeAsString();
    return made < 3;
  }
  int moment, made = 0;
};

struct LongAnswersTest : testing::Test {
  ByHand worker;
  Readers clients;
  StillLoop loop;
  FairWorker fair{worker};
  LongAnswers answers{loop, fair, clients};
  int moment = 0, begun = 0;

  void ask(ClientId client, const std::string& question = "all", UserId user = UserId{1000}) {
    answers.ask(Asker{client, user, GroupId{0}}, 100 + client, question, [this] {
      ++begun;
      return std::make_unique<Walk>(moment);
    });
  }
  void expect_whole(ClientId client, const std::string& began) {
    ASSERT_EQ(clients.got[client].size(), 3u) << client;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(clients.got[client][i].number(), 100 + client);
      EXPECT_EQ(clients.got[client][i].pong().host(), began);
      EXPECT_EQ(clients.got[client][i].more(), i < 2);
    }
  }
};

TEST_F(LongAnswersTest, Those_who_ask_while_an_answer_is_made_share_the_next_and_see_what_was_true_when_they_asked) {
  ask(1);
  worker.one();
  moment = 7;
  for (ClientId client = 2; client < 50; ++client) ask(client);
  worker.all();
  EXPECT_EQ(begun, 1) << "a crowd gathers for a while";
  moment = 8;
  ask(50);
  loop.elapse();
  worker.all();
  EXPECT_EQ(begun, 2);
  expect_whole(1, "0");
  for (ClientId client = 2; client <= 50; ++client) expect_whole(client, "8");
  ask(1);
  worker.all();
  EXPECT_EQ(begun, 3) << "what was answered is not kept";
}

TEST_F(LongAnswersTest, Other_questions_are_answered_between_the_parts) {
  ask(1);
  ask(2, "mine");
  worker.one();
  worker.one();
  EXPECT_EQ(clients.got[1].size(), 1u);
  EXPECT_EQ(clients.got[2].size(), 1u);
  worker.all();
  expect_whole(2, "0");
}

TEST_F(LongAnswersTest, Nothing_is_made_ahead_of_a_reader_that_does_not_read) {
  clients.slow = {1};
  ask(1);
  worker.all();
  EXPECT_EQ(clients.got[1].size(), 1u);
  clients.reads(1);
  worker.all();
  clients.reads(1);
  worker.all();
  expect_whole(1, "0");
}

TEST_F(LongAnswersTest, A_reader_that_does_not_read_holds_up_nobody) {
  clients.slow = {1};
  ask(1);
  worker.all();
  moment = 1;
  ask(2);
  worker.all();
  expect_whole(2, "1");
  EXPECT_EQ(clients.got[1].size(), 1u);
  clients.reads(1);
  clients.reads(1);
  expect_whole(1, "0");
}

TEST_F(LongAnswersTest, Many_rounds_that_nobody_reads_are_left_to_the_limits_of_the_links) {
  for (ClientId client = 1; client <= 12; ++client) {
    clients.slow.insert(client);
    ask(client);
    worker.all();
  }
  expect_whole(1, "0");
  EXPECT_LT(clients.got[12].size(), 3u);
  ask(99);
  worker.all();
  expect_whole(99, "0");
}

TEST_F(LongAnswersTest, An_answer_nobody_waits_for_any_more_is_not_made_to_its_end) {
  ask(1);
  worker.one();
  answers.client_left(1);
  worker.all();
  EXPECT_LE(clients.got[1].size(), 2u);
  ask(2);
  ask(3);
  answers.client_left(3);
  worker.all();
  expect_whole(2, "0");
  EXPECT_TRUE(clients.got[3].empty());
}

TEST_F(LongAnswersTest, A_client_that_leaves_among_others_takes_nothing_from_them) {
  clients.slow = {1, 2};
  ask(3);
  ask(1);
  ask(2);
  worker.all();
  answers.client_left(1);
  for (int i = 0; i < 3; ++i) {
    clients.reads(2);
    worker.all();
  }
  expect_whole(2, "0");
  expect_whole(3, "0");
}

TEST_F(LongAnswersTest, Who_has_a_thousand_questions_holds_up_nobody) {
  for (ClientId client = 1; client <= 1000; ++client) ask(client, "question " + std::to_string(client));
  ask(2000, "all", UserId{2000});
  int parts = 0;
  while (clients.got[2000].size() < 3) {
    worker.one();
    ++parts;
  }
  EXPECT_LT(parts, 12) << "users take turns";
  EXPECT_LT(begun, 20) << "and few of one user's questions are being answered at a time";
  worker.all();
  for (ClientId client = 1; client <= 1000; ++client) expect_whole(client, "0");
}

TEST_F(LongAnswersTest, An_answer_that_others_wait_for_too_is_made_in_the_turn_of_who_asks_least) {
  for (ClientId client = 1; client <= 6; ++client) ask(client, "question " + std::to_string(client));
  ask(7, "all");
  ask(2000, "all", UserId{2000});  // the next round of it
  int parts = 0;
  while (clients.got[2000].size() < 3) {
    worker.one();
    ++parts;
  }
  EXPECT_LT(parts, 33);
  worker.all();
}

TEST_F(LongAnswersTest, What_one_user_reads_slowly_holds_up_nobody_who_asks_the_same) {
  for (ClientId client = 1; client <= 16; ++client) {
    clients.slow.insert(client);
    ask(client, "question " + std::to_string(client));
  }
  worker.all();
  ask(17, "all");  // held: sixteen of his are half read
  ask(2000, "all", UserId{2000});
  worker.all();
  expect_whole(2000, "0");
  expect_whole(17, "0");
}

TEST_F(LongAnswersTest, Questions_of_clients_that_left_are_not_begun) {
  for (ClientId client = 1; client <= 20; ++client) ask(client, "question " + std::to_string(client));
  for (ClientId client = 1; client <= 20; ++client) answers.client_left(client);
  worker.all();
  EXPECT_EQ(begun, 16);
  ask(30, "question 30");
  worker.all();
  expect_whole(30, "0");
}

}  // namespace
}  // namespace millrace
