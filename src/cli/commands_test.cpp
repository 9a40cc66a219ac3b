// src/cli/commands_test.cpp - whole commands against a scripted controller: what they ask, print and return.
#include "cli/commands.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/patience_fixture.h"
#include "cli/dispatch.h"
#include "cli/node_player.h"
#include "client.pb.h"
#include "task.pb.h"
#include "wire/frame.h"

namespace millrace {
namespace {

using Answers = std::function<std::vector<wire::Reply>(const wire::Request&)>;

// Serves one connection after the other until it is destroyed.
class ScriptedController {
 public:
  ScriptedController(const std::string& path, Answers answers) : answers_(std::move(answers)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(pipe(stop_), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedController() {
    close(stop_[1]);
    thread_.join();
    close(stop_[0]);
    close(listener_);
  }

 private:
  void serve() {
    struct Peer {
      int fd;
      FrameReader reader{request_size_max};
    };
    std::vector<Peer> peers;
    for (;;) {
      std::vector<pollfd> entries = {{stop_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const Peer& peer : peers) entries.push_back({peer.fd, POLLIN, 0});
      EXPECT_GT(poll(entries.data(), entries.size(), patience_ms()), 0) << "the command neither asks nor ends";
      if (entries[0].revents != 0) break;
      for (std::size_t i = 2; i < entries.size(); ++i)
        if (entries[i].revents != 0 && !answer(peers[i - 2].fd, peers[i - 2].reader))
          close(peers[i - 2].fd), peers[i - 2].fd = -1;
      std::erase_if(peers, [](const Peer& peer) { return peer.fd < 0; });
      if (entries[1].revents != 0) peers.push_back({accept(listener_, nullptr, nullptr)});
    }
    for (const Peer& peer : peers) close(peer.fd);
  }
  bool answer(int fd, FrameReader& reader) {
    char buffer[65536];
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return false;
    reader.feed({buffer, static_cast<std::size_t>(got)});
    for (auto message = reader.next(); message && *message; message = reader.next()) {
      wire::Request request;
      request.ParseFromArray((*message)->data(), static_cast<int>((*message)->size()));
      for (wire::Reply& reply : answers_(request)) {
        reply.set_number(request.number());
        const std::string bytes = frame(reply.SerializeAsString());
        if (write(fd, bytes.data(), bytes.size()) < 0) return false;
      }
    }
    return true;
  }
  Answers answers_;
  int listener_;
  int stop_[2];
  std::thread thread_;
};

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  int code;
  std::string out, err;
};

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-cli-XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ + "/slurm.conf")
        << "ClusterName=test\nSlurmctldHost=vm(127.0.0.1)\nMessageTimeout=" << patience_ms() / 1000
        << "\nAuthInfo=socket=" << directory_ << "/s\n";
    setenv("SLURM_CONF", (directory_ + "/slurm.conf").c_str(), 1);
    setenv("TZ", "UTC", 1);
    for (const char* variable : {"SLURM_JOB_ID", "SLURM_JOBID", "SBATCH_TIMELIMIT", "SQUEUE_FORMAT"})
      unsetenv(variable);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void serve(Answers answers) {
    controller_ = std::make_unique<ScriptedController>(directory_ + "/s", std::move(answers));
  }
  Outcome run(std::vector<std::string> words, const std::string& input = "") {
    const std::string in = directory_ + "/in", out = directory_ + "/out", err = directory_ + "/err";
    std::ofstream(in) << input;
    const int saved[] = {dup(0), dup(1), dup(2)};
    const int files[] = {open(in.c_str(), O_RDONLY), open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600),
                         open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600)};
    for (int i = 0; i < 3; ++i) dup2(files[i], i), close(files[i]);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    const int code = dispatch(static_cast<int>(argv.size()), argv.data());
    for (int i = 0; i < 3; ++i) dup2(saved[i], i), close(saved[i]);
    return {code, slurp(out), slurp(err)};
  }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
    return directory_ + "/" + name;
  }

  std::string directory_;
  std::unique_ptr<ScriptedController> controller_;
};

wire::Reply submitted(std::uint32_t id) {
  wire::Reply reply;
  reply.mutable_submitted()->set_job_id(id);
  return reply;
}

wire::Reply refused(std::uint32_t code, const char* text, std::vector<std::string> notes = {}) {
  wire::Reply reply;
  reply.mutable_failure()->set_code(code);
  reply.mutable_failure()->set_text(text);
  for (const auto& note : notes) reply.mutable_failure()->add_notes(note);
  return reply;
}

