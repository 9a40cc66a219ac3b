// src/controller/controller_test.cpp - requests of clients to a whole controller on simulated time: what it answers
// whatever others have stored, and what it refuses.
#include <gtest/gtest.h>

#include "controller/controller_fixture.h"
#include "core/model/account_change.h"
#include "wire/frame.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

TEST_F(ControllerTest, Jobs_of_a_log_without_limits_are_all_listed) {
  for (int i = 0; i < 17; ++i) add_job(a_job(4u << 20));
  start();
  wire::Request all, named, accounts;
  all.mutable_query_jobs();
  named.mutable_query_jobs();
  for (std::uint32_t id = 1; id <= 17; ++id) named.mutable_query_jobs()->add_jobs()->set_job_id(id);
  accounts.mutable_query_jobs()->set_accounting(true);
  for (const wire::Request& question : {all, named, accounts}) {
    const wire::Reply reply = ask(UserId{1001}, question);
    EXPECT_FALSE(reply.has_failure());
    ASSERT_EQ(reply.jobs().jobs_size(), 17);
    for (const auto& row : reply.jobs().jobs()) EXPECT_EQ(row.name().size(), 4u << 20);
  }
  EXPECT_LE(largest_frame, reply_part_max + 64) << "every link takes them";
}

TEST_F(ControllerTest, A_request_with_a_field_that_is_too_long_is_refused_and_leaves_nothing) {
  start();
  wire::Request request;
  *request.mutable_submit() = a_job(1025);
  wire::Reply reply = ask(UserId{1000}, request);
  EXPECT_EQ(reply.failure().code(), too_long_code);
  ASSERT_EQ(reply.failure().notes_size(), 1);
  EXPECT_EQ(reply.failure().notes(0), "submit.job.name has 1025 bytes; the limit is 1024");
  EXPECT_TRUE(controller->durable().jobs.empty());
  *request.mutable_submit() = a_job(1024);
  reply = ask(UserId{1000}, request);
  EXPECT_EQ(reply.submitted().job_id(), 1u);
}

TEST_F(ControllerTest, An_administrators_comment_does_not_grow_without_end) {
  add_job(a_job(3));
  start();
  wire::Request request;
  request.mutable_update_job()->mutable_job()->set_job_id(1);
  request.mutable_update_job()->mutable_extras()->set_admin_comment(std::string(600, 'c'));
  request.mutable_update_job()->set_append_admin_comment(true);
  EXPECT_EQ(ask(UserId{0}, request).jobs_changed().changed_size(), 1);
  const wire::Reply reply = ask(UserId{0}, request);
  EXPECT_EQ(reply.failure().code(), too_long_code);
  ASSERT_EQ(reply.failure().notes_size(), 1);
  EXPECT_EQ(reply.failure().notes(0), "AdminComment would have 1201 bytes; the limit is 1024");
}

// ---- a full disk ----

TEST_F(ControllerTest, A_request_asks_for_room_by_what_it_really_writes) {
  add_job(a_job(3));
  start();
  log.size = log.written + 500;
  wire::Request request;
  request.mutable_update_job()->mutable_job()->set_job_id(1);
  request.mutable_update_job()->set_comment(std::string(1000, 'c'));
  const wire::Reply refused = ask(UserId{1000}, request);
  ASSERT_EQ(refused.jobs_changed().failed_size(), 1);
  EXPECT_EQ(refused.jobs_changed().failed(0).code(), 2019u);
  request.mutable_update_job()->set_comment("short");
  EXPECT_EQ(ask(UserId{1000}, request).jobs_changed().changed_size(), 1);
}

