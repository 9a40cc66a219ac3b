// src/platform/framed_link_test.cpp - messages over real sockets, and every kind of peer that does not behave.
#include "platform/framed_link.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

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
  Descriptor raw_connect() {
    const auto address = unix_address(path);
    Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->length), 0);
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
  listen(std::move(few));
  std::vector<Descriptor> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(raw_connect());
  run_until([&] { return sessions.size() == 2; });
  loop.after(milliseconds(5), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(sessions.size(), 2u);
  sessions[0]->link.reset();
  run_until([&] { return sessions.size() == 3; });
}

TEST_F(FramedLinkTest, User_with_too_many_connections_is_refused_by_name) {
  auto few = settings();
  few.connections_per_user_max = 1;
  listen(std::move(few));
  ASSERT_EQ(::chmod(directory.path.c_str(), 0755), 0);
  const auto address = *unix_address(path);
  const pid_t child = ::fork();
  if (child == 0) {  // as another user than root, for whom there is no limit
    if (::getuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    for (int i = 0; i < 2; ++i) {
      const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::connect(socket, reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0) ::_exit(2);
    }
    ::pause();
    ::_exit(0);
  }
  run_until([&] { return !refused.empty() && sessions.size() == 1; });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(refused.empty());
  EXPECT_NE(refused[0].find("already has 1"), std::string::npos) << refused[0];
  EXPECT_NE(sessions[0]->link->peer().credentials->uid, 0u);
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