TEST_F(Commands, Sbatch_submits_with_command_line_over_environment_over_script) {
  wire::SubmitJob asked;
  serve([&](const wire::Request& request) {
    asked = request.submit();
    return std::vector{submitted(12)};
  });
  setenv("SBATCH_TIMELIMIT", "7", 1);
  const std::string script = file("job.sh", "#!/bin/sh\n#SBATCH -n 3 -t 5 -p slow\n#SBATCH --job-name=\"a b\"\ntrue\n");
  const Outcome outcome = run({"sbatch", "-p", "fast", script, "x", "-n", "9"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "Submitted batch job 12\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(asked.job().partition(), "fast");
  EXPECT_EQ(asked.job().time_limit_minutes(), 7u);
  EXPECT_EQ(asked.job().tasks(), 3u);
  EXPECT_EQ(asked.job().name(), "a b");
  EXPECT_EQ(asked.job().command(), script);
  ASSERT_EQ(asked.job().arguments_size(), 3);
  EXPECT_EQ(asked.job().submit_line(), "sbatch -p fast " + script + " x -n 9");
  EXPECT_EQ(asked.idempotency_key().size(), 16u);
  EXPECT_NE(asked.environment().find("SBATCH_TIMELIMIT=7"), std::string::npos);
  EXPECT_NE(asked.environment().find("SLURM_SUBMIT_DIR="), std::string::npos);
}

TEST_F(Commands, Sbatch_takes_components_from_the_command_line_and_the_script) {
  wire::SubmitJob asked;
  serve([&](const wire::Request& request) {
    asked = request.submit();
    return std::vector{submitted(12)};
  });
  setenv("SBATCH_PARTITION", "env", 1);
  const std::string script = file(
      "het.sh",
      "#!/bin/sh\n#SBATCH -n 3 -A lab\n#SBATCH hetjob\n#SBATCH -n 5 --mem=100\n#SBATCH hetjob\n#SBATCH -N 2\ntrue\n");
  const Outcome outcome =
      run({"sbatch", "-t", "9", "-d", "singleton", ":", "-p", "gpu", "--gres=gpu:2", script, ":", "-n", "9"});
  unsetenv("SBATCH_PARTITION");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "Submitted batch job 12\n");
  EXPECT_EQ(asked.job().tasks(), 3u);
  EXPECT_EQ(asked.job().partition(), "env");
  EXPECT_EQ(asked.job().dependency(), "singleton");
  ASSERT_EQ(asked.job().arguments_size(), 3) << "after the script everything is its own, ':' too";
  ASSERT_EQ(asked.more_components_size(), 2);
  const wire::JobDescription &second = asked.more_components(0), &third = asked.more_components(1);
  EXPECT_EQ(second.tasks(), 5u);
  EXPECT_EQ(second.partition(), "gpu");
  EXPECT_EQ(second.memory_per_node_mib(), 100u);
  EXPECT_EQ(second.resources().gres(), "gpu:2");
  EXPECT_EQ(second.dependency(), "");
  for (const wire::JobDescription* each : {&second, &third}) {
    EXPECT_EQ(each->account(), "lab") << "goes on from component to component";
    EXPECT_EQ(each->time_limit_minutes(), 9u);
    EXPECT_EQ(each->name(), "het.sh");
    EXPECT_FALSE(each->work_dir().empty());
  }
  EXPECT_EQ(third.tasks(), 0u) << "a request is each component's own";
  EXPECT_EQ(third.min_nodes(), 2u);
  EXPECT_EQ(third.partition(), "env");
  EXPECT_FALSE(third.has_memory_per_node_mib());
}

TEST_F(Commands, Sbatch_refuses_empty_components) {
  serve([&](const wire::Request&) {
    ADD_FAILURE();
    return std::vector{submitted(1)};
  });
  for (const std::vector<std::string>& words : {std::vector<std::string>{"sbatch", ":", "-n1", "--wrap", "true"},
                                                {"sbatch", "-n1", ":", ":", "-n1", "--wrap", "true"},
                                                {"sbatch", "-n1", "--wrap", "true", ":"}}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(outcome.err.starts_with("sbatch: error: HetJob component must not be an empty string")) << outcome.err;
  }
}

TEST_F(Commands, Squeue_and_scancel_name_components) {
  wire::Request asked;
  serve([&](const wire::Request& request) {
    asked = request;
    wire::Reply reply;
    if (request.has_cancel()) {
      reply.mutable_jobs_changed()->add_changed("12+1");
      return std::vector{reply};
    }
    wire::JobView& job = *reply.mutable_jobs()->add_jobs();
    job.set_job_id(13);
    job.set_het_job_id(12);
    job.set_het_job_offset(1);
    job.set_het_job_size(3);
    job.set_state(wire::RUNNING);
    return std::vector{reply};
  });
  EXPECT_EQ(run({"squeue", "-h", "-o", "%i %A", "-j", "12+1"}).out, "12+1 13\n");
  EXPECT_EQ(asked.query_jobs().jobs(0).job_id(), 12u);
  EXPECT_EQ(asked.query_jobs().jobs(0).tasks(), "+1");
  EXPECT_EQ(run({"squeue", "-h", "-O", "HetJobId:3,HetJobOffset:2,HetJobIdSet:6", "-j", "12+1"}).out, "12 1 12-14 \n");
  const Outcome shown = run({"scontrol", "show", "job", "12+1"});
  EXPECT_TRUE(shown.out.starts_with("JobId=13 HetJobId=12 HetJobOffset=1 JobName=\n   HetJobIdSet=12-14\n"))
      << shown.out;
  EXPECT_EQ(run({"scancel", "12+1"}).code, 0);
  EXPECT_EQ(asked.cancel().jobs(0).tasks(), "+1");
  for (const char* bad : {"12+", "12+x", "+1", "12+-1", "12_1+1"}) EXPECT_EQ(run({"scancel", bad}).code, 1) << bad;
}

TEST_F(Commands, Sbatch_takes_wrap_and_standard_input) {
  wire::SubmitJob asked;
  serve([&](const wire::Request& request) {
    asked = request.submit();
    return std::vector{submitted(5)};
  });
  EXPECT_EQ(run({"sbatch", "--parsable", "--wrap", "sleep 1"}).out, "5\n");
  EXPECT_EQ(asked.job().name(), "wrap");
  EXPECT_TRUE(asked.script().starts_with("#!/bin/sh\n"));
  EXPECT_EQ(run({"millrace", "sbatch"}, "#!/bin/sh\ntrue\n").out, "Submitted batch job 5\n");
  EXPECT_EQ(asked.job().name(), "sbatch");
  EXPECT_EQ(run({"sbatch", "-Q", "--wrap", "true"}).out, "");
}

TEST_F(Commands, Sbatch_says_why_it_was_refused) {
  serve([&](const wire::Request&) {
    return std::vector{refused(2000, "Invalid partition name specified", {"invalid partition specified: nosuch"})};
  });
  const Outcome outcome = run({"sbatch", "-p", "nosuch", "--wrap", "true"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "sbatch: error: invalid partition specified: nosuch\nsbatch: error: Batch job submission failed: Invalid "
            "partition name specified\n");
}

TEST_F(Commands, Sbatch_bad_input_never_reaches_the_controller) {
  EXPECT_EQ(run({"sbatch", "-t", "xx", "--wrap", "true"}).code, 255);
  EXPECT_EQ(run({"sbatch", "nosuchfile"}).err, "sbatch: error: Unable to open file nosuchfile\n");
  EXPECT_EQ(run({"sbatch", "--nosuch"}).err,
            "sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information\n");
  EXPECT_EQ(run({"sbatch", file("x", "echo")}).code, 1);
  EXPECT_EQ(run({"sbatch", "--bb=x", "--wrap", "x"}).err,
            "sbatch: error: --bb is refused in Millrace: there are no burst buffers\n");
  EXPECT_EQ(run({"sbatch", "-v", "-Q", "--wrap", "x"}).err,
            "sbatch: error: don't specify both --verbose (-v) and --quiet (-Q)\n");
}

TEST_F(Commands, Sbatch_wait_ends_with_the_jobs_exit_code) {
  serve([&](const wire::Request& request) {
    if (request.has_submit()) return std::vector{submitted(3)};
    wire::Reply running, ended;
    running.set_more(true);
    running.mutable_job_progress()->set_state(wire::RUNNING);
    ended.mutable_job_progress()->set_state(wire::FAILED);
    ended.mutable_job_progress()->set_ended(true);
    ended.mutable_job_progress()->set_exit_code(7);
    return std::vector{running, ended};
  });
  EXPECT_EQ(run({"sbatch", "--wait", "--wrap", "exit 7"}).code, 7);
}

TEST_F(Commands, A_controller_that_is_not_there_is_named) {
  std::ofstream(directory_ + "/slurm.conf", std::ios::app) << "MessageTimeout=0\n";
  const Outcome outcome = run({"squeue"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(directory_ + "/s (No such file or directory)"), std::string::npos);
  EXPECT_NE(outcome.err.find("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"),
            std::string::npos);
}

TEST_F(Commands, A_SLUID_stands_for_the_number_the_controller_knows) {
  std::vector<wire::Request> asked;
  serve([&](const wire::Request& request) {
    asked.push_back(request);
    if (request.number_job().key() == 32) return std::vector{refused(2017, "Invalid job id specified")};
    wire::Reply reply;
    if (request.has_number_job())
      reply.mutable_job_number()->set_job_id(12);
    else
      reply.mutable_jobs_changed();
    return std::vector{reply};
  });
  EXPECT_EQ(run({"scancel", "s000000000000Z", "13"}).code, 0);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].number_job().key(), 31u);
  ASSERT_EQ(asked[1].cancel().jobs_size(), 2);
  EXPECT_EQ(asked[1].cancel().jobs(0).job_id(), 12u);
  EXPECT_EQ(run({"scontrol", "update", "JobId=s000000000000Z_3", "NumNodes=1,3-7:2", "NumCPUs=4-8", "ResetAccrueTime",
                 "SiteFactor=-7"})
                .code,
            0);
  const auto changes = std::ranges::find_if(asked, &wire::Request::has_update_job);
  ASSERT_NE(changes, asked.end());
  const wire::UpdateJob update = changes->update_job();
  EXPECT_EQ(update.job().job_id(), 12u);
  EXPECT_EQ(update.job().tasks(), "3");
  EXPECT_EQ(update.resources().node_counts(), "1-7:2");
  EXPECT_EQ(update.min_cpus(), 4u);
  EXPECT_TRUE(update.reset_accrue_time());
  EXPECT_EQ(update.extras().site_factor(), -7);
  const std::size_t before = asked.size();
  EXPECT_EQ(run({"scancel", "s000000000000U"}).err, "scancel: error: SLUID is invalid: s000000000000U\n");
  EXPECT_EQ(asked.size(), before) << "nobody need be asked";
  EXPECT_EQ(run({"scancel", "s0000000000010"}).err, "scancel: error: Invalid job id s0000000000010\n");
  EXPECT_EQ(run({"scontrol", "update", "JobId=12", "NumCPUs=8-4"}).code, 1);
}

TEST_F(Commands, Squeue_asks_for_jobs_on_nodes_or_ended_ones_only_when_its_states_are_such) {
  std::vector<wire::QueryJobs> asked;
  serve([&](const wire::Request& request) {
    asked.push_back(request.query_jobs());
    wire::Reply reply;
    reply.mutable_jobs();
    return std::vector{reply};
  });
  for (const char* states : {"R", "R,CG,S,CF", "R,PD", "R,CD", "all"}) run({"squeue", "-t", states});
  run({"squeue"});
  ASSERT_EQ(asked.size(), 6u);
  const bool placed[] = {true, true, false, false, false, false}, finished[] = {false, false, false, true, true, false};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(asked[i].placed_only(), placed[i]) << i;
    EXPECT_EQ(asked[i].finished_too(), finished[i]) << i;
  }
}

