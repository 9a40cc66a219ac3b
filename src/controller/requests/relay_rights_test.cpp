// src/controller/requests/relay_rights_test.cpp - what the key of a compute node, of a login machine and of root's own
// can do.
#include "controller/requests/relay_rights.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "controller/requests/request_table.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;

// For whom the key of a compute node speaks when a request of this kind comes from there.
enum class Users : std::uint8_t { all, with_a_job_there, none };
enum class Root : std::uint8_t {
  always,       // everybody may ask that
  about_a_job,  // a single one that is there
  about_itself,
  never,
};

struct Row {
  B kind;
  Users users;
  Root root;
  void (*name_job)(wire::Request&, std::uint32_t job) = nullptr;  // of kinds that root may ask about a job
};

constexpr Row rows[] = {
    {B::kSubmit, Users::with_a_job_there, Root::never},
    {B::kCancel, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) { ask.mutable_cancel()->add_jobs()->set_job_id(job); }},
    {B::kQueryJobs, Users::all, Root::always},
    {B::kQueryNodes, Users::all, Root::always},
    {B::kQueryPartitions, Users::all, Root::always},
    {B::kQueryConfig, Users::all, Root::always},
    {B::kUpdateJob, Users::with_a_job_there, Root::never},
    {B::kHold, Users::with_a_job_there, Root::never},
    {B::kRequeue, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) { ask.mutable_requeue()->add_jobs()->set_job_id(job); }},
    {B::kUpdateNode, Users::none, Root::about_itself},
    {B::kUpdatePartition, Users::none, Root::never},
    {B::kPing, Users::all, Root::always},
    {B::kShutdown, Users::none, Root::never},
    {B::kReconfigure, Users::none, Root::never},
    {B::kWaitJob, Users::all, Root::always},
    {B::kGetScript, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) { ask.mutable_get_script()->set_job_id(job); }},
    {B::kQueryLicences, Users::all, Root::always},
    {B::kQueryTopology, Users::all, Root::always},
    {B::kReserve, Users::none, Root::never},
    {B::kRemoveReservation, Users::with_a_job_there, Root::never},
    {B::kQueryReservations, Users::all, Root::always},
    {B::kExplain, Users::all, Root::always},
    {B::kChangeAccounts, Users::with_a_job_there, Root::never},
    {B::kQueryAccounts, Users::all, Root::always},
    {B::kQueryPriorities, Users::all, Root::always},
    {B::kSetCrontab, Users::with_a_job_there, Root::never},
    {B::kQueryCrontab, Users::with_a_job_there, Root::never},
    {B::kSetTrigger, Users::with_a_job_there, Root::never},
    {B::kQueryTriggers, Users::with_a_job_there, Root::never},
    {B::kClearTriggers, Users::with_a_job_there, Root::never},
    {B::kCreateStep, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) { ask.mutable_create_step()->set_job_id(job); }},
    {B::kEndAllocation, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) { ask.mutable_end_allocation()->set_job_id(job); }},
    {B::kSuspend, Users::none, Root::never},
    {B::kQuerySteps, Users::all, Root::always},
    {B::kSignalStep, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) {
       ask.mutable_signal_step()->mutable_step()->mutable_job()->set_job_id(job);
     }},
    {B::kAttachStep, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) {
       ask.mutable_attach_step()->mutable_step()->mutable_job()->set_job_id(job);
     }},
    {B::kSampleSteps, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) {
       ask.mutable_sample_steps()->add_steps()->mutable_job()->set_job_id(job);
     }},
    {B::kUpdateStep, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) {
       ask.mutable_update_step()->mutable_step()->mutable_job()->set_job_id(job);
     }},
    {B::kCreateNodes, Users::none, Root::never},
    {B::kDeleteNodes, Users::none, Root::never},
    {B::kNotifyJob, Users::with_a_job_there, Root::about_a_job,
     [](wire::Request& ask, std::uint32_t job) {
       ask.mutable_notify_job()->mutable_step()->mutable_job()->set_job_id(job);
     }},
    {B::kTopJobs, Users::with_a_job_there, Root::never},
    {B::kQueryDiagnostics, Users::all, Root::always},
    {B::kDeletePartition, Users::none, Root::never},
    {B::kSetDamping, Users::none, Root::never},
    {B::kIssueToken, Users::none, Root::never},
    {B::kQueryTransactions, Users::with_a_job_there, Root::never},
    {B::kAnnotateRecord, Users::with_a_job_there, Root::never},
    {B::kSetLogging, Users::none, Root::never},
    {B::kNumberJob, Users::all, Root::always},
};

// One with nothing in it.
wire::Request request_of(B kind) {
  std::string bytes;
  for (auto tag = static_cast<std::uint32_t>(kind) << 3 | 2; tag > 0; tag >>= 7)
    bytes += static_cast<char>(tag > 0x7f ? tag | 0x80 : tag);
  wire::Request request;
  EXPECT_TRUE(request.ParseFromString(bytes + '\0'));
  EXPECT_EQ(request.body_case(), kind);
  return request;
}

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
    return !relay_refusal(state_, {relay, uid, uid == root_ || uid == slurm_}, request);
  }
  // By every key, for everybody.
  void expect(const Row& row, const wire::Request& request, bool of_root) {
    const std::string what = "kind " + std::to_string(row.kind) + (request.ByteSizeLong() > 4 ? " about a job" : "");
    const bool question = row.users == Users::all;
    for (const KeyRole role : {KeyRole::node, KeyRole::munge}) {
      EXPECT_EQ(taken(role, here_, request), row.users != Users::none) << what;
      for (const UserId uid : {there_, nobody_}) EXPECT_EQ(taken(role, uid, request), question) << what;
      for (const UserId uid : {root_, slurm_}) EXPECT_EQ(taken(role, uid, request), of_root) << what;
    }
    for (const UserId uid : {here_, there_, nobody_}) EXPECT_TRUE(taken(KeyRole::login, uid, request)) << what;
    for (const UserId uid : {root_, slurm_}) EXPECT_EQ(taken(KeyRole::login, uid, request), question) << what;
    for (const UserId uid : {root_, slurm_, here_, there_, nobody_})
      EXPECT_TRUE(taken(KeyRole::login_root, uid, request)) << what;
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
  const UserId root_{0}, slurm_{900}, here_{1000}, there_{1001}, nobody_{1002};
  State state_;
};

TEST_F(RelayRights, Each_kind_of_request_has_its_row_and_is_taken_as_it_says) {
  std::set<B> known;
  for (const Row& row : rows) {
    EXPECT_TRUE(known.insert(row.kind).second) << row.kind << " has two rows";
    expect(row, request_of(row.kind), row.root == Root::always);
    ASSERT_EQ(row.root == Root::about_a_job, row.name_job != nullptr);
    if (row.root != Root::about_a_job) continue;
    for (const std::uint32_t job : {1u, 2u, 3u}) {  // one here, one elsewhere, and none
      wire::Request request;
      row.name_job(request, job);
      ASSERT_EQ(request.body_case(), row.kind);
      expect(row, request, job == 1);
    }
  }
  for (const RequestRow& right : request_table())
    EXPECT_TRUE(known.contains(right.request)) << right.request << ": say who may ask that through a relay";
  EXPECT_EQ(known.size(), request_table().size());
  for (const UserId uid : {root_, slurm_, here_, nobody_})
    EXPECT_FALSE(taken(KeyRole::node, uid, wire::Request{})) << "a kind that we do not know";
}

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
