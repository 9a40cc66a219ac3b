// src/agent/spool_supervisors_test.cpp - real supervisors under a real loop: launch, end, restarts of the agent,
// murdered supervisors.
#include "agent/spool_supervisors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/leftovers.h"
#include "base/patience_fixture.h"
#include "base/text.h"
#include "platform/event_loop.h"
#include "wire/report_words.h"

namespace millrace {
namespace {

class LoopReadiness final : public Readiness {
 public:
  explicit LoopReadiness(EventLoop& loop) : loop_(loop) {}
  std::unique_ptr<Watch> watch(int descriptor, Task readable, Task writable) override {
    struct LoopWatch final : Watch {
      LoopWatch(EventLoop& loop, int fd, Task in, Task out) : inner(loop, fd, std::move(in), std::move(out)) {}
      void want_readable() override { inner.want_readable(); }
      void want_writable() override { inner.want_writable(); }
      DescriptorWatch inner;
    };
    return std::make_unique<LoopWatch>(loop_, descriptor, std::move(readable), std::move(writable));
  }

 private:
  EventLoop& loop_;
};

class SpoolSupervisorsTest : public testing::Test, protected SupervisorObserver {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-agent-XXXXXX";
    root_ = mkdtemp(name);
    chmod(root_.c_str(), 0711);
    begin();
  }
  void TearDown() override {
    end_what_is_left();
    supervisors_.reset();
    if (fifo_ >= 0) close(fifo_);
    std::filesystem::remove_all(root_);
  }
  // A failed test leaves nobody behind.
  void end_what_is_left() {
    auto spool = SpoolDirectory::open(root_ + "/spool");
    for (const AttemptName name : spool ? spool->list() : std::vector<AttemptName>{}) {
      const auto record = spool->read(name);
      if (!record || record->supervisor.start_time == 0 || record->boot_id != "boot") continue;
      if (start_time_of(record->supervisor.pid) == record->supervisor.start_time)
        ::kill(record->supervisor.pid, SIGKILL);
      for (const pid_t pid : find_leftovers(*record, spool->path_of(name))) ::kill(pid, SIGKILL);
    }
  }
  // A new agent on the same spool.
  std::vector<wire::AttemptStatus> begin(const std::string& boot_id = "boot") {
    supervisors_.reset();
    char self[PATH_MAX]{};
    EXPECT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    SpoolSupervisors::Settings settings;
    settings.step_program = std::filesystem::path(self).parent_path() / "src/apps/millrace-step";
    settings.boot_id = boot_id;
    settings.sweeps_max = sweeps_max_;
    auto spool = SpoolDirectory::open(root_ + "/spool");
    EXPECT_TRUE(spool);
    supervisors_ = std::make_unique<SpoolSupervisors>(loop_, readiness_, *spool, settings);
    return supervisors_->adopt(*this);
  }
  void launch(const std::string& script, std::uint64_t key = 7) {
    wire::LaunchPlan plan;
    plan.set_job_key(key);
    plan.set_job_id(86);
    plan.set_nodes("n1");
    plan.add_cpus_per_node(1);
    plan.set_node_name("n1");
    plan.set_environment(std::string{"PATH=/usr/bin:/bin\0", 19});
    plan.set_script("#!/bin/sh\n" + script + "\n");
    plan.mutable_job()->set_work_dir(root_);
    wire::Credential credential;
    credential.set_uid(geteuid());
    credential.set_gid(getegid());
    credential.set_boot_id("boot");
    supervisors_->launch(plan, credential);
  }
  void step_manager_said(const wire::StepFromNode& message) override { answers_.push_back(message.reply()); }
  void step_sampled(const wire::StepSample&) override {}
  void attempt_changed(const wire::AttemptStatus& status) override {
    last_ = status;
    ++changes_;
    if (status.state() == wanted_) loop_.stop();
  }
  void run_until(wire::AttemptStatus::State state) {
    wanted_ = state;
    const auto limit = loop_.after(patience(), [this] {
      ADD_FAILURE() << "nothing happened";
      loop_.stop();
    });
    loop_.run();
    loop_.cancel(limit);
  }
  // A pipe with a name for the script to say something; open at both ends, so that no line gets lost between two
  // readers.
  void make_fifo(const std::string& name) {
    ASSERT_EQ(mkfifo((root_ + "/" + name).c_str(), 0666), 0);
    fifo_ = open((root_ + "/" + name).c_str(), O_RDWR | O_CLOEXEC);
  }
  std::string line() {
    std::string text;
    for (char c = 0; wait_readable(fifo_) && read(fifo_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  std::string spooled() { return root_ + "/spool/7.0"; }
  pid_t supervisor() {
    auto spool = SpoolDirectory::open(root_ + "/spool");
    const auto record = spool->read({7, 0});
    return record ? record->supervisor.pid : 0;
  }

  // What a supervisor wrote that is gone now.
  void write_state(const std::string& lines) {
    ASSERT_EQ(mkdir(spooled().c_str(), 0711), 0);
    std::ofstream(spooled() + "/state") << "supervisor 4194304 1 boot socket\nuser " << geteuid() << "\n" << lines;
  }

  int sweeps_max_ = 250;
  EventLoop loop_;
  LoopReadiness readiness_{loop_};
  std::unique_ptr<SpoolSupervisors> supervisors_;
  std::string root_;
  int fifo_ = -1;
  wire::AttemptStatus last_;
  wire::AttemptStatus::State wanted_ = wire::AttemptStatus::ENDED;
  int changes_ = 0;
  std::vector<wire::StepReply> answers_;
};

TEST_F(SpoolSupervisorsTest, Launch_runs_ends_and_is_forgotten) {
  launch("exit 3");
  EXPECT_EQ(last_.state(), wire::AttemptStatus::RUNNING_NOW);
  run_until(wire::AttemptStatus::ENDED);
  EXPECT_EQ(last_.exit_code(), 3u);
  const auto again = begin();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].SerializeAsString(), last_.SerializeAsString());
  wire::Forget forget;
  forget.set_job_key(7);
  supervisors_->forget(forget);
  EXPECT_EQ(access(spooled().c_str(), F_OK), -1);
  EXPECT_TRUE(begin().empty());
}

TEST_F(SpoolSupervisorsTest, Attempt_that_is_in_the_spool_is_never_launched_again) {
  launch("echo run >> runs");
  run_until(wire::AttemptStatus::ENDED);
  launch("echo run >> runs");
  EXPECT_EQ(last_.end(), wire::AttemptStatus::LAUNCH_FAILED);
  std::ifstream runs(root_ + "/runs");
  std::stringstream text;
  text << runs.rdbuf();
  EXPECT_EQ(text.str(), "run\n");
}

TEST_F(SpoolSupervisorsTest, Next_agent_adopts_what_runs_and_can_kill_it) {
  make_fifo("ready");
  launch("echo up > ready; sleep 1000");
  EXPECT_EQ(line(), "up");
  const auto statuses = begin();
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses[0].state(), wire::AttemptStatus::RUNNING_NOW);
  run_until(wire::AttemptStatus::RUNNING_NOW);  // the supervisor introduces itself
  EXPECT_NE(last_.started_at_us(), 0);
  wire::Kill kill;
  kill.set_job_key(7);
  kill.set_kill_wait_seconds(30);
  supervisors_->kill(kill);
  run_until(wire::AttemptStatus::ENDED);
  EXPECT_EQ(last_.exit_signal(), static_cast<std::uint32_t>(SIGTERM));
}

TEST_F(SpoolSupervisorsTest, What_clients_ask_of_a_supervisor_that_does_not_read_is_bounded) {
  make_fifo("ready");
  launch("echo up > ready; sleep 1000");
  EXPECT_EQ(line(), "up");
  const pid_t reader = supervisor();
  ASSERT_EQ(::kill(reader, SIGSTOP), 0);
  wire::StepToNode message;
  message.set_job_key(7);
  message.mutable_request()->set_client(1);
  message.mutable_request()->mutable_ask()->set_environment(std::string(6u << 20, 'x'));
  for (std::uint64_t number = 1; number <= 20; ++number) {
    message.mutable_request()->set_number(number);
    supervisors_->tell_step_manager(message);
  }
  EXPECT_GE(answers_.size(), 9u) << "ten requests wait at most, and what the socket takes";
  EXPECT_LE(answers_.size(), 10u);
  for (const wire::StepReply& answer : answers_) EXPECT_TRUE(answer.news().ask_again());
  wire::Kill kill;
  kill.set_job_key(7);
  kill.set_kill_wait_seconds(30);
  supervisors_->kill(kill);
  ASSERT_EQ(::kill(reader, SIGCONT), 0);
  run_until(wire::AttemptStatus::ENDED);
  EXPECT_EQ(last_.exit_signal(), static_cast<std::uint32_t>(SIGTERM)) << "an order always has a place";
}

TEST_F(SpoolSupervisorsTest, Murdered_supervisor_loses_the_attempt_after_its_processes_are_gone) {
  make_fifo("ready");
  launch("setsid sh -c 'sleep 1000 & echo $! > ready; wait' & echo $$ > ready; wait");
  const pid_t one = std::stoi(line()), two = std::stoi(line());
  ASSERT_NE(start_time_of(one), 0u);
  ASSERT_GT(supervisor(), 0);
  ::kill(supervisor(), SIGKILL);
  run_until(wire::AttemptStatus::ENDED);
  EXPECT_EQ(last_.end(), wire::AttemptStatus::SUPERVISOR_LOST);
  EXPECT_EQ(start_time_of(one), 0u);
  EXPECT_EQ(start_time_of(two), 0u);
  const auto again = begin();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].end(), wire::AttemptStatus::SUPERVISOR_LOST);
}