TEST_F(Commands, Squeue_asks_briefly_when_that_is_enough) {
  std::vector<wire::QueryJobs> asked;
  serve([&](const wire::Request& request) {
    asked.push_back(request.query_jobs());
    wire::Reply reply;
    wire::JobView* job = reply.mutable_jobs()->add_jobs();
    job->set_job_id(4);
    job->set_name("x");
    job->set_partition("p");
    job->set_uid(0);
    job->set_reason("Resources");
    job->set_node_count(1);
    return std::vector{reply};
  });
  EXPECT_EQ(run({"squeue", "-h"}).out,
            "                 4         p        x     root PD       0:00      1 (Resources)\n");
  EXPECT_TRUE(asked.back().brief());
  EXPECT_FALSE(asked.back().finished_too());
  EXPECT_EQ(run({"squeue", "-h", "-o", "%i|%C"}).out, "4|0\n");
  EXPECT_FALSE(asked.back().brief());
  EXPECT_EQ(run({"squeue", "-h", "-t", "all", "-o", "%i %t", "-u", "root"}).out, "4 PD\n");
  EXPECT_TRUE(asked.back().finished_too());
  EXPECT_EQ(run({"squeue", "-h", "-t", "R"}).out, "");
  EXPECT_EQ(run({"squeue", "-h", "-p", "other"}).out, "");
  EXPECT_EQ(run({"squeue", "-h", "-O", "JobID:|,State:"}).out, "4|PENDING\n");
}

