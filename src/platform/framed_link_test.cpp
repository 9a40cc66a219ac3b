// src/platform/framed_link_test.cpp - messages over real sockets, and every kind of peer that does not behave.
#include "platform/framed_link.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <fstream>

#include "platform/dialer.h"
#include "platform/listener.h"
#include "platform/loop_fixture.h"
#include "platform/worker.h"

namespace millrace {
namespace {

struct FramedLinkTest : LoopTest {
  TemporaryDirectory directory;
  std::string path = directory.path + "/socket";
  // Sessions as a server keeps them: a handler and its link.
  struct Session {
    Recorder heard;
    std::unique_ptr<FramedLink> link;
  };
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::string> refused;
  std::unique_ptr<Listener> listener;

  Listener::Settings settings(LinkLimits limits = {}) {
    Listener::Settings made;
    made.limits = limits;
    made.refused = [this](std::string_view story) {
      refused.emplace_back(story);
      loop.stop();
    };
    return made;
  }
  void listen(Listener::Settings with) {
    auto made = Listener::on_unix(loop, path, 0666, std::move(with), accept());
    ASSERT_TRUE(made) << made.error().story;
    listener = *std::move(made);
  }
  Listener::Accepted accept() {
    return [this](std::unique_ptr<FramedLink> link) {
      sessions.push_back(std::make_unique<Session>(Recorder{loop}, std::move(link)));
      sessions.back()->link->start(sessions.back()->heard);
      loop.stop();
    };
  }
  // A peer that speaks bytes, not messages.
  Descriptor raw_connect() { return raw_connect(*unix_address(path)); }
  static Descriptor raw_connect(const SocketAddress& address) {
    Descriptor socket{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length), 0);
    return socket;
  }
  std::string end_after(std::string_view bytes, bool hang_up = false) {
    sessions.clear();
    Descriptor socket = raw_connect();
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    if (hang_up) socket.reset();
    run_until([&] { return !sessions.empty() && !sessions.back()->heard.why.empty(); });
    return sessions.empty() ? "" : sessions.back()->heard.why;
  }
};

TEST_F(FramedLinkTest, Messages_go_both_ways_and_the_peer_is_known) {
  listen(settings());
  Recorder client(loop);
  const auto link = UnixDialer(loop, path).dial(client);
  link->send("one");  // before the connection stands
  link->send("");
  run_until([&] { return !sessions.empty() && sessions[0]->heard.messages.size() == 2; });
  EXPECT_EQ(sessions[0]->heard.messages, (std::vector<std::string>{"one", ""}));
  ASSERT_TRUE(sessions[0]->link->peer().credentials);
  EXPECT_EQ(sessions[0]->link->peer().credentials->uid, ::getuid());
  EXPECT_EQ(sessions[0]->link->peer().credentials->pid, ::getpid());
  sessions[0]->link->send("answer");
  run_until([&] { return client.messages.size() == 1; });
  EXPECT_EQ(client.messages[0], "answer");
  sessions[0]->link->close();
  run_until([&] { return !client.why.empty(); });
  EXPECT_NE(client.why.find("closed by peer"), std::string::npos) << client.why;
  EXPECT_TRUE(sessions[0]->heard.why.empty());  // its own close
  EXPECT_EQ(listener->connections(), 0u);
}

TEST_F(FramedLinkTest, Large_and_many_messages_arrive_whole_and_in_order_although_the_owner_is_gone) {
  LinkLimits limits;
  limits.receive_max = reply_size_max;
  listen(settings(limits));
  Recorder client(loop);
  const auto link = UnixDialer(loop, path, limits).dial(client);
  link->send("hello");
  run_until([&] { return !sessions.empty() && sessions[0]->heard.messages.size() == 1; });
  const std::string large(20u << 20, 'x');
  for (int i = 0; i < 1000; ++i) sessions[0]->link->send(std::to_string(i));
  sessions[0]->link->send(large);
  EXPECT_GT(sessions[0]->link->unsent(), large.size());
  sessions[0]->link.reset();  // what was sent before the close still goes out
  run_until([&] { return !client.why.empty(); });
  ASSERT_EQ(client.messages.size(), 1001u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(client.messages[static_cast<std::size_t>(i)], std::to_string(i));
  EXPECT_EQ(client.messages[1000], large);
}

TEST_F(FramedLinkTest, Handler_may_destroy_its_link_from_inside_a_message) {
  listen(settings());
  Recorder client(loop);
  const auto link = UnixDialer(loop, path).dial(client);
  link->send("bye");
  link->send("never read");
  run_until([&] { return !sessions.empty(); });
  sessions[0]->heard.on_message = [&] { sessions[0]->link.reset(); };
  run_until([&] { return !client.why.empty(); });
  EXPECT_EQ(sessions[0]->heard.messages, (std::vector<std::string>{"bye"}));
}

TEST_F(FramedLinkTest, Garbage_is_refused_with_its_reason) {
  listen(settings());
  EXPECT_NE(end_after("GET / HTTP/1.1\r\n\r\n").find("not a Millrace message"), std::string::npos);
  EXPECT_NE(end_after("MR\x07\x01zzzz").find("protocol"), std::string::npos);
}

TEST_F(FramedLinkTest, Oversized_message_is_refused_before_it_is_read) {
  listen(settings());
  const std::string header{"MR\x01\x00\xff\xff\xff\x7f", 8};
  EXPECT_NE(end_after(header).find("over the limit"), std::string::npos);
}

TEST_F(FramedLinkTest, Truncated_message_is_told_apart_from_a_proper_end) {
  listen(settings());
  EXPECT_NE(end_after(frame("whole message").substr(0, 12), true).find("inside a message"), std::string::npos);
  sessions.clear();
  EXPECT_NE(end_after(frame("whole message"), true).find("closed by peer"), std::string::npos);
  EXPECT_EQ(sessions.back()->heard.messages.size(), 1u);
}

TEST_F(FramedLinkTest, Peer_without_a_first_message_is_dropped) {
  LinkLimits limits;
  limits.first_message_time_max = milliseconds(20);
  listen(settings(limits));
  EXPECT_NE(end_after("MR").find("no message within"), std::string::npos);
}

TEST_F(FramedLinkTest, Message_over_our_own_limit_ends_the_link_later_and_not_inside_send) {
  LinkLimits limits;
  limits.send_max = 10;
  listen(settings(limits));
  const Descriptor socket = raw_connect();
  run_until([&] { return !sessions.empty(); });
  sessions[0]->link->send("more than ten bytes");
  EXPECT_TRUE(sessions[0]->heard.why.empty());
  run_until([&] { return !sessions[0]->heard.why.empty(); });
  EXPECT_NE(sessions[0]->heard.why.find("over the limit"), std::string::npos);
}

TEST_F(FramedLinkTest, Peer_that_does_not_read_is_dropped_at_the_limit) {
  LinkLimits limits;
  limits.unsent_max = 4u << 20;
  listen(settings(limits));
  const Descriptor socket = raw_connect();
  run_until([&] { return !sessions.empty(); });
  for (int i = 0; i < 8; ++i) sessions[0]->link->send(std::string(1u << 20, 'x'));
  run_until([&] { return !sessions[0]->heard.why.empty(); });
  EXPECT_NE(sessions[0]->heard.why.find("does not read"), std::string::npos);
}

TEST_F(FramedLinkTest, Connections_above_the_limit_wait_for_a_free_place) {
  auto few = settings();
  few.connections_max = 2;
  auto made = Listener::on_tcp(loop, "127.0.0.1", 0, std::move(few), accept());
  ASSERT_TRUE(made) << made.error().story;
  std::vector<Descriptor> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(raw_connect(parse_address("127.0.0.1", (*made)->port()).at(0)));
  run_until([&] { return sessions.size() == 2; });
  for (int turns = 0; turns < 3; ++turns) {  // all three are at its door since before the first turn
    loop.post([&] { loop.stop(); });
    loop.run();
  }
  EXPECT_EQ(sessions.size(), 2u);
  sessions[0]->link.reset();
  run_until([&] { return sessions.size() == 3; });
}

TEST_F(FramedLinkTest, User_with_too_many_connections_is_told_so) {
  auto few = settings();
  few.connections_per_user_max = 1;
  few.is_privileged = [](std::uint32_t) { return false; };
  few.refusal = [](const std::string& why) { return "refused: " + why; };
  listen(std::move(few));
  Recorder first(loop), second(loop);
  const auto one = UnixDialer(loop, path).dial(first);
  run_until([&] { return sessions.size() == 1; });
  const auto two = UnixDialer(loop, path).dial(second);
  run_until([&] { return !second.why.empty(); });
  ASSERT_EQ(second.messages.size(), 1u);
  EXPECT_EQ(second.messages[0], "refused: too many connections of this user (1); close some or wait");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("too many connections of this user (1)"), std::string::npos) << refused[0];
  sessions[0]->link.reset();
  Recorder third(loop);
  const auto three = UnixDialer(loop, path).dial(third);
  run_until([&] { return sessions.size() == 2; });
}

TEST_F(FramedLinkTest, Places_are_left_for_the_privileged_whatever_users_do) {
  bool root = false;  // whose the next connections are
  auto few = settings();
  few.connections_max = 50;
  few.connections_reserved = 10;
  few.is_privileged = [&](std::uint32_t) { return root; };
  listen(std::move(few));
  std::vector<Descriptor> peers;
  for (int i = 0; i < 60; ++i) peers.push_back(raw_connect());
  run_until([&] { return sessions.size() + refused.size() == 60; });
  EXPECT_EQ(sessions.size(), 20u) << "as many as it leaves for others";
  root = true;
  peers.push_back(raw_connect());
  run_until([&] { return sessions.size() == 21; });
}

TEST_F(FramedLinkTest, Half_messages_end_after_their_time) {
  LinkLimits limits;
  limits.message_time_max = milliseconds(20);
  listen(settings(limits));
  EXPECT_NE(end_after(frame("whole") + frame("half of one").substr(0, 12)).find("did not end within"),
            std::string::npos);
  EXPECT_EQ(sessions.back()->heard.messages.size(), 1u);
}

TEST_F(FramedLinkTest, Half_messages_of_one_user_hold_a_bounded_part_of_memory) {
  auto small = settings();
  small.is_privileged = [](std::uint32_t) { return false; };
  small.bytes_per_user_max = 4u << 20;
  listen(std::move(small));
  std::vector<Descriptor> peers;
  const std::string half = frame(std::string(3u << 20, 'x')).substr(0, 2u << 20);
  const auto ended = [&] {
    return std::ranges::any_of(sessions, [](const auto& session) { return !session->heard.why.empty(); });
  };
  for (int i = 0; i < 3; ++i) {
    peers.push_back(raw_connect());
    ::fcntl(peers.back().get(), F_SETFL, O_NONBLOCK);
    std::size_t sent = 0;
    loop.post([&] { loop.stop(); });
    run_until([&] {
      loop.post([&] { loop.stop(); });
      const ssize_t count = ::send(peers.back().get(), half.data() + sent, half.size() - sent, MSG_NOSIGNAL);
      if (count > 0) sent += static_cast<std::size_t>(count);
      return sent == half.size() || ended();
    });
  }
  run_until(ended);
  EXPECT_EQ(std::ranges::count_if(sessions, [](const auto& session) { return session->heard.why.empty(); }), 2)
      << "the others go on";
}

TEST_F(FramedLinkTest, Requests_of_a_peer_that_goes_without_reading_are_not_carried_out) {
  LinkLimits limits;
  limits.read_while_unsent_below = 64u << 10;
  listen(settings(limits));
  Descriptor socket = raw_connect();
  run_until([&] { return !sessions.empty(); });
  sessions[0]->heard.on_message = [&] { sessions[0]->link->send(std::string(8u << 20, 'x')); };
  const std::string three = frame("1") + frame("2") + frame("3");
  ASSERT_EQ(::send(socket.get(), three.data(), three.size(), 0), static_cast<ssize_t>(three.size()));
  run_until([&] { return sessions[0]->heard.messages.size() == 1; });
  socket.reset();
  run_until([&] { return !sessions[0]->heard.why.empty(); });
  EXPECT_NE(sessions[0]->heard.why.find("left answers unread"), std::string::npos) << sessions[0]->heard.why;
  EXPECT_EQ(sessions[0]->heard.messages.size(), 1u);
}

TEST_F(FramedLinkTest, A_peer_that_does_not_read_is_not_read_and_ends_after_its_time) {
  LinkLimits limits;
  limits.read_while_unsent_below = 64u << 10;
  limits.unread_time_max = milliseconds(50);
  listen(settings(limits));
  const Descriptor socket = raw_connect();
  run_until([&] { return !sessions.empty(); });
  sessions[0]->heard.on_message = [&] { sessions[0]->link->send(std::string(8u << 20, 'x')); };
  const std::string three = frame("1") + frame("2") + frame("3");
  ASSERT_EQ(::send(socket.get(), three.data(), 9, 0), 9);
  run_until([&] { return sessions[0]->heard.messages.size() == 1; });
  ASSERT_EQ(::send(socket.get(), three.data() + 9, 18, 0), 18);
  run_until([&] { return !sessions[0]->heard.why.empty(); });
  EXPECT_NE(sessions[0]->heard.why.find("does not read"), std::string::npos) << sessions[0]->heard.why;
  EXPECT_EQ(sessions[0]->heard.messages.size(), 1u);
}

TEST_F(FramedLinkTest, A_link_that_is_held_hands_nothing_over_and_loses_nothing) {
  LinkLimits limits;
  limits.message_time_max = milliseconds(20);
  listen(settings(limits));
  const Descriptor socket = raw_connect();
  run_until([&] { return !sessions.empty(); });
  FramedLink& link = *sessions[0]->link;
  Recorder& heard = sessions[0]->heard;
  heard.on_message = [&] { link.hold(true); };
  const std::string bytes = frame("1") + frame("2") + frame("3");
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size() - 1, 0), static_cast<ssize_t>(bytes.size() - 1));
  run_until([&] { return !heard.messages.empty(); });
  const auto later = [&] {
    bool passed = false;
    loop.after(milliseconds(40), [&] {
      passed = true;
      loop.stop();
    });
    run_until([&] { return passed; });
  };
  later();
  EXPECT_EQ(heard.messages, (std::vector<std::string>{"1"}));
  link.hold(false);
  run_until([&] { return heard.messages.size() == 2; });
  ASSERT_EQ(::send(socket.get(), bytes.data() + bytes.size() - 1, 1, 0), 1);
  later();
  EXPECT_TRUE(heard.why.empty()) << "half a message has no time to end while it is held: " << heard.why;
  link.hold(false);
  run_until([&] { return heard.messages.size() == 3; });
}