TEST_F(ControllerTest, On_a_full_disk_no_request_writes_but_a_cancel) {
  add_job(a_job(3));
  start();
  std::vector<wire::Request> all(14);
  *all[0].mutable_submit() = a_job(3);
  all[1].mutable_update_job()->mutable_job()->set_job_id(1);
  all[1].mutable_update_job()->set_comment("c");
  all[2].mutable_hold()->add_jobs()->set_job_id(1);
  all[3].mutable_update_node()->set_nodes("n1");
  all[3].mutable_update_node()->set_comment("c");
  all[4].mutable_create_nodes()->set_names("x[1-3]");
  all[4].mutable_create_nodes()->set_configuration("CPUs=4 State=CLOUD");
  all[5].mutable_reserve()->set_nodes("n1");
  all[5].mutable_reserve()->set_users("root");
  all[5].mutable_reserve()->set_start_us(start_of_test.value * 2);
  all[5].mutable_reserve()->set_duration_us(60'000'000);
  all[6].mutable_set_trigger()->mutable_trigger()->set_program("/bin/true");
  all[7].mutable_update_partition()->set_name("p");
  all[7].mutable_update_partition()->set_state("DOWN");
  all[8].mutable_set_damping()->set_factor(3);
  all[9].mutable_hold()->set_name("nnn");
  all[10].mutable_update_partition()->set_name("q");
  all[10].mutable_update_partition()->set_create(true);
  all[10].mutable_update_partition()->add_settings("Nodes=n1");
  all[11].mutable_delete_partition()->set_name("p");
  auto* setting = all[12].mutable_change_accounts()->add_where();
  setting->set_key("name");
  setting->set_op("=");
  setting->set_value("physics");
  all[13].mutable_update_job()->mutable_job()->set_job_id(1);
  all[13].mutable_update_job()->set_time_limit_minutes(3);
  log.size = 0;
  for (const wire::Request& request : all) {
    const std::uint64_t before = log.written;
    const wire::Reply reply = ask(UserId{0}, request);
    EXPECT_EQ(log.written, before) << request.body_case();
    EXPECT_TRUE(reply.has_failure() || reply.jobs_changed().failed_size() > 0) << request.body_case();
  }
  wire::Request cancel;
  cancel.mutable_cancel()->add_jobs()->set_job_id(1);
  EXPECT_EQ(ask(UserId{1000}, cancel).jobs_changed().changed_size(), 1);
  EXPECT_EQ(controller->durable().find_job(JobId{1})->state, JobState::ended);
}

// ---- many requests, large requests ----

TEST_F(ControllerTest, A_connection_has_so_many_unanswered_requests) {
  add_job(a_job(3));
  start();
  std::vector<std::string> frames;
  const ClientId client = sessions.accept_relayed(UserId{1000}, GroupId{1000},
                                                  [&](std::string frame) { frames.push_back(std::move(frame)); });
  for (std::uint32_t number = 1; number <= 257; ++number) {
    wire::Request request;
    request.set_protocol(protocol_version);
    request.set_number(number);
    request.mutable_wait_job()->set_job_id(1);
    sessions.relayed_message(client, request.SerializeAsString());
  }
  ASSERT_EQ(frames.size(), 1u);
  wire::Reply reply;
  ASSERT_TRUE(reply.ParseFromString(frames[0]));
  EXPECT_EQ(reply.number(), 257u);
  EXPECT_EQ(reply.failure().notes(0), "too many unanswered requests on one connection (256)");
}

TEST_F(ControllerTest, A_number_that_is_not_answered_yet_is_not_taken_again) {
  add_job(a_job(3));
  start();
  std::size_t answers = 0;
  const ClientId client = sessions.accept_relayed(UserId{1000}, GroupId{1000}, [&](std::string) { ++answers; });
  wire::Request request;
  request.set_protocol(protocol_version);
  request.set_number(1);
  request.mutable_wait_job()->set_job_id(1);
  for (int i = 0; i < 5; ++i) sessions.relayed_message(client, request.SerializeAsString());
  EXPECT_EQ(answers, 1u) << "the second is refused, and the connection ends";
}

TEST_F(ControllerTest, A_refusal_does_not_count_as_the_answer_to_a_request_that_waits) {
  add_job(a_job(3));
  start();
  std::size_t answers = 0;
  wire::Request wait, odd;
  wait.set_protocol(protocol_version);
  wait.set_number(1);
  wait.mutable_wait_job()->set_job_id(1);
  odd.set_protocol(protocol_version - 1);
  odd.set_number(1);
  odd.mutable_ping();
  wire::Request large = wait;
  large.mutable_update_job()->set_comment(std::string(1u << 20, 'x'));
  for (const wire::Request& second : {odd, large}) {
    answers = 0;
    const ClientId client = sessions.accept_relayed(UserId{1000}, GroupId{1000}, [&](std::string) { ++answers; });
    const std::size_t connections = sessions.connections();
    sessions.relayed_message(client, wait.SerializeAsString());
    sessions.relayed_message(client, second.SerializeAsString());
    EXPECT_EQ(answers, 1u);
    EXPECT_EQ(sessions.connections(), connections - 1) << "the connection ends";
  }
}