TEST_F(Commands, Squeue_answers_unknown_ids_as_programs_expect) {
  serve([&](const wire::Request& request) {
    wire::Reply reply;
    reply.mutable_jobs()->set_missing(static_cast<std::uint32_t>(request.query_jobs().jobs_size()));
    return std::vector{reply};
  });
  const Outcome one = run({"squeue", "-j", "99999999"});
  EXPECT_EQ(one.code, 1);
  EXPECT_EQ(one.err, "slurm_load_jobs error: Invalid job id specified\n");
  EXPECT_EQ(run({"squeue", "-h", "-j", "8,9"}).code, 0) << "two unknown ids are no error";
  const Outcome all = run({"squeue", "-O", "ALL"});
  EXPECT_EQ(all.err, "squeue: error: Invalid job format specification: ALL\n");
  EXPECT_EQ(all.code, 0);
}

TEST_F(Commands, Scancel_excuses_jobs_that_are_gone_unless_a_signal_was_meant) {
  wire::CancelJobs asked;
  serve([&](const wire::Request& request) {
    asked = request.cancel();
    wire::Reply reply;
    auto* failed = reply.mutable_jobs_changed()->add_failed();
    failed->set_job("99");
    failed->set_code(2017);
    failed->set_text("Invalid job id specified");
    return std::vector{reply};
  });
  EXPECT_EQ(run({"scancel", "99"}).code, 0);
  const Outcome verbose = run({"scancel", "-v", "99"});
  EXPECT_EQ(verbose.code, 0);
  EXPECT_EQ(verbose.err,
            "scancel: Terminating job 99\nscancel: error: Kill job error on job id 99: Invalid job id specified\n");
  EXPECT_EQ(run({"scancel", "-s", "USR1", "99"}).code, 1);
  EXPECT_EQ(asked.signal(), 10u);
  run({"scancel", "5_[1-3]", "7,8"});
  ASSERT_EQ(asked.jobs_size(), 3);
  EXPECT_EQ(asked.jobs(0).tasks(), "1-3");
  EXPECT_EQ(run({"scancel"}).err, "scancel: error: No job identification provided\n");
  EXPECT_EQ(run({"scancel", "abc"}).err, "scancel: error: Invalid job id abc\n");
}