TEST_F(SpoolSupervisorsTest, Supervisor_murdered_while_no_agent_ran_is_found_out_by_the_next) {
  make_fifo("ready");
  launch("echo $$ > ready; exec sleep 1000");
  const pid_t task = std::stoi(line());
  const pid_t victim = supervisor();
  supervisors_.reset();
  ::kill(victim, SIGKILL);
  const auto statuses = begin();
  ASSERT_EQ(statuses.size(), 1u);
  if (statuses[0].state() != wire::AttemptStatus::ENDED) run_until(wire::AttemptStatus::ENDED);
  EXPECT_EQ(start_time_of(task), 0u);
  EXPECT_EQ(begin()[0].end(), wire::AttemptStatus::SUPERVISOR_LOST);
}

// Carries the name of an attempt, and stops in its end until it is let go.
class Undying {
 public:
  Undying(const std::string& attempt, uid_t uid) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const std::string mark = "MILLRACE_ATTEMPT=" + attempt;
    pid_ = fork();
    if (pid_ == 0) {
      char byte = 0;
      if (uid != geteuid() && setresuid(uid, uid, uid) != 0) _exit(1);
      if (read(ends[0], &byte, 1) != 1) _exit(1);
      const char* environment[] = {mark.c_str(), nullptr};
      execle("/bin/sleep", "sleep", "1000", nullptr, environment);
      _exit(1);
    }
    traced_ = ptrace(PTRACE_SEIZE, pid_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC) == 0;
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    int status = 0;
    if (traced_) {
      EXPECT_EQ(waitpid(pid_, &status, __WALL), pid_);  // it has its environment
      ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    }
    close(ends[0]);
    close(ends[1]);
  }
  ~Undying() { let_go(); }
  bool is_traced() const { return traced_; }
  pid_t pid() const { return pid_; }
  void let_go() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, __WALL) == pid_ && WIFSTOPPED(status)) ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool traced_ = false;
};