TEST_F(FramedLinkTest, A_link_that_is_held_before_its_first_message_has_its_time_for_it_afterwards) {
  LinkLimits limits;
  limits.first_message_time_max = milliseconds(20);
  listen(settings(limits));
  const Descriptor socket = raw_connect();
  run_until([&] { return !sessions.empty(); });
  sessions[0]->link->hold(true);
  bool passed = false;
  loop.after(milliseconds(40), [&] {
    passed = true;
    loop.stop();
  });
  run_until([&] { return passed; });
  EXPECT_TRUE(sessions[0]->heard.why.empty()) << sessions[0]->heard.why;
  sessions[0]->link->hold(false);
  run_until([&] { return !sessions[0]->heard.why.empty(); });
  EXPECT_NE(sessions[0]->heard.why.find("no message within"), std::string::npos);
}

TEST_F(FramedLinkTest, Connections_take_turns_message_by_message) {
  listen(settings());
  const Descriptor first = raw_connect(), second = raw_connect();
  run_until([&] { return sessions.size() == 2; });
  std::string order;
  sessions[0]->heard.on_message = [&] { order += 'a'; };
  sessions[1]->heard.on_message = [&] { order += 'b'; };
  std::string many;
  for (int i = 0; i < 200; ++i) many += frame("x");
  ASSERT_EQ(::send(first.get(), many.data(), many.size(), 0), static_cast<ssize_t>(many.size()));
  ASSERT_EQ(::send(second.get(), frame("x").data(), 9, 0), 9);
  run_until([&] { return order.size() == 201; });
  EXPECT_LT(order.find('b'), 100u) << order;
}

