// src/config/reread_test.cpp - what a running daemon cannot take up is named, everything else is silent; what `millrace
// check` suggests.
#include "config/reread.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/keys.h"
#include "config/slurm_conf.h"
#include "config/suggestions.h"

namespace millrace {
namespace {

Configuration read(const std::string& more) {
  auto report = parse_configuration_text("ClusterName=c\nSlurmctldHost=h\n" + more, "/etc/slurm/slurm.conf");
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  return std::move(report.configuration);
}

using Names = std::vector<std::string>;

TEST(Reread, What_changes_while_running_is_not_named) {
  const Configuration before = read("NodeName=n1 CPUs=2\nPartitionName=p Nodes=n1\nKillWait=5\nProlog=/a\n");
  const Configuration after = read("NodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=n[1-2]\nKillWait=9\nProlog=/b\n");
  EXPECT_EQ(wait_for_restart(before, after, Daemon::controller), Names{});
  EXPECT_EQ(wait_for_restart(before, after, Daemon::agent, "n1"), Names{});
}

TEST(Reread, What_is_fixed_at_the_start_is_named) {
  const Configuration before =
      read("NodeName=n1 CPUs=2\nSlurmctldPort=1\nStateSaveLocation=/a\nTaskPlugin=task/affinity\n");
  const Configuration after =
      read("NodeName=n1 CPUs=4\nSlurmctldPort=2\nStateSaveLocation=/b\nTaskPlugin=task/cgroup\n");
  EXPECT_EQ(wait_for_restart(before, after, Daemon::controller), (Names{"SlurmctldPort", "StateSaveLocation"}));
  EXPECT_EQ(wait_for_restart(before, after, Daemon::agent, "n1"),
            (Names{"SlurmctldPort", "TaskPlugin", "cgroup.conf or job_container.conf", "the resources of node n1"}));
  EXPECT_EQ(wait_for_restart(before, read("SlurmctldPort=1\nTaskPlugin=task/affinity\n"), Daemon::agent, "n1"),
            Names{"the line of node n1, which is gone"});
}

TEST(Configuration, Munge_is_asked_for_by_name_and_its_socket_is_not_ours) {
  const Configuration plain = read("AuthInfo=socket=/run/own.sock\n");
  EXPECT_FALSE(plain.munge);
  EXPECT_EQ(plain.socket_path, "/run/own.sock");
  const Configuration munge = read("AuthType=auth/munge\nAuthInfo=socket=/var/run/munge/munge.socket.2\n");
  EXPECT_TRUE(munge.munge);
  EXPECT_EQ(munge.munge_socket, "/var/run/munge/munge.socket.2");
  EXPECT_EQ(munge.socket_path, "/run/millrace/c/controller.sock");
}

TEST(Configuration, A_key_without_effect_is_said_to_have_none_unless_it_says_what_happens_anyway) {
  const Configuration c = read("TreeWidth=50\nEpilogMsgTime=2000\nEpilogMsgTime=3000\nBurstBufferType=x\nUsePAM=1\n");
  ASSERT_EQ(c.without_effect.size(), 2u);
  EXPECT_EQ(c.without_effect[0].key, "TreeWidth");
  EXPECT_EQ(c.without_effect[1].key, "EpilogMsgTime");
  ASSERT_EQ(c.not_built.size(), 2u);
  EXPECT_EQ(c.not_built[0].key, "BurstBufferType");
  EXPECT_EQ(c.not_built[1].key, "UsePAM");
}

TEST(Configuration, Logs_have_levels_flags_and_forms) {
  const Configuration c = read(
      "SlurmctldDebug=verbose\nSlurmdDebug=6\nDebugFlags=Backfill,TraceJobs\nLogTimeFormat="
      "rfc5424\nSlurmctldSyslogDebug=error\nSlurmSchedLogFile=/x\nSlurmSchedLogLevel=1\n");
  EXPECT_EQ(c.log.controller, LogLevel::verbose);
  EXPECT_EQ(c.log.agent, LogLevel::debug2);
  EXPECT_EQ(names_of_flags(c.log.flags), "Backfill,TraceJobs");
  EXPECT_EQ(c.log.time, LogTimeFormat::rfc5424);
  EXPECT_EQ(c.log.controller_syslog, LogLevel::error);
  EXPECT_EQ(c.log.agent_syslog, std::nullopt);
  EXPECT_EQ(c.log.schedule_file, "/x");
  EXPECT_TRUE(c.log.schedule);
}

TEST(Suggestions, Say_what_would_hurt_on_this_host) {
  HostLooks host{[](const std::string& path) { return path == "/there"; }, [](const std::string&) { return false; },
                 [](const std::string&) { return false; }};
  const auto lines =
      suggestions(read("SlurmUser=slurm\nAuthType=auth/munge\nProlog=/there\nProlog=/"
                       "gone\nNodeName=n[1-3]\nNodeName=n4 CPUs=2 RealMemory=100\nPartitionName=p Nodes=ALL\n"
                       "SchedulerParameters=defer\n"),
                  host);
  const auto says = [&](std::string_view words) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("useradd --system slurm"));
  EXPECT_TRUE(says("millrace key"));
  EXPECT_TRUE(says("Prolog=/gone"));
  EXPECT_FALSE(says("Prolog=/there"));
  EXPECT_TRUE(says("NodeName=n[1-3]: without RealMemory"));
  EXPECT_TRUE(says("task/cgroup"));
  EXPECT_TRUE(says("PartitionName=p: without DefaultTime"));
  EXPECT_TRUE(says("no partition has Default=YES"));
  EXPECT_TRUE(says("SchedulerParameters=defer"));
}

}  // namespace
}  // namespace millrace
