// src/client/session_test.cpp - a session against a scripted controller on a real unix socket.
#include "client/session.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "base/patience_fixture.h"
#include "client.pb.h"

namespace millrace {
namespace {

class Scripted {
 public:
  // `serve` gets each connection in turn.
  Scripted(std::string suffix, std::vector<std::function<void(int)>> serve) {
    char name[] = "/tmp/mr-session-XXXXXX";
    path_ = mkdtemp(name);
    directory_ = path_;
    path_ += "/s";
    const std::string bound = path_ + suffix;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, bound.c_str());
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    bound_ = bound;
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (const auto& one : serve) {
        const int fd = accept(listener_, nullptr, nullptr);
        one(fd);
        close(fd);
      }
    });
  }
  ~Scripted() {
    thread_.join();
    close(listener_);
    unlink(bound_.c_str());
    rmdir(directory_.c_str());
  }
  SessionOptions options() const { return {path_, patience(), seconds(0)}; }

 private:
  std::string path_, directory_, bound_;
  int listener_;
  std::thread thread_;
};

wire::Request read_request(int fd) {
  FrameReader reader(request_size_max);
  for (;;) {
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return {};
    reader.feed({buffer, static_cast<std::size_t>(got)});
    const auto message = reader.next();
    if (!message || !*message) continue;
    wire::Request request;
    request.ParseFromArray((*message)->data(), static_cast<int>((*message)->size()));
    return request;
  }
}

void write_reply(int fd, const wire::Reply& reply) {
  const std::string bytes = frame(reply.SerializeAsString());
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

TEST(Session, Says_at_once_which_addresses_it_tried) {
  Session session({"/tmp/no-such-directory/s", seconds(5), seconds(0)});
  wire::Request request;
  request.mutable_ping();
  const auto reply = session.call(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable);
  EXPECT_EQ(reply.error().story, "Unable to contact slurm controller (connect failure)");
  EXPECT_EQ(session.trouble(),
            "/tmp/no-such-directory/s (No such file or directory), /tmp/no-such-directory/s.relay (No such file or "
            "directory)");
}

TEST(Session, Falls_back_to_the_relay_and_streams) {
  Scripted controller(".relay", {[](int fd) {
                        wire::Reply reply;
                        reply.set_number(99);  // not ours: must be skipped
                        write_reply(fd, reply);
                        reply.set_number(read_request(fd).number());
                        reply.set_more(true);
                        reply.mutable_job_progress()->set_state(wire::RUNNING);
                        write_reply(fd, reply);
                        reply.set_more(false);
                        reply.mutable_job_progress()->set_ended(true);
                        write_reply(fd, reply);
                      }});
  Session session(controller.options());
  wire::Request request;
  request.mutable_wait_job()->set_job_id(7);
  auto reply = session.call(request);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->more());
  reply = session.next(std::nullopt);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->job_progress().ended());
}

TEST(Session, Asks_again_with_the_same_key_when_the_answer_is_lost) {
  std::string first_key, second_key;
  Scripted controller("", {[&](int fd) { first_key = read_request(fd).submit().idempotency_key(); },
                           [&](int fd) {
                             const wire::Request request = read_request(fd);
                             second_key = request.submit().idempotency_key();
                             wire::Reply reply;
                             reply.set_number(request.number());
                             reply.mutable_submitted()->set_job_id(12);
                             write_reply(fd, reply);
                           }});
  Session session(controller.options());
  const auto reply = session.submit({});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->submitted().job_id(), 12u);
  EXPECT_EQ(first_key.size(), 16u);
  EXPECT_EQ(first_key, second_key);
}

TEST(Session, Takes_a_relay_without_its_controller_for_a_lost_answer) {
  const auto away = [](int fd) {
    wire::Reply reply;
    reply.set_number(read_request(fd).number());
    reply.mutable_failure()->set_code(1800);
    reply.mutable_failure()->add_notes("this node has no connection to it");
    write_reply(fd, reply);
  };
  Scripted controller(".relay", {away, away, [](int fd) {
                                   wire::Reply reply;
                                   reply.set_number(read_request(fd).number());
                                   reply.mutable_submitted()->set_job_id(4);
                                   write_reply(fd, reply);
                                 }});
  Session session(controller.options());
  wire::Request request;
  request.mutable_ping();
  const auto lost = session.call(request);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().story, connect_failure_text);
  EXPECT_TRUE(session.trouble().ends_with(".relay (this node has no connection to it)"));
  const auto reply = session.submit({});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->submitted().job_id(), 4u);
}

TEST(Session, Tells_a_silent_controller_from_a_missing_one) {
  Scripted controller("", {[](int fd) {
                        read_request(fd);
                        EXPECT_TRUE(wait_readable(fd)) << "the client does not give up";
                      }});
  SessionOptions options = controller.options();
  options.timeout = milliseconds(10);
  Session session(options);
  wire::Request request;
  request.mutable_ping();
  const auto reply = session.call(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::outcome_unknown);
  EXPECT_EQ(reply.error().story, timed_out_text);
}

TEST(Session, Refuses_a_peer_that_speaks_something_else) {
  Scripted controller("", {[](int fd) {
                        read_request(fd);
                        EXPECT_EQ(write(fd, "HTTP/1.1 400", 12), 12);
                      }});
  Session session(controller.options());
  wire::Request request;
  request.mutable_ping();
  EXPECT_FALSE(session.call(request));
}

TEST(Session, Another_cluster_that_answers_is_not_believed) {
  std::string asked_for;
  std::uint32_t port = 0;
  Scripted controller("", {[&](int fd) {
                        const wire::Request request = read_request(fd);
                        asked_for = request.cluster();
                        port = request.controller_port();
                        wire::Reply reply;
                        reply.set_number(request.number());
                        reply.set_other_cluster("cluster 'a' with SlurmctldPort=6817");
                        reply.mutable_failure()->set_code(1800);
                        reply.mutable_failure()->set_text(connect_failure_text);
                        write_reply(fd, reply);
                      }});
  SessionOptions options = controller.options();
  options.cluster = "b";
  options.controller_port = 7001;
  Session session(options);
  const auto reply = session.submit({});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable);  // nothing happened: it is not asked again
  EXPECT_EQ(reply.error().story, connect_failure_text);
  EXPECT_EQ(session.trouble(), options.socket_path +
                                   " (there answers cluster 'a' with SlurmctldPort=6817, and "
                                   "slurm.conf names cluster 'b' with SlurmctldPort=7001)");
  EXPECT_EQ(asked_for, "b");
  EXPECT_EQ(port, 7001u);
}

}  // namespace
}  // namespace millrace