TEST_F(Commands, Scancel_by_workload_key_names_the_jobs_that_have_it) {
  std::vector<wire::Request> asked;
  serve([&](const wire::Request& request) {
    asked.push_back(request);
    wire::Reply reply;
    for (const std::uint32_t id : {5u, 6u, 7u}) {
      if (!request.has_query_jobs()) break;
      wire::JobView* job = reply.mutable_jobs()->add_jobs();
      job->set_job_id(id);
      job->mutable_extras()->set_wckey(id == 6 ? "paper" : "other");
    }
    if (request.has_cancel()) reply.mutable_jobs_changed()->add_changed("6");
    if (request.has_update_job()) reply.mutable_jobs_changed()->add_changed("6");
    return std::vector{reply};
  });
  EXPECT_EQ(run({"scancel", "--wckey=paper", "--admin-comment=made way"}).code, 1)
      << "a comment is for jobs that are named";
  EXPECT_EQ(run({"scancel", "--wckey=paper", "-p", "main"}).code, 0);
  ASSERT_TRUE(asked.back().has_cancel());
  ASSERT_EQ(asked.back().cancel().jobs_size(), 1);
  EXPECT_EQ(asked.back().cancel().jobs(0).job_id(), 6u);
  EXPECT_EQ(asked.back().cancel().partition(), "main");
  EXPECT_EQ(run({"scancel", "--wckey=nobody"}).code, 0);
  EXPECT_TRUE(asked.back().has_query_jobs()) << "nothing is cancelled when nothing matches";
  EXPECT_EQ(run({"scancel", "--admin-comment=made way", "6"}).code, 0);
  ASSERT_GE(asked.size(), 2u);
  EXPECT_EQ(asked[asked.size() - 2].update_job().extras().admin_comment(), "made way");
}

TEST_F(Commands, Listings_know_their_own_cluster_and_no_other) {
  serve([&](const wire::Request&) {
    wire::Reply reply;
    reply.mutable_jobs()->set_now_us(1);
    return std::vector{reply};
  });
  EXPECT_EQ(run({"squeue", "-h", "-M", "test"}).out, "CLUSTER: test\n");
  EXPECT_EQ(run({"squeue", "-h", "--clusters=all"}).out, "CLUSTER: test\n");
  EXPECT_EQ(run({"squeue", "-M", "elsewhere"}).err,
            "squeue: error: 'elsewhere' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr "
            "list clusters' to see available clusters.\n");
  EXPECT_EQ(run({"scontrol", "-M", "elsewhere", "ping"}).code, 1);
  EXPECT_EQ(run({"squeue", "-h", "--federation", "--local", "--sibling", "--noconvert"}).code, 0);
  const Outcome json = run({"squeue", "--json", "-M", "test"});
  EXPECT_TRUE(json.out.starts_with("{\n  \"jobs\": [\n  ],\n  \"last_backfill\"")) << json.out;
}