TEST_F(ControllerTest, A_record_is_annotated_once_however_often_it_is_named) {
  add_job(a_job(3));
  start();
  wire::Request cancel, annotate;
  cancel.mutable_cancel()->add_jobs()->set_job_id(1);
  ask(UserId{1000}, cancel);
  for (int i = 0; i < 60'000; ++i) annotate.mutable_annotate_record()->add_job_ids(1);
  annotate.mutable_annotate_record()->set_comment("c");
  const auto before = log.written;
  EXPECT_EQ(ask(UserId{1000}, annotate).accounts_changed().names_size(), 1);
  EXPECT_LT(log.written - before, 1000u);
}

// Through the key of a compute node an administrator is a user like others.
TEST_F(ControllerTest, A_plain_user_has_no_office) {
  add_job(a_job(3), UserId{1001});
  wire::Request make, list, cancel;
  start();
  make.mutable_change_accounts()->set_action(static_cast<std::uint32_t>(AccountAction::add));
  make.mutable_change_accounts()->set_entity(static_cast<std::uint32_t>(AccountEntity::user));
  const auto set = [&](auto* setting, const char* key, const char* value) {
    setting->set_key(key);
    setting->set_op("=");
    setting->set_value(value);
  };
  set(make.mutable_change_accounts()->add_where(), "name", "alice");
  set(make.mutable_change_accounts()->add_set(), "account", "root");
  set(make.mutable_change_accounts()->add_set(), "adminlevel", "administrator");
  const wire::Reply made = ask(UserId{0}, make);
  ASSERT_FALSE(made.has_failure()) << made.failure().text() << ": "
                                   << (made.failure().notes().empty() ? "" : made.failure().notes(0));
  cancel.mutable_cancel()->add_jobs()->set_job_id(1);
  cancel.set_protocol(protocol_version);
  cancel.set_number(1);
  const auto tries_as = [&](bool plain) {
    wire::Reply reply;
    const ClientId client =
        sessions.accept_relayed(UserId{1000}, GroupId{1000},
                                std::make_unique<RelayedPath>([&](std::string bytes) { reply.ParseFromString(bytes); }),
                                {}, plain ? std::optional<std::uint64_t>{7} : std::nullopt);
    sessions.relayed_message(client, cancel.SerializeAsString());
    run();
    return reply.jobs_changed().changed_size() == 1;
  };
  EXPECT_FALSE(tries_as(true));
  EXPECT_TRUE(tries_as(false));
}

// A compute node may ask in the names of as many users as it likes: they take turns as one, and nobody waits for their
// names.
TEST_F(ControllerTest, A_compute_node_takes_turns_as_one) {
  start();
  wire::Request ping;
  ping.set_protocol(protocol_version);
  ping.set_number(1);
  ping.mutable_ping();
  std::string order;
  const auto client_of = [&](std::uint32_t uid, std::optional<std::uint64_t> relay, char sign) {
    return sessions.accept_relayed(UserId{uid}, GroupId{uid},
                                   std::make_unique<RelayedPath>([&order, sign](std::string) { order += sign; }), {},
                                   relay);
  };
  std::vector<ClientId> made_up;
  for (std::uint32_t i = 0; i < 100; ++i) made_up.push_back(client_of(2000 + i, 7, 'm'));
  const ClientId of_other_node = client_of(1001, 8, 'n'), user = client_of(5000, std::nullopt, 'u');
  for (const ClientId client : made_up) sessions.relayed_message(client, ping.SerializeAsString());
  sessions.relayed_message(of_other_node, ping.SerializeAsString());
  sessions.relayed_message(user, ping.SerializeAsString());
  run();
  EXPECT_EQ(order.size(), 102u);
  EXPECT_LT(order.find('n'), 5u) << order;
  EXPECT_LT(order.find('u'), 5u) << order;
}

// One request, of which each task takes a look at all nodes.
TEST_F(ControllerTest, A_user_changes_many_tasks_while_others_get_answers_between) {
  wire::SubmitJob array = a_job(3);
  array.mutable_job()->set_array("0-49");
  array.mutable_job()->set_hold(true);
  add_job(array);
  start();
  wire::Request change, ping;
  change.set_protocol(protocol_version);
  change.set_number(1);
  ping.set_protocol(protocol_version);
  ping.set_number(1);
  ping.mutable_ping();
  std::string order;
  const ClientId first = sessions.accept_relayed(UserId{1000}, GroupId{1000}, [&](std::string) { order += 'c'; });
  const ClientId second = sessions.accept_relayed(UserId{1001}, GroupId{1001}, [&](std::string) { order += 'p'; });
  change.mutable_update_job()->mutable_job()->set_job_id(1);
  change.mutable_update_job()->mutable_job()->set_tasks("0-48");  // not all: each is a record of its own
  change.mutable_update_job()->mutable_resources()->set_licenses("");
  sessions.relayed_message(first, change.SerializeAsString());
  sessions.relayed_message(second, ping.SerializeAsString());
  int turns = 0;
  for (; order.size() < 2 && turns < 10'000; ++turns) world.step();
  EXPECT_EQ(order, "pc");
  EXPECT_GT(turns, 49) << "a task in a turn of the loop";
}

TEST_F(ControllerTest, A_user_ends_thousands_of_jobs_while_others_get_answers_between) {
  for (int i = 0; i < 3000; ++i) add_job(a_job(3));
  add_job(a_job(3), UserId{1001});
  start();
  wire::Request cancel, ping;
  cancel.set_protocol(protocol_version);
  cancel.set_number(1);
  cancel.mutable_cancel()->set_user("1000");
  ping.set_protocol(protocol_version);
  ping.set_number(1);
  ping.mutable_ping();
  std::string order;
  const ClientId first = sessions.accept_relayed(UserId{1000}, GroupId{1000}, [&](std::string) { order += 'c'; });
  const ClientId second = sessions.accept_relayed(UserId{1001}, GroupId{1001}, [&](std::string) { order += 'p'; });
  sessions.relayed_message(first, cancel.SerializeAsString());
  std::size_t live = 0;
  for (const auto& [key, job] : controller->durable().jobs) live += job->state == JobState::ended ? 0 : 1;
  EXPECT_EQ(live, 3001u);
  sessions.relayed_message(second, ping.SerializeAsString());
  run();
  EXPECT_EQ(order, "pc");
  live = 0;
  for (const auto& [key, job] : controller->durable().jobs) live += job->state == JobState::ended ? 0 : 1;
  EXPECT_EQ(live, 1u);
}

TEST_F(ControllerTest, Of_a_waiting_job_the_nodes_it_needs_are_counted) {
  nodes = "n[1-4]";
  wire::SubmitJob wide = a_job(3);
  wide.mutable_job()->set_tasks(20);
  add_job(wide);
  start();
  wire::Request all;
  all.mutable_query_jobs();
  const wire::Reply reply = ask(UserId{1000}, all);
  ASSERT_EQ(reply.jobs().jobs_size(), 1);
  EXPECT_EQ(reply.jobs().jobs(0).node_count(), 3u);  // of 8 CPUs each
}

TEST_F(ControllerTest, A_name_means_the_jobs_of_that_name_and_no_others) {
  for (int i = 0; i < 3; ++i) add_job(a_job(3));
  add_job(a_job(4));
  add_job(a_job(3), UserId{1001});
  start();
  const auto count = [&](const auto& wanted) {
    std::size_t found = 0;
    for (const auto& [key, job] : controller->durable().jobs) found += wanted(*job) ? 1 : 0;
    return found;
  };
  wire::Request hold, cancel;
  hold.mutable_hold()->set_name("nnn");
  ask(UserId{1001}, hold);
  EXPECT_EQ(count([](const Job& job) { return job.hold != Hold::none; }), 1u);
  ask(UserId{0}, hold);
  EXPECT_EQ(count([](const Job& job) { return job.hold != Hold::none; }), 4u);
  cancel.mutable_cancel()->set_name("nnn");
  ask(UserId{1000}, cancel);
  EXPECT_EQ(count([](const Job& job) { return job.state == JobState::ended; }), 3u);
  ask(UserId{0}, cancel);
  EXPECT_EQ(count([](const Job& job) { return job.state == JobState::ended; }), 4u);
}

// ---- what is shown of a job that is being tidied up after ----

TEST_F(ControllerTest, A_job_has_ended_when_it_stops_and_not_when_its_node_is_tidy) {
  for (int i = 0; i < 2; ++i) add_job(a_job(3));
  const Time begun = start_of_test - seconds(100), stopped = start_of_test - seconds(40);
  for (const std::uint64_t key : {1, 2}) {
    apply(state, JobPlaced{JobKey{key}, Attempt{0}, {{NodeIndex{0}, Cpus{1}, {}, 1, false}}, false, begun});
    apply(state, AttemptExited{JobKey{key}, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, stopped});
  }
  apply(state, AttemptEnded{JobKey{2}, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0, start_of_test});
  start();
  wire::Request jobs, accounted;
  jobs.mutable_query_jobs()->set_finished_too(true);
  accounted.mutable_query_jobs()->set_finished_too(true);
  accounted.mutable_query_jobs()->set_accounting(true);
  for (const wire::Request& question : {jobs, accounted}) {
    const wire::Reply reply = ask(UserId{0}, question);
    ASSERT_EQ(reply.jobs().jobs_size(), 2);
    for (const wire::JobView& job : reply.jobs().jobs()) {
      EXPECT_EQ(job.completing(), job.job_id() == 1);
      EXPECT_EQ(job.start_at_us(), begun.value);
      EXPECT_EQ(job.end_at_us(), stopped.value);
      for (const wire::AccountedStep& step : job.accounted().steps()) EXPECT_EQ(step.end_at_us(), stopped.value);
    }
  }
  EXPECT_EQ(controller->durable().job(JobKey{2}).ended_at, start_of_test) << "MinJobAge begins when all is free";
  wire::Request requeue;
  requeue.mutable_requeue()->add_jobs()->set_job_id(2);
  ask(UserId{0}, requeue);
  const Job& again = controller->durable().job(JobKey{2});
  EXPECT_EQ(again.state, JobState::pending);
  EXPECT_FALSE(again.over_at().is_set());
}

}  // namespace
}  // namespace millrace
