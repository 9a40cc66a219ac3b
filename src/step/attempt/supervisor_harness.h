// src/step/attempt/supervisor_harness.h - plays the agent for tests: starts the real millrace-step in a spool of its
// own and talks to it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "base/patience_fixture.h"
#include "base/text.h"
#include "wire/frame.h"

namespace millrace {

inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string step_program() {
  char self[PATH_MAX]{};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  return std::filesystem::path(std::string(self, static_cast<std::size_t>(length))).parent_path() /
         "src/apps/millrace-step";
}

// A pipe with a name: a script's way to tell the test that it got somewhere, or to wait for it.
class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    mkfifo(path_.c_str(), 0666);
    chmod(path_.c_str(), 0666);
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Fifo() { close(fd_); }
  std::string line() {
    std::string text;
    for (char c = 0; wait_readable(fd_) && read(fd_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  void say(const std::string& text) {
    EXPECT_EQ(write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_;
};

class SupervisorTest : public testing::Test {
 protected:
  static constexpr std::uint32_t user = 1234;  // nobody of this machine's password file

  void SetUp() override {
    char name[] = "/tmp/mr-step-XXXXXX";
    root_ = mkdtemp(name);
    chmod(root_.c_str(), 0711);
    work_ = root_ + "/work";
    spool_ = root_ + "/7.0";
    mkdir(work_.c_str(), 0777);
    chmod(work_.c_str(), 0777);
    mkdir(spool_.c_str(), 0711);
    auto* plan = order_.mutable_run();
    plan->set_job_key(7);
    plan->set_job_id(86);
    plan->set_nodes("c1");
    plan->add_cpus_per_node(1);
    plan->add_tasks_per_node(1);
    plan->set_tasks(1);
    plan->set_node_name("c1");
    plan->set_kill_wait_seconds(30);
    using namespace std::string_literals;
    plan->set_environment("PATH=/usr/bin:/bin\0"s);
    plan->mutable_job()->set_name("test");
    plan->mutable_job()->set_work_dir(work_);
    plan->mutable_job()->set_umask(022);
    order_.mutable_identity()->set_boot_id("this-boot");
    order_.mutable_identity()->set_user_name("somebody");
    order_.set_spool(spool_);
    be(geteuid() == 0 ? user : geteuid());
  }

  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (fd_ >= 0) close(fd_);
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void be(std::uint32_t uid) {
    order_.mutable_identity()->set_uid(uid);
    order_.mutable_identity()->set_gid(uid);
    order_.mutable_identity()->clear_groups();
    order_.mutable_identity()->add_groups(uid);
  }

  void script(const std::string& body) { order_.mutable_run()->set_script("#!/bin/sh\n" + body + "\n"); }

  // `as`: the uid of the supervisor itself.
  void spawn(uid_t as = geteuid()) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const std::string program = step_program();
    pid_ = fork();
    if (pid_ == 0) {
      if (as != geteuid() && (setresgid(as, as, as) != 0 || setresuid(as, as, as) != 0)) _exit(99);
      if (ends[1] == 3)
        fcntl(3, F_SETFD, 0);
      else
        dup2(ends[1], 3);
      execl(program.c_str(), "millrace-step", nullptr);
      _exit(98);
    }
    close(ends[1]);
    fd_ = ends[0];
    reader_ = FrameReader{reply_size_max};
  }
  void send(const wire::ToStep& message) {
    const std::string bytes = frame(message.SerializeAsString());
    ASSERT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void start(uid_t as = geteuid()) {
    ASSERT_EQ(chown(spool_.c_str(), as, as), 0);
    spawn(as);
    send(order_);
  }

  // Nothing at the end of the stream.
  std::optional<wire::AttemptStatus> next_status() {
    for (;;) {
      const auto bytes = reader_.next();
      if (bytes && *bytes) {
        wire::FromStep message;
        EXPECT_TRUE(message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size())));
        return message.status();
      }
      char buffer[4096];
      if (!wait_readable(fd_)) return std::nullopt;
      const ssize_t count = read(fd_, buffer, sizeof buffer);
      if (count <= 0) return std::nullopt;
      reader_.feed({buffer, static_cast<std::size_t>(count)});
    }
  }
  wire::AttemptStatus end() {
    const auto status = next_status();
    EXPECT_TRUE(status.has_value());
    EXPECT_TRUE(!status || status->state() == wire::AttemptStatus::ENDED);
    wait_exit();
    return status.value_or(wire::AttemptStatus{});
  }
  void wait_exit() {
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    ASSERT_TRUE(wait_readable(pidfd)) << "the supervisor does not leave";
    close(pidfd);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "the supervisor died of signal " << WTERMSIG(status);
  }
  // The words of the first line of `state` that begins with this one; empty when there is none.
  std::vector<std::string> state_words(const std::string& first) {
    std::istringstream lines(read_text(spool_ + "/state"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> found{std::istream_iterator<std::string>(words), {}};
      if (!found.empty() && found.front() == first) return found;
    }
    return {};
  }
  std::optional<wire::AttemptStatus> recorded_end() {
    const auto words = state_words("end");
    wire::AttemptStatus status;
    if (words.size() != 2 || !status.ParseFromString(from_hex(words[1]).value_or("?"))) return std::nullopt;
    return status;
  }
  void disconnect() { close(std::exchange(fd_, -1)); }
  void reconnect() {
    if (fd_ >= 0) close(fd_);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto words = state_words("supervisor");
    ASSERT_EQ(words.size(), 5u);
    words[4].copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto length = static_cast<socklen_t>(sizeof(sa_family_t) + 1 + words[4].size());
    ASSERT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0) << std::strerror(errno);
    reader_ = FrameReader{reply_size_max};
  }
  void kill_attempt(wire::Kill::Why why, std::uint32_t wait_seconds) {
    wire::ToStep message;
    message.mutable_kill()->set_why(why);
    message.mutable_kill()->set_kill_wait_seconds(wait_seconds);
    send(message);
  }
  std::string output() { return read_text(work_ + "/slurm-86.out"); }

  std::string root_, work_, spool_;
  wire::ToStep order_;
  pid_t pid_ = -1;
  int fd_ = -1;
  FrameReader reader_{reply_size_max};
};

}  // namespace millrace