TEST_F(Commands, Scontrol_makes_changes_and_deletes_partitions_by_the_keys_of_slurm_conf) {
  std::vector<wire::Request> asked;
  serve([&](const wire::Request& request) {
    asked.push_back(request);
    wire::Reply reply;
    if (request.has_delete_partition()) {
      reply.mutable_failure()->set_code(2075);
      reply.mutable_failure()->set_text("Partition is in use");
    } else if (request.has_issue_token()) {
      reply.mutable_token()->set_token("a.b.c");
    } else {
      reply.mutable_done();
    }
    return std::vector{reply};
  });
  EXPECT_EQ(run({"scontrol", "create", "PartitionName=x", "Nodes=n1", "maxt=60"}).code, 0);
  EXPECT_TRUE(asked.back().update_partition().create());
  EXPECT_EQ(asked.back().update_partition().settings(1), "MaxTime=60");
  EXPECT_EQ(run({"scontrol", "update", "partition=x", "nodes+=n2"}).code, 0);
  EXPECT_EQ(asked.back().update_partition().name(), "x");
  EXPECT_EQ(asked.back().update_partition().settings(0), "Nodes+=n2");
  EXPECT_EQ(run({"scontrol", "delete", "PartitionName=x"}).err,
            "delete_partition PartitionName=x: Partition is in use\n");
  EXPECT_EQ(run({"scontrol", "update", "PartitionName=x", "Colour=red"}).err,
            "Update of this parameter is not supported: Colour=red\nRequest aborted\n");
  EXPECT_EQ(
      run({"scontrol", "update", "PartitionName=x", "Hidden=perhaps"}).err,
      "scontrol: error: Invalid input: Hidden=perhaps\nscontrol: error: Acceptable Hidden values are YES and NO\n");
  EXPECT_EQ(run({"scontrol", "update", "PartitionName=x", "Alternate=y"}).err,
            "scontrol: error: Alternate= of a partition is not built yet in Millrace\n");
  EXPECT_EQ(run({"scontrol", "update", "PartitionName=x"}).err, "No changes specified\n");
  EXPECT_EQ(run({"scontrol", "create", "PartitionName=DEFAULT", "Nodes=n1"}).err,
            "PartitionName cannot be \"DEFAULT\".\n");
  EXPECT_EQ(run({"scontrol", "fsdampeningfactor", "none"}).err, "invalid dampening factor: none\n");
  EXPECT_EQ(run({"scontrol", "token", "lifespan=60", "username=alice"}).out, "SLURM_JWT=a.b.c\n");
  EXPECT_EQ(asked.back().issue_token().lifespan_seconds(), 60u);
  EXPECT_EQ(run({"scontrol", "token", "lifespan=soon"}).code, 1);
  EXPECT_EQ(run({"sview"}).code, 1);
}

