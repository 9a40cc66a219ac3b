// src/cli/task_streams_test.cpp - how lines of many tasks become one stream, and how their ends are told.
#include "cli/task_streams.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/patience_fixture.h"
#include "cli/srun_console.h"

namespace millrace {
namespace {

class Lines : public testing::Test {
 protected:
  Lines() { EXPECT_EQ(pipe(pipe_), 0); }
  ~Lines() override { close(pipe_[0]); }
  std::string written() {
    close(pipe_[1]);
    char buffer[4096];
    const ssize_t got = read(pipe_[0], buffer, sizeof buffer);
    return {buffer, static_cast<std::size_t>(got < 0 ? 0 : got)};
  }
  StreamOptions options(bool label) { return {label, false, pipe_[1], pipe_[1], {}}; }
  int pipe_[2];
};

TEST_F(Lines, Do_not_mix) {
  OutputLines lines(options(false));
  lines.set_task_count(2);
  lines.take(0, false, "fir");
  lines.take(1, false, "second\n");
  lines.take(0, false, "st\nno newline");
  lines.flush(0);
  EXPECT_EQ(written(), "second\nfirst\nno newline");
}

TEST_F(Lines, Labels_are_as_wide_as_the_largest_task) {
  OutputLines lines(options(true));
  lines.set_task_count(11);
  lines.take(3, false, "a\nb\nc");
  lines.flush(3);
  EXPECT_EQ(written(), "03: a\n03: b\n03: c\n");
}

TEST_F(Lines, Of_one_task_alone_when_asked) {
  StreamOptions only = options(false);
  only.only_output_of = 1;
  OutputLines lines(only);
  lines.set_task_count(2);
  lines.take(0, false, "no\n");
  lines.take(1, false, "yes\n");
  EXPECT_EQ(written(), "yes\n");
}

TEST(Streams, Tasks_that_went_with_their_node_are_not_waited_for) {
  TaskStreams streams("secret", {});
  streams.set_task_count(2);
  streams.lose({1});
  streams.lose({1});
  EXPECT_EQ(streams.tasks_ended(), 1u);
  EXPECT_FALSE(streams.all_ended());
  streams.lose({0, 1});
  EXPECT_TRUE(streams.all_ended());
  EXPECT_TRUE(streams.take_ends().empty());
}

// Calls a listening TaskStreams as a node does, and plays the rest of srun.
class Called : public testing::Test {
 protected:
  explicit Called(StrangersMax strangers_max = {}) : streams_(secret_, {}, strangers_max) {}
  void SetUp() override {
    const auto port = streams_.listen({"127.0.0.1", true, 0, 0});
    ASSERT_TRUE(port);
    address_.sin_family = AF_INET;
    address_.sin_port = htons(*port);
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    node_ = call("127.0.0.1");
    streams_.set_task_count(1);
  }
  void TearDown() override {
    for (const int caller : callers_) close(caller);
  }
  // From an address of this machine's.
  int call(const char* from) {
    const int caller = callers_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(bind(caller, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(connect(caller, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return caller;
  }
  // One turn of srun's loop; how many connections there are then.
  std::size_t turn() {
    std::vector<pollfd> entries;
    streams_.add_to(entries);
    EXPECT_GT(poll(entries.data(), entries.size(), patience_ms()), 0);
    streams_.handle(entries);
    entries.clear();
    streams_.add_to(entries);
    return entries.size() - 1;
  }
  bool is_open(int caller) {
    char byte = 0;
    return recv(caller, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
  }
  void say(const std::string& bytes) {
    ASSERT_EQ(send(node_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void say(const wire::FromTask& message) { say(frame(message.SerializeAsString())); }
  void say(const wire::StreamProof& proof) {
    wire::FromTask message;
    *message.mutable_proof() = proof;
    say(message);
  }
  // srun's loop until it has sent a whole message, or closed the connection.
  std::optional<wire::ToTask> hear() {
    for (;;) {
      const auto bytes = reader_.next();
      if (bytes && *bytes) {
        wire::ToTask message;
        EXPECT_TRUE(message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size())));
        return message;
      }
      std::vector<pollfd> entries{{node_, POLLIN, 0}};
      streams_.add_to(entries);
      if (poll(entries.data(), entries.size(), patience_ms()) <= 0) return std::nullopt;
      streams_.handle(entries);
      if (entries[0].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = recv(node_, buffer, sizeof buffer, 0);
      if (got <= 0) return std::nullopt;
      reader_.feed({buffer, static_cast<std::size_t>(got)});
    }
  }
  wire::StreamProof challenge() {
    say(proof_.opening());
    const auto answer = hear();
    EXPECT_TRUE(answer && answer->has_proof());
    return answer.value_or(wire::ToTask{}).proof();
  }
  wire::FromTask hello() {
    wire::FromTask message;
    message.mutable_hello()->set_tasks(1);
    message.mutable_hello()->set_node_name("n1");
    return message;
  }

  const std::string secret_ = std::string(32, 's');
  const CallerProof proof_{secret_, {12, 0, "n1"}};
  TaskStreams streams_;
  sockaddr_in address_{};
  std::vector<int> callers_;
  int node_ = -1;
  FrameReader reader_{1u << 20};
};

TEST_F(Called, By_a_node_that_proves_itself_its_tasks_get_the_input) {
  streams_.send_input("for the task");
  const auto own = proof_.answer(challenge());
  ASSERT_TRUE(own);
  say(*own);
  say(hello());
  const auto input = hear();
  ASSERT_TRUE(input);
  EXPECT_EQ(input->input(), "for the task");
  EXPECT_EQ(streams_.tasks_started(), 1u);
  EXPECT_EQ(streams_.due_us(), INT64_MAX);
}

TEST_F(Called, With_a_hello_but_no_proof_it_says_nothing) {
  streams_.send_input("for the task");
  say(hello());
  EXPECT_FALSE(hear());
  EXPECT_EQ(streams_.tasks_started(), 0u);
}

TEST_F(Called, With_its_own_proof_sent_back_or_a_wrong_one_it_hangs_up) {
  streams_.send_input("for the task");
  say(challenge());  // srun's own code
  say(hello());
  EXPECT_FALSE(hear());
  EXPECT_EQ(streams_.tasks_started(), 0u);
}

TEST_F(Called, With_a_frame_that_is_too_large_or_none_at_all_it_hangs_up) {
  say(frame(std::string(proof_frame_max + 1, 'x')).substr(0, 64));
  EXPECT_FALSE(hear());
}

TEST_F(Called, Who_says_nothing_or_half_a_frame_has_a_time_limit) {
  say(frame(std::string(100, 'x')).substr(0, 50));
  std::vector<pollfd> entries;
  while (streams_.due_us() == INT64_MAX) {
    entries.clear();
    streams_.add_to(entries);
    ASSERT_GT(poll(entries.data(), entries.size(), patience_ms()), 0);
    streams_.handle(entries);
  }
  EXPECT_FALSE(streams_.has_connections());
}

TEST_F(Called, Before_its_files_are_open_it_proves_itself_and_reads_no_further) {
  streams_.set_ready(false);
  const auto own = proof_.answer(challenge());
  ASSERT_TRUE(own);
  say(*own);
  say(hello());
  while (streams_.due_us() != INT64_MAX) {  // until the proof has been read
    std::vector<pollfd> entries;
    streams_.add_to(entries);
    ASSERT_GT(poll(entries.data(), entries.size(), patience_ms()), 0);
    streams_.handle(entries);
  }
  EXPECT_EQ(streams_.tasks_started(), 0u);
  streams_.set_ready(true);
  while (streams_.tasks_started() == 0) {
    std::vector<pollfd> entries;
    streams_.add_to(entries);
    ASSERT_GT(poll(entries.data(), entries.size(), patience_ms()), 0);
    streams_.handle(entries);
  }
}

TEST_F(Called, By_many_at_once_it_takes_a_few_in_a_turn) {
  const auto own = proof_.answer(challenge());
  ASSERT_TRUE(own);
  say(*own);
  while (streams_.due_us() != INT64_MAX) turn();
  for (int i = 0; i < 300; ++i) call("127.0.0.1");
  say(hello());
  std::size_t connections = 1;
  while (connections < 301) {
    const std::size_t before = std::exchange(connections, turn());
    ASSERT_LE(connections, before + 64);
  }
  while (streams_.tasks_started() == 0) turn();
}

class CalledByStrangers : public Called {
 protected:
  CalledByStrangers() : Called({6, 3}) {}
};

TEST_F(CalledByStrangers, Those_of_one_host_make_room_for_each_other) {
  const int other = call("127.0.0.3");
  std::vector<int> many;
  for (int i = 0; i < 10; ++i) many.push_back(call("127.0.0.2"));
  EXPECT_EQ(turn(), 5u);
  EXPECT_TRUE(is_open(node_));
  EXPECT_TRUE(is_open(other));
  EXPECT_FALSE(is_open(many[6]));
  for (const std::size_t last : {7u, 8u, 9u}) EXPECT_TRUE(is_open(many[last])) << last;
}

TEST_F(CalledByStrangers, Of_all_hosts_the_oldest_makes_room) {
  for (const char* host : {"127.0.0.2", "127.0.0.3", "127.0.0.4"})
    for (int i = 0; i < 2; ++i) call(host);
  EXPECT_EQ(turn(), 6u);
  EXPECT_FALSE(is_open(node_));
}

TEST_F(CalledByStrangers, Who_has_begun_to_prove_itself_stays_while_others_say_nothing) {
  const auto own = proof_.answer(challenge());
  ASSERT_TRUE(own);
  for (int i = 0; i < 10; ++i) call("127.0.0.1");
  EXPECT_EQ(turn(), 3u);
  say(*own);
  say(hello());
  while (is_open(node_) && streams_.tasks_started() == 0) turn();
  EXPECT_EQ(streams_.tasks_started(), 1u);
}

TEST(EndLines, Group_what_ended_alike) {
  const auto lines = end_lines({{0, "n1", 2, 0, false},
                                {1, "n1", 2, 0, false},
                                {2, "n2", 2, 0, false},
                                {3, "n2", 0, 9, true},
                                {4, "n2", 0, 0, false}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "n2: task 3: Killed (core dumped)");
  EXPECT_EQ(lines[1], "n[1-2]: tasks 0-2: Exited with exit code 2");
}

TEST(OwnPattern, Knows_the_job) {
  EXPECT_EQ(expand_own_pattern("o.%4j-%J.%x%%", 12, "n"), "o.0012-12.0.n%");
  EXPECT_EQ(expand_own_pattern("a\\%j", 12, "n"), "a%j") << "a backslash means: as it is";
}

}  // namespace
}  // namespace millrace
