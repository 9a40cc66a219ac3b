// src/step/stdio/srun_streams_test.cpp - srun's tasks under the real supervisor, with the test in srun's place.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "step/attempt/supervisor_harness.h"
#include "task.pb.h"
#include "wire/limits.h"
#include "wire/stream_proof.h"

namespace millrace {
namespace {

class SrunTest : public SupervisorTest {
 protected:
  void SetUp() override {
    SupervisorTest::SetUp();
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(listener_, 4), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    auto* plan = order_.mutable_run();
    plan->clear_tasks_per_node();
    plan->add_tasks_per_node(1);
    plan->add_tasks_per_node(2);
    plan->clear_cpus_per_node();
    plan->add_cpus_per_node(1);
    plan->add_cpus_per_node(2);
    plan->set_node_position(1);
    plan->set_tasks(3);
    auto* job = plan->mutable_job();
    job->set_interactive(true);
    job->mutable_stdio()->set_host("127.0.0.1");
    job->mutable_stdio()->set_port(ntohs(address.sin_port));
    job->mutable_stdio()->set_secret(secret_);
  }
  void TearDown() override {
    close(listener_);
    if (srun_ >= 0) close(srun_);
    SupervisorTest::TearDown();
  }
  void program(std::initializer_list<const char*> arguments) {
    for (const char* one : arguments) order_.mutable_run()->mutable_job()->add_arguments(one);
  }
  void take_call() {
    ASSERT_TRUE(wait_readable(listener_));
    srun_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    from_tasks_ = FrameReader{reply_size_max};
  }
  void answer() { answer(secret_); }
  // As srun does: its proof first, and the other's checked.
  void answer(const std::string& secret) {
    take_call();
    SrunProof proof(secret);
    const auto opening = next();
    ASSERT_TRUE(opening && opening->has_proof());
    const auto own = proof.answer(opening->proof());
    ASSERT_TRUE(own) << own.error().story;
    wire::ToTask message;
    *message.mutable_proof() = *own;
    tell(message);
    const auto theirs = next();
    ASSERT_TRUE(theirs && theirs->has_proof());
    ASSERT_TRUE(proof.check(theirs->proof()));
  }
  std::optional<wire::FromTask> next() {
    for (;;) {
      const auto bytes = from_tasks_.next();
      if (bytes && *bytes) {
        wire::FromTask message;
        EXPECT_TRUE(message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size())));
        return message;
      }
      char buffer[4096];
      if (!wait_readable(srun_)) return std::nullopt;
      const ssize_t count = read(srun_, buffer, sizeof buffer);
      if (count <= 0) return std::nullopt;
      from_tasks_.feed({buffer, static_cast<std::size_t>(count)});
    }
  }
  void tell(const wire::ToTask& message) {
    const std::string bytes = frame(message.SerializeAsString());
    ASSERT_EQ(::send(srun_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Until the supervisor has said everything.
  void collect() {
    while (const auto message = next()) {
      if (message->has_output())
        text_[message->output().task()][message->output().is_error()] += message->output().data();
      if (message->has_ended()) ends_[message->ended().task()] = message->ended();
      if (message->has_note()) notes_ += message->note() + "\n";
    }
    close(std::exchange(srun_, -1));
  }

  const std::string secret_ = std::string(32, 's');
  int listener_ = -1, srun_ = -1;
  FrameReader from_tasks_{reply_size_max};
  std::string text_[4][2], notes_;
  std::map<std::uint32_t, wire::TaskEnded> ends_;
};

TEST_F(SrunTest, Tasks_have_block_ranks_get_all_input_and_send_all_output) {
  program({"sh", "-c", "cat; echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID $SLURM_GTIDS >&2; exit $SLURM_LOCALID"});
  start();
  answer();
  const auto hello = next();
  ASSERT_TRUE(hello && hello->has_hello());
  EXPECT_EQ(hello->hello().first_task(), 1u);
  EXPECT_EQ(hello->hello().tasks(), 2u);
  EXPECT_EQ(hello->hello().node_name(), "c1");
  wire::ToTask message;
  const std::string input(300'000, 'x');
  for (int i = 0; i < 3; ++i) {
    message.set_input(input);
    tell(message);
  }
  message.set_input_ended(true);
  tell(message);
  collect();
  const auto status = end();
  EXPECT_EQ(status.exit_code(), 1u);
  EXPECT_EQ(text_[1][0].size(), 900'000u);
  EXPECT_EQ(text_[2][0].size(), 900'000u);
  EXPECT_EQ(text_[1][1], "1/3 0 1,2\n");
  EXPECT_EQ(text_[2][1], "2/3 1 1,2\n");
  EXPECT_EQ(ends_[1].exit_code(), 0u);
  EXPECT_EQ(ends_[2].exit_code(), 1u);
}

TEST_F(SrunTest, Input_of_more_than_srun_sends_at_once_is_not_taken) {
  program({"sleep", "1000"});
  start();
  answer();
  wire::ToTask message;
  message.set_input(std::string(input_piece_max + 1, 'x'));
  tell(message);
  collect();
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGTERM));
}

TEST_F(SrunTest, Kill_is_heard_while_the_pmix_server_is_not_ready) {
  ASSERT_EQ(mkfifo((work_ + "/libpmix.so.2").c_str(), 0666), 0);  // the server's loader waits for who writes
  using namespace std::string_literals;
  order_.mutable_run()->set_environment("PATH=/usr/bin:/bin\0LD_LIBRARY_PATH="s + work_ + "\0"s);
  order_.mutable_run()->mutable_job()->mutable_step_options()->set_mpi("pmix");
  order_.mutable_run()->set_nodes("c[0-1]");
  program({"touch", "ran"});
  start();
  answer();
  ASSERT_TRUE(next());
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 60);
  collect();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::EXITED) << status.problem();
  EXPECT_EQ(status.exit_signal(), static_cast<std::uint32_t>(SIGTERM));
  EXPECT_EQ(access((work_ + "/ran").c_str(), F_OK), -1);
}

TEST_F(SrunTest, Missing_program_ends_with_code_2_and_slurms_words) {
  program({"no-such-program", "x"});
  start();
  answer();
  collect();
  EXPECT_EQ(end().exit_code(), 2u);
  EXPECT_EQ(text_[1][1], "slurmstepd: error: execve(): no-such-program: No such file or directory\n");
  EXPECT_EQ(ends_[2].exit_code(), 2u);
}

TEST_F(SrunTest, Program_that_may_not_be_executed_ends_with_code_13) {
  std::ofstream(work_ + "/plain") << "text";
  program({"./plain"});
  start();
  answer();
  collect();
  EXPECT_EQ(end().exit_code(), 13u);
  EXPECT_EQ(text_[1][1], "slurmstepd: error: execve(): ./plain: Permission denied\n");
}

TEST_F(SrunTest, Loss_of_srun_ends_the_step) {
  Fifo ready(work_ + "/ready");
  order_.mutable_run()->set_kill_wait_seconds(0);
  program({"sh", "-c", "trap '' TERM; echo up > ready; while :; do sleep 1000; done"});
  start();
  answer();
  EXPECT_EQ(ready.line(), "up");
  EXPECT_EQ(ready.line(), "up");
  close(std::exchange(srun_, -1));
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGKILL));
}