TEST_F(SpoolSupervisorsTest, What_a_lost_supervisor_left_and_does_not_end_is_reported) {
  sweeps_max_ = 3;
  write_state("");
  Undying left(spooled(), geteuid());
  if (!left.is_traced()) GTEST_SKIP() << "nothing can be traced here";
  EXPECT_EQ(begin().at(0).state(), wire::AttemptStatus::RUNNING_NOW);
  run_until(wire::AttemptStatus::RUNNING_NOW);
  EXPECT_EQ(last_.problem(), kill_failed);
  left.let_go();
  run_until(wire::AttemptStatus::ENDED);
  EXPECT_EQ(last_.end(), wire::AttemptStatus::SUPERVISOR_LOST);
}

// Empty, like one whose processes have all ended: what is read of it is in plain files here.
TEST_F(SpoolSupervisorsTest, Who_carries_the_name_of_an_attempt_outside_of_its_empty_cgroup_is_none_of_it) {
  wire::Isolation isolation;
  isolation.set_driver(wire::Isolation::CGROUP_V1);
  isolation.set_job("job_86");
  isolation.set_step("step_batch");
  auto& folder = *isolation.add_folders();
  folder.set_controller("freezer");
  folder.set_path(root_ + "/cgroup");
  write_state("isolation " + to_hex(isolation.SerializeAsString()) + "\n");
  const Undying other(spooled(), geteuid());
  if (!other.is_traced()) GTEST_SKIP() << "nothing can be traced here";
  EXPECT_EQ(begin().at(0).end(), wire::AttemptStatus::SUPERVISOR_LOST);
}

TEST_F(SpoolSupervisorsTest, Processes_of_other_users_are_not_of_an_attempt_whatever_they_carry) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const Undying other("/spool/7.0", 65534), own("/spool/7.0", 1234);
  const auto record = parse_attempt_record("supervisor 4194304 1 boot socket\nuser 1234\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(find_leftovers(*record, "/spool/7.0"), std::vector<pid_t>{own.pid()});
}

