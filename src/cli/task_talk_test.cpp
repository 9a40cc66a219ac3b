// src/cli/task_talk_test.cpp - what srun tells a node that comes late, and what of a node's words it takes.
#include "cli/task_talk.h"

#include <gtest/gtest.h>

#include "wire/limits.h"

namespace millrace {
namespace {

class Talking : public testing::Test {
 protected:
  std::vector<wire::ToTask> told(TaskTalk::Peer& peer) {
    std::vector<wire::ToTask> out;
    FrameReader reader(request_size_max);
    reader.feed(std::exchange(peer.unsent, {}));
    while (const auto bytes = reader.next()) {
      if (!*bytes) break;
      EXPECT_TRUE(out.emplace_back().ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size())));
    }
    return out;
  }
  bool say(TaskTalk& talk, TaskTalk::Peer& peer, const wire::FromTask& message) {
    return talk.take(peer, frame(message.SerializeAsString()));
  }
  TaskTalk::Peer& proved(TaskTalk& talk) {
    TaskTalk::Peer& peer = talk.join();
    const CallerProof node(secret_, {12, 0, "n1"});
    wire::FromTask message;
    *message.mutable_proof() = node.opening();
    EXPECT_TRUE(say(talk, peer, message));
    *message.mutable_proof() = node.answer(told(peer).at(0).proof()).value();
    EXPECT_TRUE(say(talk, peer, message));
    return peer;
  }
  wire::FromTask hello(std::uint32_t tasks) {
    wire::FromTask message;
    message.mutable_hello()->set_tasks(tasks);
    message.mutable_hello()->set_node_name("n1");
    return message;
  }
  const std::string secret_ = std::string(32, 's');
};

TEST_F(Talking, Input_for_one_task_is_for_it_alone_also_when_its_node_comes_later) {
  StreamOptions options;
  options.only_input_to = 1;
  TaskTalk talk(secret_, options);
  talk.set_task_count(2);
  talk.send_input("early");
  talk.end_input();
  TaskTalk::Peer& peer = proved(talk);
  ASSERT_TRUE(say(talk, peer, hello(2)));
  const auto messages = told(peer);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].input(), "early");
  EXPECT_TRUE(messages[0].has_input_task());
  EXPECT_EQ(messages[0].input_task(), 1u);
  EXPECT_TRUE(messages[1].input_ended());
  EXPECT_FALSE(messages[1].has_input_task()) << "the end of the input is everybody's";
}

TEST_F(Talking, Input_that_is_longer_than_a_node_takes_at_once_is_told_in_pieces) {
  TaskTalk talk(secret_, {});
  talk.set_task_count(1);
  const std::string input(input_piece_max * 5 / 2, 'x');
  talk.send_input(input);
  TaskTalk::Peer& peer = proved(talk);
  ASSERT_TRUE(say(talk, peer, hello(1)));
  talk.send_input(input);
  const auto messages = told(peer);
  ASSERT_EQ(messages.size(), 6u);
  std::size_t heard = 0;
  for (const wire::ToTask& message : messages) {
    EXPECT_LE(message.input().size(), input_piece_max);
    heard += message.input().size();
  }
  EXPECT_EQ(heard, 2 * input.size());
}

TEST_F(Talking, A_node_with_more_tasks_than_there_can_be_is_not_welcome) {
  TaskTalk talk(secret_, {});
  EXPECT_FALSE(say(talk, proved(talk), hello(UINT32_MAX)));
  EXPECT_EQ(talk.tasks_started(), 0u);
}

}  // namespace
}  // namespace millrace