TEST_F(SrunTest, Signals_of_srun_reach_the_tasks_and_a_kill_is_noted) {
  Fifo ready(work_ + "/ready");
  order_.mutable_run()->set_node_position(0);
  program({"sh", "-c", "trap 'echo got > ready' INT; echo up > ready; while :; do sleep 0.01; done"});
  start();
  answer();
  EXPECT_EQ(ready.line(), "up");
  wire::ToTask message;
  message.set_signal(SIGINT);
  tell(message);
  EXPECT_EQ(ready.line(), "got");
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 30);
  collect();
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGTERM));
  EXPECT_EQ(ends_[0].exit_signal(), static_cast<std::uint32_t>(SIGTERM));
  EXPECT_TRUE(notes_.starts_with("slurmstepd: error: *** STEP 86.0 ON c1 CANCELLED AT ")) << notes_;
}

TEST_F(SrunTest, Whoever_attaches_sees_the_rest_and_gives_input_to_one_task_and_may_leave) {
  Fifo ready(work_ + "/ready");
  program({"sh", "-c", "echo up > ready; read line; echo $SLURM_PROCID $line; read line; echo more $line"});
  start();
  answer();
  EXPECT_EQ(ready.line(), "up");
  EXPECT_EQ(ready.line(), "up");
  wire::ToStep order;
  *order.mutable_order()->mutable_attach() = order_.run().job().stdio();
  order.mutable_order()->mutable_attach()->set_secret(std::string(32, 'a'));
  send(order);
  const int srun = std::exchange(srun_, -1);
  answer(std::string(32, 'a'));
  const auto hello = next();
  ASSERT_TRUE(hello && hello->has_hello());
  EXPECT_EQ(hello->hello().tasks(), 2u);
  wire::ToTask message;
  message.set_input("one\ntwo\n");
  message.set_input_task(2);
  tell(message);
  std::string seen;
  while (seen != "2 one\nmore two\n") {
    const auto word = next();
    ASSERT_TRUE(word);
    if (word->has_output()) seen += word->output().data();
  }
  auto ended = next();
  ASSERT_TRUE(ended && ended->has_ended());
  EXPECT_EQ(ended->ended().task(), 2u);
  // It leaves, and the step goes on; one that comes later hears of the end it has missed.
  close(std::exchange(srun_, -1));
  send(order);
  answer(std::string(32, 'a'));
  ASSERT_TRUE(next()->has_hello());
  EXPECT_EQ(next()->ended().task(), 2u);
  close(std::exchange(srun_, srun));
  from_tasks_ = FrameReader{reply_size_max};
  message.clear_input_task();
  tell(message);
  collect();
  EXPECT_EQ(text_[1][0], "1 one\nmore two\n");
  EXPECT_EQ(text_[2][0], "2 one\nmore two\n");
  end();
}

