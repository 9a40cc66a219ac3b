// src/step/x11/x11_forward_test.cpp - a display of a step is its own on every address that "localhost" may be.
#include "step/x11/x11_forward.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace {
namespace {

class X11ForwardTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(forward_.open(0)); }
  ~X11ForwardTest() override {
    for (const int fd : ours_) close(fd);
  }
  std::uint16_t port() const { return static_cast<std::uint16_t>(6000 + std::stoi(forward_.display().substr(10))); }
  int make_socket(int family) {
    ours_.push_back(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ours_.back();
  }
  static sockaddr_in6 six(std::uint16_t port) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
    return address;
  }
  // Whether an address of loopback is there: on a port of the kernel's choice.
  bool has_six() {
    const sockaddr_in6 address = six(0);
    const int fd = make_socket(AF_INET6);
    return fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  int call_four() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = make_socket(AF_INET);
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
  }
  std::vector<wire::X11Piece> handle_all() {
    std::vector<pollfd> polls;
    forward_.add_polls(polls, true);
    poll(polls.data(), polls.size(), 0);
    std::vector<wire::X11Piece> out;
    for (const pollfd& one : polls)
      if (one.revents != 0) {
        EXPECT_TRUE(forward_.handle(one, out));
      }
    return out;
  }
  std::size_t polled() const {
    std::vector<pollfd> polls;
    forward_.add_polls(polls, true);
    return polls.size();
  }

  X11Forward forward_;
  std::vector<int> ours_;
};

TEST_F(X11ForwardTest, Both_addresses_of_localhost_are_served) {
  EXPECT_TRUE(forward_.display().starts_with("localhost:"));
  EXPECT_EQ(polled(), has_six() ? 2u : 1u);
  std::vector<int> callers{call_four()};
  if (has_six()) {
    const sockaddr_in6 address = six(port());
    callers.push_back(make_socket(AF_INET6));
    ASSERT_EQ(connect(callers.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  for (const int fd : callers) ASSERT_EQ(write(fd, "l", 1), 1);
  EXPECT_TRUE(handle_all().empty());  // they are let in
  EXPECT_EQ(handle_all().size(), callers.size());
}

TEST_F(X11ForwardTest, A_number_of_which_somebody_has_one_address_is_not_taken) {
  if (!has_six()) GTEST_SKIP() << "no ::1 here";
  const std::string before = forward_.display();
  const sockaddr_in6 address = six(port());
  forward_.close();
  const int thief = make_socket(AF_INET6);
  ASSERT_EQ(bind(thief, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(thief, 1), 0);
  ASSERT_TRUE(forward_.open(0));
  EXPECT_NE(forward_.display(), before);
}

TEST_F(X11ForwardTest, What_programs_do_not_read_is_bounded_for_all_of_them) {
  constexpr std::uint32_t programs = 6;
  const std::size_t listeners = polled();
  for (std::uint32_t i = 0; i < programs; ++i) ASSERT_GE(call_four(), 0);
  handle_all();
  ASSERT_EQ(polled(), listeners + programs);
  wire::X11Piece piece;
  piece.set_data(std::string(15u << 20, 'x'));
  for (std::uint32_t i = 1; i <= programs; ++i) {
    piece.set_connection(i);
    forward_.take(piece);
  }
  EXPECT_LT(polled(), listeners + programs) << "who goes beyond the sum is closed";
  EXPECT_GE(polled(), listeners + 4) << "and nobody else";
}

}  // namespace
}  // namespace millrace
