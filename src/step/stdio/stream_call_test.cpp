// src/step/stdio/stream_call_test.cpp - a call to srun that nobody answers ends in time; the test has the clock.
#include "step/stdio/stream_call.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/patience_fixture.h"

namespace millrace {
namespace {

constexpr std::int64_t second = 1'000'000;

class StreamCallTest : public testing::Test {
 protected:
  void SetUp() override {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener_, 4), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    peer_.set_host("127.0.0.1");
    peer_.set_port(ntohs(address.sin_port));
    peer_.set_secret(std::string(32, 's'));
  }
  void TearDown() override { close(listener_); }
  // What its owner does until it is connected.
  void connect(StreamCall& call) {
    while (call.state() == StreamCall::State::under_way && call.events() == POLLOUT) {
      pollfd one{call.fd(), call.events(), 0};
      ASSERT_EQ(poll(&one, 1, patience_ms()), 1);
      call.handle(0);
    }
  }

  int listener_ = -1;
  wire::StdioEndpoint peer_;
  const StreamParty self_{12, 0, "n1"};
};

TEST_F(StreamCallTest, Who_says_nothing_is_given_up_after_its_time) {
  StreamCall call(peer_, self_, 0);
  connect(call);
  ASSERT_EQ(call.state(), StreamCall::State::under_way);
  EXPECT_EQ(call.deadline_us(), 60 * second);
  call.on_time(60 * second - 1);
  EXPECT_EQ(call.state(), StreamCall::State::under_way);
  call.on_time(60 * second);
  EXPECT_EQ(call.state(), StreamCall::State::failed);
  EXPECT_NE(call.problem().find("did not prove to be the srun of this step in time"), std::string::npos);
  EXPECT_LT(call.fd(), 0);
}

TEST_F(StreamCallTest, Half_a_frame_does_not_make_its_time_longer) {
  StreamCall call(peer_, self_, 0);
  connect(call);
  const int srun = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const std::string bytes = frame(std::string(100, 'x')).substr(0, 60);
  ASSERT_EQ(send(srun, bytes.data(), bytes.size(), MSG_NOSIGNAL), 60);
  pollfd one{call.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&one, 1, patience_ms()), 1);
  call.handle(59 * second);
  EXPECT_EQ(call.state(), StreamCall::State::under_way);
  call.on_time(60 * second);
  EXPECT_EQ(call.state(), StreamCall::State::failed);
  close(srun);
}

TEST_F(StreamCallTest, Nobody_is_called_with_a_secret_that_could_be_guessed) {
  peer_.set_secret("short");
  const StreamCall call(peer_, self_, 0);
  EXPECT_EQ(call.state(), StreamCall::State::failed);
  EXPECT_NE(call.problem().find("no secret of its own"), std::string::npos);
}

TEST_F(StreamCallTest, A_name_is_looked_up_by_somebody_else_and_given_up_in_time) {
  peer_.set_host("localhost");
  StreamCall call(peer_, self_, 0);
  EXPECT_EQ(call.events(), POLLIN) << "it waits for the addresses";
  while (call.state() == StreamCall::State::under_way && call.events() == POLLIN) {
    pollfd one{call.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&one, 1, patience_ms()), 1);
    call.handle(0);
    if (call.deadline_us() == 60 * second) break;  // connected at once
  }
  connect(call);
  EXPECT_EQ(call.state(), StreamCall::State::under_way) << call.problem();
  EXPECT_EQ(call.deadline_us(), 60 * second);
  StreamCall another(peer_, self_, 0);
  another.on_time(10 * second);
  EXPECT_EQ(another.state(), StreamCall::State::failed);
}

}  // namespace
}  // namespace millrace
