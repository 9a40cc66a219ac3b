// src/mpi/pmi_server_test.cpp - PMI-1 and PMI-2 as tasks speak them, on one node and on two that meet in a hub.
#include "mpi/pmi_server.h"

#include <gtest/gtest.h>

#include "mpi/exchange_hub.h"

namespace millrace {
namespace {

std::string pmi2(const std::string& body) {
  std::string length = std::to_string(body.size());
  return std::string(6 - length.size(), ' ') + length + body;
}

// Two nodes with two tasks each, tasks 0 and 1 on the first.
class Pmi : public testing::Test {
 protected:
  Pmi() {
    for (std::uint32_t node = 0; node < 2; ++node) {
      PmiFacts facts;
      facts.name = "12.0";
      facts.size = 4;
      facts.universe = 4;
      facts.members = 2;
      facts.process_mapping = "(vector,(0,2,2))";
      facts.ranks = {2 * node, 2 * node + 1};
      nodes_.emplace_back(facts);
    }
  }
  // What the task says, and what it hears by then.
  std::string say(std::uint32_t rank, const std::string& text) {
    nodes_[rank / 2].take(rank, text);
    settle();
    return heard(rank);
  }
  std::string heard(std::uint32_t rank) { return std::exchange(heard_[rank], {}); }
  void settle() {
    for (bool busy = true; busy;) {
      busy = false;
      for (std::uint32_t node = 0; node < 2; ++node)
        for (const auto& message : nodes_[node].take_outgoing()) {
          hub_.take(node, message);
          busy = true;
        }
      for (const auto& out : hub_.take_outgoing()) nodes_[out.node].hear(out.message);
      if (const auto abort = hub_.take_abort()) abort_ = abort;
    }
    for (PmiServer& node : nodes_)
      for (const auto& [rank, text] : node.take_replies()) heard_[rank] += text;
  }
  void begin_pmi1(std::uint32_t rank) {
    EXPECT_EQ(say(rank, "cmd=init pmi_version=1 pmi_subversion=1\n"),
              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  }
  void begin_pmi2(std::uint32_t rank) {
    EXPECT_EQ(say(rank, "cmd=init pmi_version=2 pmi_subversion=0\n"),
              "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
    EXPECT_NE(say(rank, pmi2("cmd=fullinit;pmijobid=12.0;pmirank=" + std::to_string(rank) + ";threaded=FALSE;"))
                  .find("rank=" + std::to_string(rank) + ";size=4;appnum=0;"),
              std::string::npos);
  }

  std::vector<PmiServer> nodes_;
  ExchangeHub hub_;
  std::map<std::uint32_t, std::string> heard_;
  std::optional<wire::MpiAbort> abort_;
};

TEST_F(Pmi, Pmi1_tells_the_job_its_size_and_maxima) {
  begin_pmi1(0);
  EXPECT_EQ(say(0, "cmd=get_maxes\n"), "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  EXPECT_EQ(say(0, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(say(0, "cmd=get_universe_size\n"), "cmd=universe_size rc=0 size=4\n");
  EXPECT_EQ(say(0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname rc=0 kvsname=12.0\n");
  EXPECT_EQ(say(0, "cmd=get kvsname=12.0 key=PMI_process_mapping\n"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
  EXPECT_EQ(say(0, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
}

TEST_F(Pmi, Pmi1_values_cross_nodes_at_the_barrier) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    begin_pmi1(rank);
    EXPECT_EQ(
        say(rank, "cmd=put kvsname=12.0 key=card" + std::to_string(rank) + " value=at#" + std::to_string(rank) + "\n"),
        "cmd=put_result rc=0 msg=success\n");
  }
  EXPECT_EQ(say(0, "cmd=get kvsname=12.0 key=card3\n"), "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(say(rank, "cmd=barrier_in\n"), "");
  EXPECT_EQ(say(3, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n");
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(heard(rank), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(say(0, "cmd=get kvsname=12.0 key=card3\n"), "cmd=get_result rc=0 msg=success value=at#3\n");
  EXPECT_EQ(say(2, "cmd=get kvsname=12.0 key=card1\n"), "cmd=get_result rc=0 msg=success value=at#1\n");
  // A second one begins from nothing.
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(say(rank, "cmd=barrier_in\n"), "");
  EXPECT_EQ(say(3, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n");
}

TEST_F(Pmi, Pmi1_commands_may_come_in_pieces_and_in_heaps) {
  EXPECT_EQ(say(1, "cmd=init pmi_ver"), "");
  EXPECT_EQ(say(1, "sion=1 pmi_subversion=1\ncmd=get_appnum\ncmd=get_"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(say(1, "appnum\n"), "cmd=appnum rc=0 appnum=0\n");
}

TEST_F(Pmi, Pmi2_values_cross_nodes_at_the_fence_and_threads_get_their_number_back) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    begin_pmi2(rank);
    EXPECT_EQ(say(rank, pmi2("cmd=kvs-put;thrid=7;key=card" + std::to_string(rank) + ";value=a;;b" +
                             std::to_string(rank) + ";")),
              pmi2("cmd=kvs-put-response;thrid=7;rc=0;"));
  }
  EXPECT_EQ(say(1, pmi2("cmd=kvs-get;jobid=12.0;srcid=3;key=card3;")), pmi2("cmd=kvs-get-response;rc=0;flag=FALSE;"));
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(say(rank, pmi2("cmd=kvs-fence;")), "");
  EXPECT_EQ(say(3, pmi2("cmd=kvs-fence;")), pmi2("cmd=kvs-fence-response;rc=0;"));
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(heard(rank), pmi2("cmd=kvs-fence-response;rc=0;"));
  EXPECT_EQ(say(1, pmi2("cmd=kvs-get;jobid=12.0;srcid=3;key=card3;")),
            pmi2("cmd=kvs-get-response;rc=0;flag=TRUE;value=a;;b3;"));
}

TEST_F(Pmi, Pmi2_tells_of_job_and_node) {
  begin_pmi2(2);
  begin_pmi2(3);
  EXPECT_EQ(say(2, pmi2("cmd=info-getjobattr;key=PMI_process_mapping;")),
            pmi2("cmd=info-getjobattr-response;rc=0;flag=TRUE;value=(vector,(0,2,2));"));
  EXPECT_EQ(say(2, pmi2("cmd=info-getjobattr;key=universeSize;")),
            pmi2("cmd=info-getjobattr-response;rc=0;flag=TRUE;value=4;"));
  EXPECT_EQ(say(2, pmi2("cmd=info-getjobattr;key=localRanks;")),
            pmi2("cmd=info-getjobattr-response;rc=0;flag=TRUE;value=2,3;"));
  EXPECT_EQ(say(2, pmi2("cmd=info-getjobattr;key=colour;")), pmi2("cmd=info-getjobattr-response;rc=0;flag=FALSE;"));
  EXPECT_EQ(say(2, pmi2("cmd=job-getid;")), pmi2("cmd=job-getid-response;rc=0;jobid=12.0;"));
  EXPECT_EQ(say(2, pmi2("cmd=info-getnodeattr;key=shm;wait=FALSE;")),
            pmi2("cmd=info-getnodeattr-response;rc=0;flag=FALSE;"));
  EXPECT_EQ(say(2, pmi2("cmd=info-getnodeattr;key=shm;wait=TRUE;")), "");
  EXPECT_EQ(say(3, pmi2("cmd=info-putnodeattr;key=shm;value=/x;")), pmi2("cmd=info-putnodeattr-response;rc=0;"));
  EXPECT_EQ(heard(2), pmi2("cmd=info-getnodeattr-response;rc=0;flag=TRUE;value=/x;"));
  EXPECT_NE(say(2, pmi2("cmd=spawn;ncmds=1;")).find("rc=1;errmsg=spawn is not supported;"), std::string::npos);
}

TEST_F(Pmi, Names_are_published_for_all_nodes) {
  begin_pmi1(0);
  begin_pmi2(3);
  EXPECT_NE(say(3, pmi2("cmd=name-lookup;name=ocean;")).find("rc=1;flag=FALSE;"), std::string::npos);
  EXPECT_EQ(say(0, "cmd=publish_name service=ocean port=tag#0\n"), "cmd=publish_result rc=0 info=ok msg=success\n");
  EXPECT_EQ(say(0, "cmd=publish_name service=ocean port=tag#1\n"), "cmd=publish_result rc=1 info=failed msg=failed\n");
  EXPECT_EQ(say(3, pmi2("cmd=name-lookup;name=ocean;")), pmi2("cmd=name-lookup-response;rc=0;flag=TRUE;value=tag#0;"));
  EXPECT_EQ(say(3, pmi2("cmd=name-unpublish;name=ocean;")), pmi2("cmd=name-unpublish-response;rc=0;"));
  EXPECT_EQ(say(0, "cmd=lookup_name service=ocean\n"), "cmd=lookup_result rc=1 info=failed msg=failed\n");
}

TEST_F(Pmi, Abort_reaches_the_middle_with_its_code) {
  begin_pmi1(3);
  say(3, "cmd=abort exitcode=42\n");
  ASSERT_TRUE(abort_);
  EXPECT_EQ(abort_->task(), 3u);
  EXPECT_EQ(abort_->exit_code(), 42u);
}

TEST_F(Pmi, Task_that_fails_before_finalize_aborts_the_step) {
  begin_pmi2(1);
  nodes_[0].task_ended(1, true);
  settle();
  ASSERT_TRUE(abort_);
  EXPECT_EQ(abort_->text(), "ended without finalizing");
}

TEST_F(Pmi, Task_that_is_gone_is_not_waited_for) {
  begin_pmi1(0);
  nodes_[0].task_ended(1, false);
  settle();
  EXPECT_FALSE(abort_);
  say(0, "cmd=barrier_in\n");
  ASSERT_TRUE(abort_);
  EXPECT_EQ(abort_->task(), 1u);
}

TEST_F(Pmi, Programs_may_follow_each_other_in_one_task) {
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      begin_pmi2(rank);
      EXPECT_EQ(say(rank, pmi2("cmd=kvs-put;key=k;value=v" + std::to_string(round) + ";")),
                pmi2("cmd=kvs-put-response;rc=0;"));
      EXPECT_EQ(say(rank, pmi2("cmd=finalize;")), pmi2("cmd=finalize-response;rc=0;"));
    }
  for (PmiServer& node : nodes_) node.task_ended(&node == &nodes_[0] ? 0 : 2, true);
  settle();
  EXPECT_FALSE(abort_) << "it had finalized";
}

TEST_F(Pmi, Noise_and_too_much_are_refused) {
  begin_pmi1(0);
  EXPECT_EQ(say(0, "cmd=put kvsname=12.0 key=" + std::string(65, 'k') + " value=v\n"),
            "cmd=put_result rc=-1 msg=key_too_long\n");
  EXPECT_EQ(say(0, "cmd=put kvsname=12.0 key=k value=" + std::string(1025, 'v') + "\n"),
            "cmd=put_result rc=-1 msg=value_too_long\n");
  EXPECT_EQ(say(0, "cmd=put kvsname=other key=k value=v\n"), "cmd=put_result rc=-1 msg=unknown_kvs\n");
  EXPECT_EQ(say(0, "mcmd=spawn\nnprocs=1\nexecname=a\nendcmd\n"),
            "cmd=spawn_result rc=-1 msg=spawn_is_not_supported\n");
  begin_pmi2(1);
  say(1, "abcdefcmd=x;");
  ASSERT_TRUE(abort_);
  EXPECT_EQ(abort_->text(), "does not speak PMI");
}

TEST_F(Pmi, Questions_without_an_end_abort_the_step) {
  say(0, "cmd=init pmi_version=2 pmi_subversion=0\n");
  for (int i = 0; i < 4096; ++i)
    nodes_[0].take(0, pmi2("cmd=info-getnodeattr;key=k" + std::to_string(i) + ";wait=TRUE;"));
  settle();
  EXPECT_FALSE(abort_);
  say(0, pmi2("cmd=info-getnodeattr;key=last;wait=TRUE;"));
  ASSERT_TRUE(abort_);
  EXPECT_EQ(abort_->text(), "asks without waiting for answers");
}

TEST_F(Pmi, Attributes_of_a_node_have_the_bounds_of_other_values) {
  begin_pmi2(0);
  const auto put = [&](std::size_t key, std::size_t value) {
    return say(0,
               pmi2("cmd=info-putnodeattr;key=" + std::string(key, 'k') + ";value=" + std::string(value, 'v') + ";"));
  };
  EXPECT_EQ(put(64, 1024), pmi2("cmd=info-putnodeattr-response;rc=0;"));
  EXPECT_EQ(put(65, 1), pmi2("cmd=info-putnodeattr-response;rc=1;errmsg=key_too_long;"));
  EXPECT_EQ(put(1, 1025), pmi2("cmd=info-putnodeattr-response;rc=1;errmsg=value_too_long;"));
  EXPECT_EQ(say(0, pmi2("cmd=info-getnodeattr;key=k;wait=FALSE;")),
            pmi2("cmd=info-getnodeattr-response;rc=0;flag=FALSE;"));
  EXPECT_EQ(say(0, pmi2("cmd=info-getnodeattr;key=" + std::string(65, 'w') + ";wait=TRUE;")),
            pmi2("cmd=info-getnodeattr-response;rc=1;errmsg=key_too_long;"));
}

TEST_F(Pmi, Task_waits_once_for_an_attribute) {
  begin_pmi2(0);
  begin_pmi2(1);
  const std::string ask = pmi2("cmd=info-getnodeattr;key=shm;wait=TRUE;");
  EXPECT_EQ(say(0, ask), "");
  EXPECT_EQ(say(0, ask), pmi2("cmd=info-getnodeattr-response;rc=1;errmsg=waits_already;"));
  EXPECT_EQ(say(1, pmi2("cmd=info-getnodeattr;thrid=" + std::string(65, '7') + ";key=shm;wait=TRUE;")),
            pmi2("cmd=info-getnodeattr-response;thrid=" + std::string(65, '7') + ";rc=1;errmsg=thrid_too_long;"));
  EXPECT_EQ(say(1, ask), "");
  EXPECT_EQ(
      say(1, pmi2("cmd=info-putnodeattr;key=shm;value=/x;")),
      pmi2("cmd=info-putnodeattr-response;rc=0;") + pmi2("cmd=info-getnodeattr-response;rc=0;flag=TRUE;value=/x;"));
  EXPECT_EQ(heard(0), pmi2("cmd=info-getnodeattr-response;rc=0;flag=TRUE;value=/x;"));
}

TEST_F(Pmi, Short_questions_with_long_answers_abort_the_step) {
  PmiFacts facts;
  facts.name = "12.0";
  facts.ranks = {0};
  facts.process_mapping = std::string(4u << 20, 'm');
  PmiServer server(facts);
  std::string heap = "cmd=init pmi_version=1 pmi_subversion=1\n";
  for (int i = 0; i < 100; ++i) heap += "cmd=get kvsname=12.0 key=PMI_process_mapping\n";
  server.take(0, heap);
  EXPECT_LE(server.take_replies().size(), 6u);
  const auto said = server.take_outgoing();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].abort().text(), "asks without waiting for answers");
}

TEST_F(Pmi, Small_keys_are_counted_with_what_it_costs_to_keep_them) {
  PmiFacts facts;
  facts.name = "12.0";
  facts.ranks = {0};
  facts.table_bytes_max = 100'000;
  PmiServer server(facts);
  std::string heap = "cmd=init pmi_version=1 pmi_subversion=1\n";
  for (int i = 0; i < 1000; ++i) heap += "cmd=put kvsname=12.0 key=" + std::to_string(i) + " value=\n";
  server.take(0, heap);
  const std::string last = server.take_replies().back().second;
  EXPECT_NE(last.find("too_many_keys"), std::string::npos) << last;
}

TEST_F(Pmi, A_key_that_is_put_again_and_again_takes_its_room_once) {
  PmiFacts facts;
  facts.name = "12.0";
  facts.ranks = {0};
  facts.table_bytes_max = 10'000;
  PmiServer server(facts);
  ExchangeHub hub;
  server.take(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  const std::string value(1000, 'v');
  for (int round = 0; round < 100; ++round) {
    for (const char* key : {"a", "b", "a"})
      server.take(0, "cmd=put kvsname=12.0 key=" + std::string{key} + " value=" + value + "\n");
    server.take(0, "cmd=barrier_in\n");
    for (const wire::MpiFromNode& message : server.take_outgoing()) hub.take(0, message);
    for (const ExchangeHub::Outgoing& out : hub.take_outgoing()) server.hear(out.message);
    std::string said;
    for (const auto& [rank, text] : server.take_replies()) said += text;
    ASSERT_EQ(said.find("too_many_keys"), std::string::npos) << round;
    ASSERT_TRUE(said.ends_with("cmd=barrier_out rc=0\n")) << said;
  }
}

TEST(PmiBytesMax, Is_some_kib_for_each_task_of_any_step) {
  EXPECT_EQ(pmi_bytes_max(1), (4u << 20) + (16u << 10));
  EXPECT_GE(pmi_bytes_max(4096), 64u << 20);
  EXPECT_EQ(pmi_bytes_max(1'000'000), 256u << 20);
}

TEST(ProcessMapping, Blocks_of_equal_nodes_are_one) {
  EXPECT_EQ(process_mapping({0, 0, 1, 1, 2, 2}), "(vector,(0,3,2))");
  EXPECT_EQ(process_mapping({0, 0, 1}), "(vector,(0,1,2),(1,1,1))");
  EXPECT_EQ(process_mapping({0, 1, 0, 1}), "(vector,(0,2,1),(0,2,1))");
}

}  // namespace
}  // namespace millrace