TEST_F(Commands, Scontrol_updates_holds_and_shows) {
  std::vector<wire::Request> asked;
  serve([&](const wire::Request& request) {
    asked.push_back(request);
    wire::Reply reply;
    if (request.has_query_jobs())
      reply.mutable_jobs()->set_missing(request.query_jobs().jobs_size() == 1 &&
                                        request.query_jobs().jobs(0).tasks().empty());
    else if (request.has_ping())
      reply.mutable_pong()->set_host("vm");
    else if (request.has_update_job() && request.update_job().job().job_id() == 9) {
      auto* failed = reply.mutable_jobs_changed()->add_failed();
      failed->set_job("9");
      failed->set_text("Job has already finished");
    } else
      reply.mutable_done();
    return std::vector{reply};
  });
  EXPECT_EQ(run({"scontrol", "ping"}).out, "Slurmctld(primary) at vm is UP\n");
  EXPECT_EQ(run({"scontrol", "show", "job"}).out, "No jobs in the system\n");
  const Outcome unknown = run({"scontrol", "show", "job", "99"});
  EXPECT_EQ(unknown.err, "slurm_load_jobs error: Invalid job id specified\n");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(run({"scontrol", "show", "job", "9_4"}).out, "Job 9_4 not found\n");
  EXPECT_EQ(run({"scontrol", "update", "JobId=9", "TimeLimit+=10"}).err, "Job has already finished for job 9\n");
  EXPECT_EQ(asked.back().update_job().time_limit_change_minutes(), 10);
  EXPECT_EQ(run({"scontrol", "update", "jobid=8", "NICE=5", "name=z"}).code, 0);
  EXPECT_EQ(asked.back().update_job().nice(), 5);
  EXPECT_EQ(run({"scontrol", "update", "JobId=8", "Colour=red"}).err,
            "Update of this parameter is not supported: Colour=red\nRequest aborted\n");
  EXPECT_EQ(run({"scontrol", "update", "JobId=8"}).err, "No changes specified\n");
  // A value may be the next word, keys may be short, and a job may be sent to a reservation.
  EXPECT_EQ(run({"scontrol", "update", "job", "8", "timelim=7", "nice", "reservationname=r"}).code, 0);
  EXPECT_EQ(asked.back().update_job().job().job_id(), 8u);
  EXPECT_EQ(asked.back().update_job().time_limit_minutes(), 7u);
  EXPECT_EQ(asked.back().update_job().nice(), 100);
  EXPECT_EQ(asked.back().update_job().resources().reservation(), "r");
  EXPECT_EQ(run({"scontrol", "update", "JobId=8", "Time=7"}).err,
            "Update of this parameter is not supported: Time=7\nRequest aborted\n");
  EXPECT_EQ(run({"scontrol", "update", "JobId=8", "TimeLimit"}).err, "Invalid input: TimeLimit  Request aborted\n");
  EXPECT_EQ(run({"scontrol", "update", "NodeName=n1", "weight", "8"}).err, "Invalid input: weight  Request aborted\n");
  EXPECT_EQ(run({"scontrol", "update", "NodeName=n1", "State=drain"}).err,
            "You must specify a reason when DOWNING or DRAINING a node. Request denied\n");
  EXPECT_EQ(run({"scontrol", "update", "JobId=8", "AdminComment+=b"}).code, 0);
  EXPECT_TRUE(asked.back().update_job().append_admin_comment());
  EXPECT_EQ(run({"scontrol", "update", "JobId=8", "Comment+=b"}).err,
            "scontrol: error: Option Comment+=b does not accept [+|-]= syntax\n");
  EXPECT_EQ(run({"scontrol", "update", "job=8", "a=x", "f=y", "res=z", "pa=p"}).code, 0);
  EXPECT_EQ(asked.back().update_job().account(), "x");
  EXPECT_EQ(asked.back().update_job().resources().features(), "y");
  EXPECT_EQ(asked.back().update_job().resources().reservation(), "z");
  EXPECT_EQ(asked.back().update_job().partition(), "p");
  EXPECT_EQ(run({"scontrol", "update", "jobname=x", "nice=5"}).err, "scontrol: error: No jobs with name 'x'\n");
  EXPECT_EQ(run({"scontrol", "-Q", "update", "JobId=9", "nice=5"}).err, "");
  EXPECT_EQ(run({"scontrol", "-Q", "update", "JobId=9", "nice=5"}).code, 1);
  // A slip of the fingers ends no cluster.
  EXPECT_EQ(run({"scontrol", "sh", "conf"}).err, "invalid keyword: sh\n");
  EXPECT_EQ(run({"scontrol", "shutdown", "foo"}).err, "invalid shutdown argument:foo\n");
  // What is no job is said, the others are changed.
  EXPECT_EQ(run({"scontrol", "hold", "jobid=3", "foo", "job=4"}).err, "Invalid job id specified for job foo\n");
  EXPECT_EQ(asked.back().hold().jobs_size(), 2);
  EXPECT_EQ(run({"scontrol", "release", "name=x"}).code, 0);
  EXPECT_EQ(asked.back().hold().name(), "x");
  EXPECT_EQ(run({"scontrol", "create", "reservation", "duration=10", "nodes=n1", "users=root"}).err,
            "scontrol: error: A start time must be given.  No reservation created.\n");
  // What would be ignored is refused.
  EXPECT_EQ(run({"scontrol", "show", "job", "1", "2"}).err, "too many arguments for keyword:show\n");
  EXPECT_EQ(run({"scontrol", "ping", "2"}).err, "too many arguments for keyword:ping\n");
  EXPECT_EQ(run({"scontrol", "write", "poem", "x"}).err, "invalid write argument:poem\n");
  EXPECT_EQ(run({"scontrol", "errnumstr", "x"}).err, "numeric arguments required for keyword:errnumstr\n");
  EXPECT_EQ(run({"scontrol", "delete", "jobid=3"}).err, "Invalid deletion entity: jobid=3\n");
  EXPECT_EQ(run({"scontrol", "delete", "partition"}).err, "too few arguments for delete keyword\n");
  EXPECT_EQ(run({"scontrol", "delete", "partition", "old"}).code, 0);
  EXPECT_EQ(asked.back().delete_partition().name(), "old");
  EXPECT_EQ(run({"scontrol", "create", "reservation", "nodes=n1", "users=root,no_such_one"}).err,
            "Error creating the reservation: Invalid user id: no_such_one\n");
  EXPECT_EQ(run({"scontrol", "update", "reservation=r", "groups+=no_such_one"}).err,
            "Error updating the reservation: Invalid group id: no_such_one\n");
  EXPECT_EQ(run({"scontrol", "update", "NodeName=n1", "State=drain", "Reason=x", "ResumeAfter=90"}).code, 0);
  EXPECT_EQ(asked.back().update_node().state(), "DRAIN");
  EXPECT_EQ(asked.back().update_node().resume_after_seconds(), 90);
  for (const char* off : {"ResumeAfter=-1", "ResumeAfter=infinite"}) {
    EXPECT_EQ(run({"scontrol", "update", "NodeName=n1", off}).code, 0);
    EXPECT_EQ(asked.back().update_node().resume_after_seconds(), -1);
  }
  EXPECT_EQ(run({"scontrol", "update", "NodeName=n1", "ResumeAfter=soon"}).err, "Invalid ResumeAfter value: soon\n");
  EXPECT_EQ(run({"scontrol", "update", "NodeName=n1", "ActiveFeatures=a", "AvailableFeatures=a,b", "InstanceId=i-1",
                 "InstanceType=large"})
                .code,
            0);
  EXPECT_EQ(asked.back().update_node().active_features(), "a");
  EXPECT_EQ(asked.back().update_node().features(), "a,b");
  EXPECT_EQ(asked.back().update_node().instance_id() + asked.back().update_node().instance_type(), "i-1large");
  EXPECT_EQ(run({"scontrol", "hold", "3", "4,5"}).code, 0);
  EXPECT_EQ(asked.back().hold().jobs_size(), 3);
  EXPECT_EQ(run({"scontrol", "rel", "jobname=x"}).code, 0);
  EXPECT_TRUE(asked.back().hold().release());
  EXPECT_EQ(asked.back().hold().name(), "x");
  EXPECT_EQ(run({"scontrol", "requeuehold", "3"}).code, 0);
  EXPECT_TRUE(asked.back().requeue().hold());
  EXPECT_EQ(run({"scontrol", "takeover", "3"}).err, "slurm_takeover error: no backup controller is configured\n");
  EXPECT_EQ(run({"scontrol", "show", "hostlistsorted", "b2,b1,a"}).out, "a,b[1-2]\n");
  EXPECT_EQ(run({"scontrol"}, "ping\nquit\n").out, "Slurmctld(primary) at vm is UP\n");
}

