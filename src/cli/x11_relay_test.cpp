// src/cli/x11_relay_test.cpp - the cookie of a node is exchanged for the real one, and nothing else passes.
#include "cli/x11_relay.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Verdict = X11Greeting::Verdict;

std::string greeting(char order, std::string_view kind, std::string_view cookie) {
  const auto number = [&](std::size_t n) {
    const char low = static_cast<char>(n & 0xff), high = static_cast<char>(n >> 8);
    return order == 'B' ? std::string{high, low} : std::string{low, high};
  };
  const auto pad = [](std::string_view text) {
    std::string out{text};
    out.resize((text.size() + 3) / 4 * 4, '\0');
    return out;
  };
  return std::string{order, '\0'} + number(11) + number(0) + number(kind.size()) + number(cookie.size()) +
         std::string(2, '\0') + pad(kind) + pad(cookie);
}

constexpr std::string_view kind = "MIT-MAGIC-COOKIE-1";
constexpr std::string_view ours = "0123456789abcdef", real = "the one of the display!!";

TEST(X11Relay, TheNodesCookieIsReplacedInBothByteOrders) {
  for (const char order : {'l', 'B'}) {
    X11Greeting one;
    ASSERT_EQ(one.take(greeting(order, kind, ours) + "first request", ours, real), Verdict::good);
    EXPECT_EQ(one.bytes(), greeting(order, kind, real) + "first request");
  }
}

TEST(X11Relay, AGreetingMayComeByteByByte) {
  X11Greeting one;
  const std::string whole = greeting('l', kind, ours);
  for (std::size_t i = 0; i + 1 < whole.size(); ++i)
    ASSERT_EQ(one.take(whole.substr(i, 1), ours, real), Verdict::wants_more);
  EXPECT_EQ(one.take(whole.substr(whole.size() - 1), ours, real), Verdict::good);
}

TEST(X11Relay, WhoDoesNotKnowTheNodesCookieIsTurnedAway) {
  EXPECT_EQ(X11Greeting{}.take(greeting('l', kind, "fedcba9876543210"), ours, real), Verdict::bad);
  EXPECT_EQ(X11Greeting{}.take(greeting('l', kind, ""), ours, real), Verdict::bad);
  EXPECT_EQ(X11Greeting{}.take(greeting('l', kind, ""), "", real), Verdict::bad);  // the node has not said its own
  EXPECT_EQ(X11Greeting{}.take(greeting('l', "XDM-AUTHORIZATION-1", ours), ours, real), Verdict::bad);
  EXPECT_EQ(X11Greeting{}.take("GET / HTTP/1.1", ours, real), Verdict::bad);
  EXPECT_EQ(X11Greeting{}.take(std::string{"l\0\0\0\0\0\xff\xff\xff\xff\0\0", 12}, ours, real), Verdict::bad);
}

TEST(X11Relay, NamesOfDisplays) {
  const auto local = parse_display(":3.1");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->host, "");
  EXPECT_EQ(local->number, 3u);
  EXPECT_EQ(local->screen, 1u);
  EXPECT_EQ(parse_display("unix:0")->host, "");
  EXPECT_EQ(parse_display("localhost:10.0")->host, "localhost");
  for (const char* wrong : {"", "host", ":", ":x", ":1.y", ":-1", "h:99999"})
    EXPECT_FALSE(parse_display(wrong)) << wrong;
}

TEST(X11Relay, CookiesOfXauth) {
  EXPECT_EQ(cookie_of_listing("login/unix:0  XDM-AUTHORIZATION-1  0011\nlogin/unix:0  MIT-MAGIC-COOKIE-1  4142\n"),
            "AB");
  EXPECT_EQ(cookie_of_listing("login/unix:0  MIT-MAGIC-COOKIE-1  414\n"), "");
  EXPECT_EQ(cookie_of_listing(""), "");
}

TEST(X11Relay, APieceForAConnectionThatIsNotThereIsAnsweredWithItsEnd) {
  X11Relay relay({.host = "", .number = 59000, .screen = 0, .cookie = std::string{real}});
  wire::X11Piece hello;
  hello.set_cookie(std::string{ours});
  relay.take(2, hello);
  wire::X11Piece piece;
  piece.set_connection(1);
  piece.set_data(greeting('l', kind, ours));
  relay.take(2, piece);  // nobody is display 59000
  const auto out = relay.take_outgoing();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].node, 2u);
  EXPECT_TRUE(out[0].piece.ended());
}

}  // namespace
}  // namespace millrace