TEST_F(SrunTest, Unreachable_srun_is_a_failed_launch) {
  close(std::exchange(listener_, -1));
  program({"true"});
  start();
  const auto status = end();
  EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_TRUE(status.problem().starts_with("connect to srun at 127.0.0.1:")) << status.problem();
}

// Whoever bound srun's port after it died.
class StrangerTest : public SrunTest {
 protected:
  // All it hears, up to the end of the stream.
  std::string rest() {
    std::string out;
    char buffer[4096];
    for (ssize_t count = 0; wait_readable(srun_) && (count = read(srun_, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(count));
    return out;
  }
  void start_and_take_call() {
    program({"sh", "-c", "touch ran; cat > got"});
    start();
    take_call();
    opening_ = next().value_or(wire::FromTask{});
    ASSERT_TRUE(opening_.has_proof());
    EXPECT_EQ(opening_.SerializeAsString().find(secret_), std::string::npos);
  }
  void say(const std::string& bytes) {
    ASSERT_EQ(::send(srun_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void expect_refusal(const std::string& why) {
    EXPECT_EQ(rest(), "");
    const auto status = end();
    EXPECT_EQ(status.end(), wire::AttemptStatus::LAUNCH_FAILED);
    EXPECT_NE(status.problem().find(why), std::string::npos) << status.problem();
    EXPECT_FALSE(std::filesystem::exists(work_ + "/ran"));
  }
  wire::FromTask opening_;
};

TEST_F(StrangerTest, Gets_no_secret_for_a_wrong_proof_and_starts_nothing) {
  start_and_take_call();
  SrunProof stranger(std::string(32, 'x'));
  wire::ToTask message;
  *message.mutable_proof() = *stranger.answer(opening_.proof());
  say(frame(message.SerializeAsString()));
  expect_refusal("does not know the secret");
}

TEST_F(StrangerTest, Gets_nothing_for_the_nodes_own_message_sent_back) {
  start_and_take_call();
  wire::ToTask message;
  *message.mutable_proof() = opening_.proof();
  say(frame(message.SerializeAsString()));
  expect_refusal("does not know the secret");
}

TEST_F(StrangerTest, Gives_no_input_instead_of_a_proof) {
  start_and_take_call();
  wire::ToTask message;
  message.set_input("rm -rf ~\n");
  say(frame(message.SerializeAsString()));
  expect_refusal("no srun");
}

TEST_F(StrangerTest, Is_refused_with_a_frame_that_is_too_large) {
  start_and_take_call();
  say(frame(std::string(proof_frame_max + 1, 'x')).substr(0, 100));
  expect_refusal("over the limit");
}

TEST_F(StrangerTest, Is_refused_with_half_a_frame) {
  start_and_take_call();
  say(frame(std::string(100, 'x')).substr(0, 50));
  shutdown(srun_, SHUT_WR);
  expect_refusal("hung up");
}

TEST_F(StrangerTest, Who_says_nothing_keeps_no_kill_waiting) {
  start_and_take_call();
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 30);
  EXPECT_EQ(rest(), "");
  EXPECT_EQ(end().exit_signal(), static_cast<std::uint32_t>(SIGTERM));
  EXPECT_FALSE(std::filesystem::exists(work_ + "/ran"));
}

TEST_F(StrangerTest, Who_attaches_without_the_secret_sees_nothing_and_types_nothing) {
  Fifo ready(work_ + "/ready");
  program({"sh", "-c", "echo up > ready; read line; echo $line"});
  start();
  answer();
  EXPECT_EQ(ready.line(), "up");
  EXPECT_EQ(ready.line(), "up");
  ASSERT_TRUE(next()->has_hello());
  wire::ToStep order;
  *order.mutable_order()->mutable_attach() = order_.run().job().stdio();
  send(order);
  const int srun = std::exchange(srun_, -1);
  const FrameReader reader = from_tasks_;
  take_call();
  ASSERT_TRUE(next()->has_proof());
  wire::ToTask message;
  message.set_input("typed by a stranger\n");
  say(frame(message.SerializeAsString()));
  EXPECT_EQ(rest(), "");
  close(std::exchange(srun_, srun));
  from_tasks_ = reader;
  message.set_input("typed by its user\n");
  tell(message);
  collect();
  EXPECT_EQ(text_[1][0] + text_[2][0], "typed by its user\ntyped by its user\n");
  end();
}

// A task that speaks PMI-1 as MPICH's simple client does: puts its card, meets the others, reads that of task $1.
constexpr const char* pmi_client = R"(
ask() { printf '%s\n' "$1" >&$PMI_FD; IFS= read -r answer <&$PMI_FD; }
ask 'cmd=init pmi_version=1 pmi_subversion=1'
ask 'cmd=get_my_kvsname'; kvs=${answer##*kvsname=}
ask "cmd=put kvsname=$kvs key=card$PMI_RANK value=of-$PMI_RANK"
ask 'cmd=barrier_in'
ask "cmd=get kvsname=$kvs key=card$1"
echo "$PMI_RANK of $PMI_SIZE: ${answer##*value=}"
ask 'cmd=finalize'; echo "$answer")";

TEST_F(SrunTest, Pmi_tasks_of_one_node_meet_without_srun) {
  auto* plan = order_.mutable_run();
  plan->clear_tasks_per_node();
  plan->add_tasks_per_node(2);
  plan->set_tasks(2);
  plan->set_node_position(0);
  plan->mutable_job()->mutable_step_options()->set_mpi("pmi2");
  program({"bash", "-c", pmi_client, "client", "1"});
  start();
  answer();
  collect();
  EXPECT_EQ(end().exit_code(), 0u);
  EXPECT_EQ(text_[0][0], "0 of 2: of-1\ncmd=finalize_ack rc=0\n");
  EXPECT_EQ(text_[1][0], "1 of 2: of-1\ncmd=finalize_ack rc=0\n");
}

TEST_F(SrunTest, Pmi_fence_over_nodes_goes_through_srun) {
  order_.mutable_run()->set_nodes("c[0-1]");
  order_.mutable_run()->mutable_job()->mutable_step_options()->set_mpi("pmi2");
  program({"bash", "-c", pmi_client, "client", "0"});
  start();
  answer();
  auto message = next();
  while (message && !message->has_mpi()) message = next();
  ASSERT_TRUE(message && message->mpi().has_join());
  EXPECT_EQ(message->mpi().join().members(), 2u);
  wire::MpiPairs pairs;
  ASSERT_TRUE(pairs.ParseFromString(message->mpi().join().data()));
  ASSERT_EQ(pairs.keys_size(), 2);
  EXPECT_EQ(pairs.keys(0) + pairs.values(1), "card1of-2");
  // What the first node would have brought.
  pairs.add_keys("card0");
  pairs.add_values("from-afar");
  wire::ToTask part;
  part.mutable_mpi()->mutable_part()->set_exchange(message->mpi().join().exchange());
  part.mutable_mpi()->mutable_part()->set_data(pairs.SerializeAsString());
  tell(part);
  part.mutable_mpi()->mutable_part()->clear_data();
  part.mutable_mpi()->mutable_part()->set_last(true);
  tell(part);
  collect();
  EXPECT_EQ(end().exit_code(), 0u);
  EXPECT_EQ(text_[1][0], "1 of 3: from-afar\ncmd=finalize_ack rc=0\n");
  EXPECT_EQ(text_[2][0], "2 of 3: from-afar\ncmd=finalize_ack rc=0\n");
}

TEST_F(SrunTest, Task_that_dies_before_it_finalizes_aborts_the_step) {
  order_.mutable_run()->set_nodes("c[0-1]");
  order_.mutable_run()->mutable_job()->mutable_step_options()->set_mpi("pmi2");
  program({"bash", "-c",
           "[ $SLURM_LOCALID = 0 ] && exec sleep 1000; printf 'cmd=init pmi_version=1 pmi_subversion=1\\n' >&$PMI_FD; "
           "read -r x <&$PMI_FD; exit 3"});
  start();
  answer();
  auto message = next();
  while (message && !message->has_mpi()) message = next();
  ASSERT_TRUE(message && message->mpi().has_abort());
  EXPECT_EQ(message->mpi().abort().task(), 2u);
  EXPECT_EQ(message->mpi().abort().text(), "ended without finalizing");
  wire::ToTask kill;
  kill.set_signal(SIGKILL);
  tell(kill);
  collect();
  end();
  EXPECT_EQ(ends_[1].exit_signal(), static_cast<std::uint32_t>(SIGKILL));
}

TEST_F(SrunTest, Files_that_differ_by_task_are_opened_on_the_node) {
  order_.mutable_run()->mutable_job()->set_std_out("out.%t");
  program({"sh", "-c", "echo rank $SLURM_PROCID"});
  start();
  answer();
  collect();
  EXPECT_EQ(end().exit_code(), 0u);
  EXPECT_EQ(read_text(work_ + "/out.1"), "rank 1\n");
  EXPECT_EQ(read_text(work_ + "/out.2"), "rank 2\n");
}

}  // namespace
}  // namespace millrace