wire::FromTask output(std::uint32_t task, const char* text) {
  wire::FromTask message;
  message.mutable_output()->set_task(task);
  message.mutable_output()->set_data(text);
  return message;
}

wire::FromTask ended(std::uint32_t task, std::uint32_t code) {
  wire::FromTask message;
  message.mutable_ended()->set_task(task);
  message.mutable_ended()->set_exit_code(code);
  return message;
}

TEST_F(Commands, Srun_is_the_terminal_of_its_tasks) {
  std::thread node;
  wire::SubmitJob asked;
  serve([&](const wire::Request& request) {
    if (!request.has_submit()) return std::vector<wire::Reply>{};
    asked = request.submit();
    node = std::thread([endpoint = asked.job().stdio()] {
      play_node(endpoint, {output(0, "stolen\n")}, std::string(32, 'x'));  // not the secret: must be dropped
      play_node(endpoint, {output(0, "he"), output(1, "one\n"), output(0, "llo\n"), ended(0, 0), ended(1, 3)},
                endpoint.secret());
    });
    return std::vector{submitted(21)};
  });
  const Outcome outcome = run({"srun", "-l", "-n2", "hostname", "-f"});
  node.join();
  EXPECT_EQ(outcome.out, "1: one\n0: hello\n");
  EXPECT_EQ(outcome.err, "srun: error: n1: task 1: Exited with exit code 3\n");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(asked.job().interactive());
  EXPECT_EQ(asked.job().stdio().secret().size(), 32u);
  EXPECT_EQ(asked.job().arguments_size(), 2);
  EXPECT_EQ(asked.job().name(), "hostname");
}

TEST_F(Commands, Srun_notices_a_job_that_ends_otherwise) {
  serve([&](const wire::Request& request) {
    if (request.has_submit()) return std::vector{submitted(22)};
    wire::Reply reply;
    reply.mutable_job_progress()->set_state(wire::CANCELLED);
    reply.mutable_job_progress()->set_ended(true);
    return std::vector{reply};
  });
  const Outcome outcome = run({"srun", "true"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "srun: Force Terminated JobId=22\n");
}

TEST_F(Commands, Srun_refuses_what_it_cannot_do_yet) {
  EXPECT_EQ(run({"srun"}).err, "srun: fatal: No command given to execute.\n");
  EXPECT_TRUE(run({"srun", "--bcast", "file"})
                  .err.starts_with("srun: error: --bcast copies to the nodes of the job srun runs in"));
}

TEST_F(Commands, Millrace_checks_a_configuration) {
  const Outcome outcome = run(
      {"millrace", "check", file("c", "ClusterName=x\nSlurmctldHost=y\nBurstBufferType=x\nNoSuch=1\nKillWait=x\n")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find(":5: KillWait: 'x' is not a time"), std::string::npos);
  EXPECT_NE(outcome.out.find(":4: NoSuch: unknown key\n"), std::string::npos);
  EXPECT_NE(outcome.out.find(":3: BurstBufferType: not built yet\n"), std::string::npos);
  EXPECT_EQ(run({"sreport"}).err, "sreport: error: this command is not built yet in Millrace\n");
  const std::string names = run({"millrace", "commands"}).out;
  for (const CommandRow& row : command_rows())
    EXPECT_EQ(("\n" + names).find("\n" + std::string{row.name} + "\n") != std::string::npos, row.own_name) << row.name;
  EXPECT_EQ(run({"squeue", "-V"}).out, "slurm 26.11.0\n");
  EXPECT_EQ(run({"millrace", "--version"}).out, "millrace 0.1.0\n");
  for (const char* name : {"sbatch", "srun", "squeue", "sinfo", "scancel", "scontrol"})
    EXPECT_TRUE(run({"millrace", "man", name}).out.starts_with(".TH "));
}

TEST(Manuals, An_argument_that_may_be_left_out_is_shown_as_such) {
  EXPECT_NE(srun_manual().find("\\-\\-x11[=all|first|last]"), std::string::npos);
  EXPECT_NE(srun_manual().find("\\-\\-kill\\-on\\-bad\\-exit[=0|1]"), std::string::npos);
}

}  // namespace
}  // namespace millrace
