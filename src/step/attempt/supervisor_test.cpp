// src/step/attempt/supervisor_test.cpp - batch scripts under the real supervisor: identity, files, signals, leftovers,
// restarts of the agent.
#include <grp.h>
#include <sys/ptrace.h>

#include <fstream>

#include "step/attempt/supervisor_harness.h"

namespace millrace {
namespace {

#define NEEDS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else"

TEST_F(SupervisorTest, Script_runs_as_the_user_with_exactly_the_groups_of_the_credential) {
  NEEDS_ROOT();
  order_.mutable_identity()->add_groups(4321);
  order_.mutable_identity()->add_groups(5432);
  script("grep -E '^(Uid|Gid|Groups|CapEff|SigBlk|SigIgn):' /proc/self/status; ls -ln $0 | cut -c1-10,11-30; echo $0");
  start();
  EXPECT_EQ(end().end(), wire::AttemptStatus::EXITED);
  const std::string text = output();
  for (const char* line :
       {"Uid:\t1234\t1234\t1234\t1234\n", "Gid:\t1234\t1234\t1234\t1234\n", "Groups:\t1234 4321 5432",
        "CapEff:\t0000000000000000\n", "SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  EXPECT_NE(text.find("-rwx------"), std::string::npos);
  EXPECT_NE(text.find(spool_ + "/slurm_script\n"), std::string::npos);
  struct stat info{};
  ASSERT_EQ(stat((work_ + "/slurm-86.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, user);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST_F(SupervisorTest, Script_sees_arguments_directory_umask_limits_and_no_descriptors_of_ours) {
  auto* job = order_.mutable_run()->mutable_job();
  job->add_arguments("a b");
  job->add_arguments("c");
  job->set_umask(027);
  auto* limit = job->add_limits();
  limit->set_name("NOFILE");
  limit->set_soft(77);
  auto* impossible = job->add_limits();
  impossible->set_name("CORE");
  impossible->set_soft(UINT64_MAX);
  script("echo \"$#:$1:$2\"; pwd; umask; ulimit -n; ls /proc/self/fd | wc -l; readlink /proc/self/fd/0");
  start();
  EXPECT_EQ(end().end(), wire::AttemptStatus::EXITED);
  // ls has its own descriptor for the directory it lists.
  EXPECT_EQ(output(), "2:a b:c\n" + work_ + "\n0027\n77\n4\n/dev/null\n");
}

TEST_F(SupervisorTest, Script_sees_the_jobs_environment) {
  script("echo $SLURM_JOB_ID $SLURM_PROCID $SLURMD_NODENAME $MILLRACE_ATTEMPT; test $SLURM_TASK_PID = $$ && echo pid");
  start();
  end();
  EXPECT_EQ(output(), "86 0 c1 " + spool_ + "\npid\n");
}

TEST_F(SupervisorTest, Exit_code_is_recorded_before_it_is_told) {
  script("exit 3");
  start();
  const auto status = next_status();
  ASSERT_TRUE(status);
  const auto recorded = recorded_end();
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->SerializeAsString(), status->SerializeAsString());
  EXPECT_EQ(status->exit_code(), 3u);
  EXPECT_EQ(status->exit_signal(), 0u);
  EXPECT_EQ(status->job_key(), 7u);
  EXPECT_LE(status->started_at_us(), status->ended_at_us());
  wait_exit();
}

TEST_F(SupervisorTest, Death_by_signal_is_told_as_the_signal) {
  script("kill -USR1 $$");
  start();
  const auto status = end();
  EXPECT_EQ(status.exit_code(), 0u);
  EXPECT_EQ(status.exit_signal(), static_cast<std::uint32_t>(SIGUSR1));
}

TEST_F(SupervisorTest, Kill_comes_after_the_kill_wait_to_a_script_that_ignores_term) {
  Fifo ready(work_ + "/ready");
  script("trap '' TERM; echo up > ready; while :; do sleep 1000; done");
  start();
  EXPECT_EQ(ready.line(), "up");
  kill_attempt(wire::Kill::TIME_LIMIT, 1);
  kill_attempt(wire::Kill::TIME_LIMIT, 1);  // repeating changes nothing
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGKILL));
  const std::string text = output();
  EXPECT_TRUE(text.starts_with("slurmstepd: error: *** JOB 86 ON c1 CANCELLED AT ")) << text;
  EXPECT_TRUE(text.ends_with(" DUE TO TIME LIMIT ***\n")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST_F(SupervisorTest, A_job_that_requeues_itself_has_a_moment_to_hear_of_it) {
  Fifo ready(work_ + "/ready");
  script("trap 'echo told; exit 0' TERM; echo up > ready; read answer < answer; echo $answer; sleep 1000 & wait");
  Fifo answer(work_ + "/answer");
  start();
  EXPECT_EQ(ready.line(), "up");
  kill_attempt(wire::Kill::REQUEUED, 30);
  std::ofstream{work_ + "/answer"} << "asked\n";
  EXPECT_EQ(end().exit_signal(), 0u);
  const std::string text = output();
  EXPECT_NE(text.find("asked\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("told\n")) << text;
}

TEST_F(SupervisorTest, A_note_stands_in_the_output_of_the_script) {
  Fifo ready(work_ + "/ready");
  script("trap 'exit 0' USR1; echo up > ready; sleep 1000 & wait");
  start();
  EXPECT_EQ(ready.line(), "up");
  wire::ToStep message;
  message.mutable_order()->set_note("the filesystem goes down at six");
  send(message);
  wire::ToStep signal;  // orders are obeyed in their turn: the script ends when the note is written
  signal.mutable_signal()->set_signal(SIGUSR1);
  signal.mutable_signal()->set_batch_only(true);
  send(signal);
  end();
  EXPECT_EQ(output(), "slurmstepd: error: the filesystem goes down at six\n");
}

TEST_F(SupervisorTest, Script_may_clean_up_on_term) {
  Fifo ready(work_ + "/ready");
  script("trap 'echo cleaned; exit 5' TERM; echo up > ready; sleep 1000 & wait");
  start();
  EXPECT_EQ(ready.line(), "up");
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 60);
  EXPECT_EQ(end().exit_code(), 5u);
  EXPECT_NE(output().find("cleaned\n"), std::string::npos) << output();
  EXPECT_NE(output().find(" DUE to SIGNAL Terminated ***\n"), std::string::npos) << output();
}

TEST_F(SupervisorTest, Nothing_the_script_started_survives_it) {
  Fifo ready(work_ + "/ready"), go(work_ + "/go");
  script(
      "setsid sh -c 'trap \"\" TERM HUP; echo $$ > ready; while :; do sleep 1000; done' &\n"
      "(setsid sleep 1000 & echo $! > ready) &\n"
      "wait $!; env -i /bin/sleep 1000 & echo $! > ready; read word < go; exit 0");
  start();
  const pid_t pids[] = {std::stoi(ready.line()), std::stoi(ready.line()), std::stoi(ready.line())};
  go.say("on\n");
  EXPECT_EQ(end().exit_code(), 0u);
  for (const pid_t pid : pids) EXPECT_EQ(kill(pid, 0), -1) << pid;
}

// A process of the same user and of no job that traces one of ours, and never waits for it.
class Tracer {
 public:
  Tracer(pid_t traced, uid_t user, unsigned long options) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const bool is_user = geteuid() != 0 || (setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0);
      const char said = is_user && ptrace(PTRACE_SEIZE, traced, nullptr, options) == 0 ? 'y' : 'n';
      [[maybe_unused]] const ssize_t written = write(ends[1], &said, 1);
      for (;;) pause();
    }
    close(ends[1]);
    char said = 0;
    traces_ = wait_readable(ends[0]) && read(ends[0], &said, 1) == 1 && said == 'y';
    close(ends[0]);
  }
  ~Tracer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool traces() const { return traces_; }

 private:
  pid_t pid_ = -1;
  bool traces_ = false;
};

TEST_F(SupervisorTest, Tracer_that_does_not_wait_for_a_killed_task_keeps_nothing_from_ending) {
  for (const unsigned long options : {0ul, static_cast<unsigned long>(PTRACE_O_TRACEEXIT)}) {
    SCOPED_TRACE(options);
    Fifo ready(work_ + "/ready");
    script("sleep 1000 & echo $! > ready; echo $$ > ready; exec sleep 1000");
    start();
    const pid_t child = std::stoi(ready.line()), task = std::stoi(ready.line());
    const uid_t uid = order_.identity().uid();
    const Tracer of_child(child, uid, options), of_task(task, uid, options);
    if (!of_child.traces() || !of_task.traces()) GTEST_SKIP() << "processes of other sessions cannot be traced here";
    kill_attempt(wire::Kill::CANCELLED_BY_USER, 0);
    EXPECT_NE(end().exit_signal(), 0u);
    std::filesystem::remove_all(spool_);
    mkdir(spool_.c_str(), 0711);
    close(fd_);
    std::filesystem::remove(work_ + "/ready");
  }
}

TEST_F(SupervisorTest, Work_goes_on_without_an_agent_and_the_next_one_adopts_it) {
  Fifo ready(work_ + "/ready"), go(work_ + "/go");
  script("echo up > ready; read word < go; echo $word; exit 4");
  start();
  EXPECT_EQ(ready.line(), "up");
  disconnect();
  reconnect();
  auto status = next_status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state(), wire::AttemptStatus::RUNNING_NOW);
  go.say("on\n");
  EXPECT_EQ(end().exit_code(), 4u);
  EXPECT_EQ(output(), "on\n");
}

TEST_F(SupervisorTest, End_without_an_agent_waits_in_the_spool) {
  Fifo ready(work_ + "/ready"), go(work_ + "/go");
  script("echo up > ready; read word < go; exit 4");
  start();
  EXPECT_EQ(ready.line(), "up");
  disconnect();
  go.say("on\n");
  wait_exit();
  ASSERT_TRUE(recorded_end());
  EXPECT_EQ(recorded_end()->exit_code(), 4u);
}

TEST_F(SupervisorTest, Spool_names_the_supervisor_and_the_task) {
  Fifo ready(work_ + "/ready"), go(work_ + "/go");
  script("echo $$ > ready; read word < go");
  start();
  const std::string task = ready.line();
  reconnect();  // answered from the loop, so what is written at the start is written
  ASSERT_TRUE(next_status());
  const auto owner = state_words("supervisor");
  ASSERT_EQ(owner.size(), 5u);
  EXPECT_EQ(owner[1], std::to_string(pid_));
  EXPECT_EQ(owner[3], "this-boot");
  ASSERT_EQ(state_words("task").size(), 4u);
  EXPECT_EQ(state_words("task")[1], task);
  struct stat info{};
  ASSERT_EQ(stat((spool_ + "/state").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  go.say("on\n");
  end();
}

TEST_F(SupervisorTest, Nothing_runs_when_the_attempt_was_given_up_before) {
  std::ofstream(spool_ + "/state") << "supervisor 0 0 given-up none\n";
  script("echo ran");
  start();
  EXPECT_FALSE(next_status());
  wait_exit();
  EXPECT_EQ(access((work_ + "/slurm-86.out").c_str(), F_OK), -1);
  EXPECT_FALSE(recorded_end());
}

TEST_F(SupervisorTest, Socket_is_deaf_to_other_users) {
  NEEDS_ROOT();
  Fifo ready(work_ + "/ready"), go(work_ + "/go");
  script("echo up > ready; read word < go; exit 4");
  start();
  EXPECT_EQ(ready.line(), "up");
  disconnect();
  ASSERT_EQ(seteuid(user), 0);
  EXPECT_TRUE(state_words("supervisor").empty());  // not even the name can be read
  ASSERT_EQ(seteuid(0), 0);
  const std::string name = state_words("supervisor").at(4);
  const int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  ASSERT_EQ(seteuid(user), 0);
  ASSERT_EQ(connect(stranger, reinterpret_cast<const sockaddr*>(&address),
                    static_cast<socklen_t>(sizeof(sa_family_t) + 1 + name.size())),
            0);
  ASSERT_EQ(seteuid(0), 0);
  char byte = 0;
  ASSERT_TRUE(wait_readable(stranger));
  EXPECT_LE(read(stranger, &byte, 1), 0);
  close(stranger);
  go.say("on\n");
  wait_exit();
  EXPECT_EQ(recorded_end()->exit_code(), 4u);
}

TEST_F(SupervisorTest, Nothing_runs_when_the_agent_dies_within_the_order) {
  script("echo ran");
  spawn();
  const std::string bytes = frame(order_.SerializeAsString());
  ASSERT_EQ(::send(fd_, bytes.data(), bytes.size() / 2, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size() / 2));
  disconnect();
  wait_exit();
  EXPECT_EQ(access((spool_ + "/state").c_str(), F_OK), -1);
}

TEST_F(SupervisorTest, Missing_spool_is_a_failed_launch) {
  order_.set_spool(root_ + "/nowhere");
  script("echo ran");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(status.cause(), wire::AttemptStatus::OF_NODE);
}

TEST_F(SupervisorTest, Spool_that_takes_no_script_is_the_nodes_fault) {
  std::filesystem::create_directory(spool_ + "/slurm_script");
  script("echo ran");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(status.cause(), wire::AttemptStatus::OF_NODE);
}

TEST_F(SupervisorTest, Output_that_cannot_be_opened_fails_the_launch_with_words) {
  order_.mutable_run()->mutable_job()->set_std_out("missing/%j.out");
  script("touch ran");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(status.exit_signal(), 53u);
  EXPECT_EQ(status.problem(), "Could not open stdout file " + work_ + "/missing/86.out: No such file or directory");
  EXPECT_EQ(status.cause(), wire::AttemptStatus::OF_JOB);
  EXPECT_EQ(access((work_ + "/ran").c_str(), F_OK), -1);
}

TEST_F(SupervisorTest, Output_is_opened_as_the_user) {
  NEEDS_ROOT();
  chmod(work_.c_str(), 0755);
  script("true");
  start();
  EXPECT_EQ(end().problem(), "Could not open stdout file " + work_ + "/slurm-86.out: Permission denied");
}

TEST_F(SupervisorTest, Missing_work_directory_is_noted_and_tmp_used) {
  order_.mutable_run()->mutable_job()->set_std_out(work_ + "/o");
  order_.mutable_run()->mutable_job()->set_work_dir(root_ + "/gone");
  script("pwd");
  start();
  EXPECT_EQ(end().end(), wire::AttemptStatus::EXITED);
  EXPECT_EQ(read_text(work_ + "/o"), "slurmstepd: error: couldn't chdir to `" + root_ +
                                         "/gone': No such file or directory: going to /tmp instead\n/tmp\n");
}

TEST_F(SupervisorTest, Standard_error_has_its_own_file_and_append_keeps_what_was_there) {
  auto* job = order_.mutable_run()->mutable_job();
  job->set_std_out("%x-%j.o");
  job->set_std_err("%x-%j.e");
  job->set_std_in("in");
  job->set_open_mode(wire::JobDescription::append);
  std::ofstream(work_ + "/in") << "typed\n";
  std::ofstream(work_ + "/test-86.o") << "before\n";
  chmod((work_ + "/test-86.o").c_str(), 0666);
  script("cat; echo wrong >&2");
  start();
  EXPECT_EQ(end().exit_code(), 0u);
  EXPECT_EQ(read_text(work_ + "/test-86.o"), "before\ntyped\n");
  EXPECT_EQ(read_text(work_ + "/test-86.e"), "wrong\n");
}

TEST_F(SupervisorTest, Output_is_truncated_at_first_and_continued_after_a_requeue) {
  std::ofstream(work_ + "/slurm-86.out") << "old\n";
  chmod((work_ + "/slurm-86.out").c_str(), 0666);
  script("echo $SLURM_RESTART_COUNT");
  start();
  end();
  EXPECT_EQ(output(), "0\n");
  std::filesystem::remove_all(spool_);
  mkdir(spool_.c_str(), 0711);
  close(fd_);
  order_.mutable_run()->set_restarts(1);
  start();
  end();
  EXPECT_EQ(output(), "0\n1\n");
}

TEST_F(SupervisorTest, Script_that_cannot_be_executed_ends_with_the_error_number) {
  order_.mutable_run()->set_script("#!/no/such/shell\n");
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::EXITED);
  EXPECT_EQ(status.exit_code(), static_cast<std::uint32_t>(ENOENT));
  EXPECT_EQ(output(), "slurmstepd: error: execve(): " + spool_ + "/slurm_script: No such file or directory\n");
}

TEST_F(SupervisorTest, Supervisor_of_an_ordinary_user_runs_only_its_own_jobs) {
  NEEDS_ROOT();
  script("id -u");
  start(user);
  EXPECT_EQ(end().exit_code(), 0u);
  EXPECT_EQ(output(), "1234\n");

  std::filesystem::remove_all(spool_);
  mkdir(spool_.c_str(), 0711);
  close(fd_);
  be(65534);
  start(user);
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(status.problem(), "cannot run a job of uid 65534: this node's agent runs as uid 1234, not as root");
}

TEST_F(SupervisorTest, Plain_signal_spares_the_script_and_a_batch_signal_reaches_it_alone) {
  Fifo ready(work_ + "/ready");
  script(
      "trap 'echo script > ready' USR1\n"
      "sh -c 'trap \"echo child > ready\" USR1; echo up > ready; while :; do sleep 0.01; done' &\n"
      "while :; do wait; done");
  start();
  EXPECT_EQ(ready.line(), "up");
  wire::ToStep message;
  message.mutable_signal()->set_signal(SIGUSR1);
  send(message);  // for steps, of which there are none
  message.mutable_signal()->set_batch_only(true);
  send(message);
  EXPECT_EQ(ready.line(), "script");
  message.mutable_signal()->set_batch_only(false);
  message.mutable_signal()->set_full(true);
  send(message);
  std::string both = ready.line();
  both += ready.line();
  EXPECT_TRUE(both == "scriptchild" || both == "childscript") << both;
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 0);
  end();
}

TEST_F(SupervisorTest, Suspended_processes_stop_with_their_children_and_go_on) {
  Fifo ready(work_ + "/ready");
  script("sh -c 'echo $$ > ready; exec sleep 1000' &\necho $$ > ready; wait");
  start();
  const std::string pids[] = {ready.line(), ready.line()};
  const auto state_of = [](const std::string& pid) {
    const std::string stat = read_text("/proc/" + pid + "/stat");
    const std::size_t end = stat.rfind(')');
    return end == std::string::npos ? '?' : stat[end + 2];
  };
  const auto both = [&](auto holds) { return wait_until([&] { return holds(pids[0]) && holds(pids[1]); }); };
  wire::ToStep order;
  order.mutable_suspend()->set_suspended(true);
  send(order);
  send(order);  // repeating changes nothing
  auto status = next_status();
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->suspended());
  EXPECT_TRUE(both([&](const std::string& pid) { return state_of(pid) == 'T'; }));
  order.mutable_suspend()->set_suspended(false);
  send(order);
  status = next_status();
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->suspended());
  EXPECT_TRUE(both([&](const std::string& pid) { return state_of(pid) != 'T'; }));
  order.mutable_suspend()->set_suspended(true);
  send(order);
  ASSERT_TRUE(next_status());
  EXPECT_TRUE(both([&](const std::string& pid) { return state_of(pid) == 'T'; }));
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 60);  // TERM reaches it: it is let go on for that
  EXPECT_FALSE(next_status()->suspended());
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGTERM));
}

TEST_F(SupervisorTest, Other_nodes_of_a_batch_job_are_held_until_told) {
  order_.mutable_run()->set_node_position(1);
  script("touch ran");
  start();
  kill_attempt(wire::Kill::NOT_WANTED, 30);
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::EXITED);
  EXPECT_EQ(status.exit_code(), 0u);
  EXPECT_EQ(access((work_ + "/ran").c_str(), F_OK), -1);
}

}  // namespace
}  // namespace millrace
