// src/step/attempt/user_paths_test.cpp - what a user puts in our way: pipes nobody reads, links, folders that are there
// already. Nothing of it keeps a supervisor from ending its job, and root touches none of it.
#include "step/attempt/errand.h"
#include "step/attempt/supervisor_harness.h"

namespace millrace {
namespace {

// A pipe with a name that holds as much as it can; nobody reads it.
class FullFifo {
 public:
  explicit FullFifo(const std::string& path) {
    mkfifo(path.c_str(), 0666);
    chmod(path.c_str(), 0666);
    fd_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::string bytes(4096, 'x');
    while (write(fd_, bytes.data(), bytes.size()) > 0) continue;
  }
  ~FullFifo() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

class UserPathsTest : public SupervisorTest {
 protected:
  UserIds user_ids() const { return {order_.identity().uid(), order_.identity().gid(), {order_.identity().gid()}}; }
};

TEST_F(UserPathsTest, A_job_whose_errors_go_to_a_full_pipe_is_killed) {
  const FullFifo full(work_ + "/full");
  Fifo ready(work_ + "/ready");
  order_.mutable_run()->mutable_job()->set_std_err("full");
  script("echo up > ready; echo words >&2; echo never > ready");
  start();
  EXPECT_EQ(ready.line(), "up");
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 30);
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGTERM));
}

TEST_F(UserPathsTest, A_job_whose_output_goes_to_a_pipe_without_reader_is_killed) {
  mkfifo((work_ + "/nobody").c_str(), 0666);
  chmod((work_ + "/nobody").c_str(), 0666);
  order_.mutable_run()->mutable_job()->set_std_out("nobody");
  script("true");
  start();
  kill_attempt(wire::Kill::TIME_LIMIT, 0);
  const auto status = end();
  EXPECT_TRUE(status.exit_signal() == SIGTERM || status.exit_signal() == SIGKILL) << status.exit_signal();
}

TEST_F(UserPathsTest, Notes_to_a_full_pipe_keep_nobody_waiting) {
  const FullFifo full(work_ + "/full");
  Fifo ready(work_ + "/ready"), gate(work_ + "/gate");
  order_.mutable_run()->mutable_job()->set_std_err("full");
  script("echo up > ready; read line < gate; exit 3");
  start();
  EXPECT_EQ(ready.line(), "up");
  wire::ToStep message;
  message.mutable_order()->set_note("a word of its user's");
  for (int i = 0; i < 100; ++i) send(message);
  gate.say("go\n");
  EXPECT_EQ(end().exit_code(), 3u);
}

TEST_F(UserPathsTest, The_last_note_is_in_the_file_when_the_end_is_told) {
  Fifo ready(work_ + "/ready");
  script("echo up > ready; exec sleep 1000");
  start();
  EXPECT_EQ(ready.line(), "up");
  kill_attempt(wire::Kill::TIME_LIMIT, 30);
  const auto status = next_status();
  ASSERT_TRUE(status && status->state() == wire::AttemptStatus::ENDED);
  EXPECT_NE(output().find("DUE TO TIME LIMIT ***\n"), std::string::npos) << output();
  wait_exit();
}

TEST_F(UserPathsTest, An_errand_is_the_users_has_one_descriptor_and_ends_in_time) {
  const FullFifo full(work_ + "/full");
  fcntl(full.fd(), F_SETFL, 0);
  const pid_t hangs = begin_errand(user_ids(), full.fd(), 1, [] {
    char byte = 0;
    if (write(3, &byte, 1) < 0) _exit(1);
  });
  ASSERT_GT(hangs, 0);
  EXPECT_TRUE(wait_for_errand(hangs, patience_ms()));
  const std::string place = work_ + "/by-errand";
  const pid_t writes = begin_errand(user_ids(), -1, 600, [&] {
    struct stat facts{};
    const bool alone = fstat(3, &facts) != 0;
    const int fd = open(place.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (alone && fd >= 0) [[maybe_unused]]
      const auto ignored = write(fd, "done", 4);
  });
  EXPECT_TRUE(wait_for_errand(writes, patience_ms()));
  EXPECT_EQ(read_text(place), "done");
  struct stat facts{};
  ASSERT_EQ(stat(place.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, order_.identity().uid());
}

}  // namespace
}  // namespace millrace
