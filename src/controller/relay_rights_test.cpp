// src/controller/relay_rights_test.cpp - what the key of a compute node, of a login machine and of root's own can do.
#include "controller/relay_rights.h"

#include <gtest/gtest.h>

#include "controller/rights.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

class RelayRights : public testing::Test {
 protected:
  RelayRights() {
    std::vector<NodeDef> nodes(2);
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{4};
      main.nodes.push_back(nodes[i].name);
    }
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main}, Policy{}, now_}});
    for (std::uint32_t i = 0; i < 2; ++i)
      happen(
          decide_register(state_, {NodeIndex{i}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now_));
    run(here_, NodeIndex{0});
    run(there_, NodeIndex{1});
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }
  void run(UserId uid, NodeIndex node) {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{uid, GroupId{1}, "u", "g", {1}, "h", {}});
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    const JobKey key = state_.next_key;
    happen(decide(state_, ask, {uid, false}, now_)->events);
    happen(decide_place(state_, {key, Attempt{0}, {{node, Cpus{1}, {}, 1, false}}, false}, now_));
  }
  bool taken(KeyRole role, UserId uid, const wire::Request& request) {
    const KeyName relay{role, "n0"};
    return !relay_refusal(state_, {relay, uid, uid.value == 0}, request);
  }
  static wire::Request submission() {
    wire::Request request;
    request.mutable_submit();
    return request;
  }
  static wire::Request step_of(std::uint32_t job) {
    wire::Request request;
    request.mutable_create_step()->set_job_id(job);
    return request;
  }
  static wire::Request drain(const char* nodes) {
    wire::Request request;
    request.mutable_update_node()->set_nodes(nodes);
    return request;
  }

  const Time now_{1'000'000};
  const UserId root_{0}, here_{1000}, there_{1001}, nobody_{1002};
  State state_;
};

TEST_F(RelayRights, A_compute_node_speaks_for_users_who_have_a_job_there) {
  EXPECT_TRUE(taken(KeyRole::node, here_, submission()));
  EXPECT_TRUE(taken(KeyRole::munge, here_, submission()));
  EXPECT_FALSE(taken(KeyRole::node, there_, submission()));
  EXPECT_FALSE(taken(KeyRole::node, nobody_, submission()));
  EXPECT_FALSE(taken(KeyRole::munge, nobody_, submission()));
  EXPECT_FALSE(taken(KeyRole::node, here_, drain("n0"))) << "not even an administrator with a job there";
  wire::Request token, reset, wait;
  token.mutable_issue_token();
  EXPECT_FALSE(taken(KeyRole::node, here_, token)) << "it would outlive the job";
  reset.mutable_query_diagnostics()->set_reset(true);
  EXPECT_FALSE(taken(KeyRole::node, root_, reset)) << "it only looks like a question";
  wait.mutable_wait_job()->set_as_client(true);
  EXPECT_FALSE(taken(KeyRole::node, nobody_, wait));
}

TEST_F(RelayRights, A_compute_node_speaks_for_root_about_itself_and_the_jobs_it_has) {
  EXPECT_FALSE(taken(KeyRole::node, root_, submission()));
  EXPECT_TRUE(taken(KeyRole::node, root_, drain("n0")));
  EXPECT_FALSE(taken(KeyRole::node, root_, drain("n1")));
  EXPECT_FALSE(taken(KeyRole::node, root_, drain("n[0-1]")));
  EXPECT_FALSE(taken(KeyRole::node, root_, drain("")));
  EXPECT_TRUE(taken(KeyRole::node, root_, step_of(1)));
  EXPECT_FALSE(taken(KeyRole::node, root_, step_of(2)));
  wire::Request cancel;
  cancel.mutable_cancel()->add_jobs()->set_job_id(1);
  EXPECT_TRUE(taken(KeyRole::node, root_, cancel));
  cancel.mutable_cancel()->add_jobs()->set_job_id(2);
  EXPECT_FALSE(taken(KeyRole::node, root_, cancel));
  cancel.mutable_cancel()->clear_jobs();
  EXPECT_FALSE(taken(KeyRole::node, root_, cancel)) << "which would be all";
}

TEST_F(RelayRights, A_login_machine_speaks_for_users_and_for_root_when_its_key_says_so) {
  for (const UserId user : {here_, there_, nobody_}) EXPECT_TRUE(taken(KeyRole::login, user, submission()));
  EXPECT_FALSE(taken(KeyRole::login, root_, submission()));
  EXPECT_FALSE(taken(KeyRole::login, root_, drain("n0")));
  EXPECT_TRUE(taken(KeyRole::login_root, root_, submission()));
  EXPECT_TRUE(taken(KeyRole::login_root, root_, drain("n1")));
}

TEST_F(RelayRights, Questions_are_for_everybody_and_whatever_changes_something_is_none) {
  wire::Request question;
  question.mutable_query_jobs();
  for (const KeyRole role : {KeyRole::node, KeyRole::login, KeyRole::munge})
    for (const UserId user : {root_, nobody_}) EXPECT_TRUE(taken(role, user, question));
  wire::Request shutdown, token, script, empty;
  shutdown.mutable_shutdown();
  token.mutable_issue_token();
  script.mutable_get_script()->set_job_id(2);
  for (const wire::Request* request : {&shutdown, &token, &script, &empty})
    for (const UserId user : {root_, nobody_}) EXPECT_FALSE(taken(KeyRole::node, user, *request));
}

}  // namespace
}  // namespace millrace