TEST_F(SpoolSupervisorsTest, Crash_before_the_supervisor_began_ends_the_attempt_for_good) {
  ASSERT_EQ(mkdir(spooled().c_str(), 0711), 0);
  const auto statuses = begin();
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses[0].end(), wire::AttemptStatus::SUPERVISOR_LOST);
  EXPECT_TRUE(std::filesystem::exists(spooled() + "/state"));  // a supervisor that comes late finds its place taken
}

TEST_F(SpoolSupervisorsTest, Attempts_of_an_earlier_boot_are_lost_and_nobody_is_killed_for_them) {
  ASSERT_EQ(mkdir(spooled().c_str(), 0711), 0);
  // The numbers are those of this very process, as they may be after a reboot.
  std::ofstream(spooled() + "/state") << "supervisor " << getpid() << " " << start_time_of(getpid()) << " earlier x\n"
                                      << "task " << getpid() << " " << start_time_of(getpid()) << " 0\n";
  const auto statuses = begin();
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses[0].end(), wire::AttemptStatus::SUPERVISOR_LOST);
}

TEST_F(SpoolSupervisorsTest, Half_forgotten_and_half_written_things_do_no_harm) {
  launch("exit 3");
  run_until(wire::AttemptStatus::ENDED);
  std::filesystem::rename(spooled(), root_ + "/spool/.forgotten-7.0");
  std::filesystem::create_directory(root_ + "/spool/lost+found");
  EXPECT_TRUE(begin().empty());
  EXPECT_FALSE(std::filesystem::exists(root_ + "/spool/.forgotten-7.0"));
  const auto record = parse_attempt_record("supervisor 12 34 boot sock\ntask 56 78 1000\nend 0a");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->supervisor.pid, 12);
  EXPECT_EQ(record->tasks.size(), 1u);
  EXPECT_EQ(record->uid, 1000u);
  EXPECT_TRUE(record->end.empty());  // its newline is missing
  EXPECT_FALSE(parse_attempt_record(""));
  EXPECT_FALSE(parse_attempt_record("supervisor 12 34 boot"));
}

TEST_F(SpoolSupervisorsTest, Missing_supervisor_program_fails_the_launch_with_words) {
  SpoolSupervisors::Settings settings;
  settings.step_program = "/no/such/program";
  settings.boot_id = "boot";
  supervisors_ =
      std::make_unique<SpoolSupervisors>(loop_, readiness_, *SpoolDirectory::open(root_ + "/spool"), settings);
  supervisors_->adopt(*this);
  launch("true");
  EXPECT_EQ(last_.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(last_.problem(), "start /no/such/program: No such file or directory");
  EXPECT_EQ(last_.cause(), wire::AttemptStatus::OF_NODE);
}

// /bin/false is as good as a supervisor that is killed before it has read its order.
TEST_F(SpoolSupervisorsTest, Supervisor_that_never_begins_is_not_the_jobs_fault_until_none_ever_begins) {
  SpoolSupervisors::Settings settings;
  settings.step_program = "/bin/false";
  settings.boot_id = "boot";
  supervisors_ =
      std::make_unique<SpoolSupervisors>(loop_, readiness_, *SpoolDirectory::open(root_ + "/spool"), settings);
  supervisors_->adopt(*this);
  for (std::uint64_t key = 1; key <= 3; ++key) {
    launch("true", key);
    if (last_.job_key() != key || last_.state() != wire::AttemptStatus::ENDED) run_until(wire::AttemptStatus::ENDED);
    ASSERT_EQ(last_.end(), wire::AttemptStatus::LAUNCH_FAILED) << key;
    ASSERT_EQ(last_.cause(), key < 3 ? wire::AttemptStatus::UNCLEAR : wire::AttemptStatus::OF_NODE) << key;
  }
  EXPECT_EQ(last_.problem(), "3 supervisors in a row ended before they began; does /bin/false run here?");
}

TEST_F(SpoolSupervisorsTest, Spool_that_is_gone_is_the_nodes_fault) {
  std::filesystem::remove_all(root_ + "/spool");
  launch("true");
  EXPECT_EQ(last_.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(last_.cause(), wire::AttemptStatus::OF_NODE);
}

TEST_F(SpoolSupervisorsTest, Spool_that_others_can_write_is_refused) {
  chmod((root_ + "/spool").c_str(), 0777);
  EXPECT_EQ(SpoolDirectory::open(root_ + "/spool").error().code, Errc::refused);
}

TEST_F(SpoolSupervisorsTest, Epoch_is_remembered) {
  const auto spool = SpoolDirectory::open(root_ + "/spool");
  EXPECT_EQ(spool->read_epoch(), 0u);
  ASSERT_TRUE(spool->write_epoch(41));
  EXPECT_EQ(spool->read_epoch(), 41u);
}

}  // namespace
}  // namespace millrace