TEST_F(FramedLinkTest, Stale_socket_is_replaced_and_a_live_one_is_not) {
  {
    auto first = listen_unix(path, 0666);
    ASSERT_TRUE(first);
    const auto second = listen_unix(path, 0666);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::refused);
    EXPECT_NE(second.error().story.find("another process listens"), std::string::npos);
  }
  struct stat status{};
  ASSERT_EQ(::lstat(path.c_str(), &status), 0);  // stale: its listener is gone, its file is not
  listen(settings());
  ASSERT_EQ(::lstat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);
  listener.reset();
  EXPECT_NE(::lstat(path.c_str(), &status), 0);
  std::ofstream(path) << "a file";
  EXPECT_FALSE(listen_unix(path, 0666));
}

TEST_F(FramedLinkTest, Dialing_nobody_tells_the_address) {
  Recorder client(loop);
  const auto link = UnixDialer(loop, path).dial(client);
  EXPECT_TRUE(client.why.empty());
  run_until([&] { return !client.why.empty(); });
  EXPECT_NE(client.why.find(path), std::string::npos) << client.why;
  Recorder other(loop);
  const auto too_long = UnixDialer(loop, std::string(200, 'x')).dial(other);
  run_until([&] { return !other.why.empty(); });
}

TEST_F(FramedLinkTest, Tcp_listens_on_any_port_of_either_family) {
  for (const char* host : {"127.0.0.1", ""}) {
    auto made = Listener::on_tcp(loop, host, 0, settings(), accept());
    ASSERT_TRUE(made) << made.error().story;
    ASSERT_NE((*made)->port(), 0);
    sessions.clear();
    Recorder client(loop);
    FramedLink link(loop, "tcp", {}, nullptr);
    link.start(client);
    ThreadWorker resolver(loop);
    link.connect(resolver, "localhost", (*made)->port());
    link.send("over tcp");
    run_until([&] { return (!sessions.empty() && !sessions[0]->heard.messages.empty()) || !client.why.empty(); });
    ASSERT_TRUE(client.why.empty()) << client.why;
    EXPECT_EQ(sessions[0]->heard.messages[0], "over tcp");
    EXPECT_FALSE(sessions[0]->link->peer().credentials);
    EXPECT_NE(sessions[0]->link->peer().address.find(':'), std::string::npos);
  }
}

}  // namespace
}  // namespace millrace
