// tests/requests/sequence_test.cpp - random requests of every kind, by several users and the nodes, with restarts: the
// controller goes on, every law holds, and what its log comes to is what it was.
#include <gtest/gtest.h>

#include <cstdlib>

#include "agent.pb.h"
#include "base/prng.h"
#include "controller/requests/request_table.h"
#include "core/admission/put_records_aside.h"
#include "core/ledger/apply.h"
#include "core/ledger/compare.h"
#include "core/ledger/invariants.h"
#include "core/model/account_change.h"
#include "small_controller.h"
#include "small_state.h"
#include "target.h"
#include "wire/event_codec.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;

// root, SlurmUser, users, coordinators of two accounts, an operator and an administrator.
constexpr std::uint32_t users[] = {0, 990, 1000, 4711, 1001, 1004, 1002, 1003};

constexpr Time now{1'700'000'000'000'000};

class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : random_(seed) {}

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      if (random_.chance(1, 4)) report();
      if (random_.chance(1, 12)) controller_->fill_disk(random_.chance(1, 2));
      const std::uint32_t uid = users[random_.below(std::size(users))];
      controller_->request(uid, next_request());
      if (const auto broken = broken_law(controller_->durable())) FAIL() << *broken << " after request " << i;
      if (random_.chance(1, 20)) restart();
      if (testing::Test::HasFailure()) return;
    }
    restart();
  }

 private:
  // From the log, or from a snapshot of what it came to; or as after a start that had counts and indexes to make anew.
  void restart() {
    State state = controller_->replayed();
    EXPECT_EQ(first_difference(state, controller_->durable()), std::nullopt) << "the log comes to another state";
    EXPECT_FALSE(decide_repair(state, now)) << "a start has something to repair";
    if (random_.chance(1, 2)) {
      const auto read = decode_state(encode_state(state));
      ASSERT_TRUE(read) << read.error().story;
      EXPECT_EQ(first_difference(*read, state), std::nullopt) << "a snapshot comes to another state";
      state = *read;
    }
    if (random_.chance(1, 3)) {
      State anew = state;
      RecordsPutAside nothing;
      nothing.at = now;
      apply(anew, nothing);
      anew.version = state.version;
      EXPECT_EQ(first_difference(anew, state), std::nullopt) << "what is made anew is something else";
    }
    controller_ = std::make_unique<fuzz::SmallController>(std::move(state));
  }
  std::uint32_t some_job() { return 1 + static_cast<std::uint32_t>(random_.below(next_id_)); }

  void describe(wire::SubmitJob& ask) {
    wire::JobDescription& job = *ask.mutable_job();
    job.set_name("random");
    job.set_work_dir("/tmp");
    job.set_tasks(1 + static_cast<std::uint32_t>(random_.below(6)));
    job.set_time_limit_minutes(static_cast<std::uint32_t>(random_.below(4)));
    if (random_.chance(1, 4)) job.set_array("1-5%2");
    if (random_.chance(1, 4)) job.set_dependency("afterany:" + std::to_string(some_job()));
    if (random_.chance(1, 4)) job.set_account(random_.chance(1, 2) ? "lab" : "other");
    if (random_.chance(1, 4)) job.set_qos("fast");
    if (random_.chance(1, 6)) *ask.add_more_components() = job;
    ask.set_script("#!/bin/sh\n");
  }

  void fill_crontab(wire::SetCrontab& ask) {
    if (random_.chance(2, 3)) ask.set_text("@hourly x\n* * * * * y\n");
    for (std::uint64_t n = random_.below(3); n > 0; --n) {
      wire::CronEntry& entry = *ask.add_entries();
      entry.set_line(static_cast<std::uint32_t>(n));
      entry.set_times(random_.chance(1, 2) ? "@hourly" : "* * * * *");
      entry.mutable_job()->mutable_job()->set_name("cron");
      entry.mutable_job()->mutable_job()->set_work_dir("/tmp");
      entry.mutable_job()->set_script("#!/bin/sh\n");
    }
  }

  void change_accounts(wire::ChangeAccounts& ask) {
    const auto setting = [](wire::AccountSetting& to, const char* key, const std::string& value) {
      to.set_key(key);
      to.set_op("=");
      to.set_value(value);
    };
    const bool of_user = random_.chance(1, 2);
    ask.set_action(static_cast<std::uint32_t>(random_.below(3)));
    ask.set_entity(static_cast<std::uint32_t>(of_user ? AccountEntity::user : AccountEntity::account));
    setting(*ask.add_where(), "name", (of_user ? "u471" : "a") + std::to_string(random_.below(3)));
    if (of_user) setting(*ask.add_where(), "account", random_.chance(1, 2) ? "lab" : "a1");
    if (random_.chance(2, 3)) setting(*ask.add_set(), "fairshare", std::to_string(random_.below(9)));
  }

  // What people do; the rest of the kinds comes from the table, with anything in it.
  wire::Request usual_request() {
    wire::Request out;
    out.set_number(1);
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        next_id_ += 2;
        describe(*out.mutable_submit());
        break;
      case 3:
        out.mutable_cancel()->add_jobs()->set_job_id(some_job());
        out.mutable_cancel()->set_cron(random_.chance(1, 2));
        break;
      case 4:
        out.mutable_requeue()->add_jobs()->set_job_id(some_job());
        out.mutable_requeue()->set_hold(random_.chance(1, 3));
        break;
      case 5:
        out.mutable_hold()->add_jobs()->set_job_id(some_job());
        out.mutable_hold()->set_release(random_.chance(2, 3));
        break;
      case 6:
        out.mutable_suspend()->add_jobs()->set_job_id(some_job());
        out.mutable_suspend()->set_resume(random_.chance(1, 2));
        break;
      case 7:
      case 8:
        fill_crontab(*out.mutable_set_crontab());
        break;
      case 9:
        out.mutable_update_job()->mutable_job()->set_job_id(some_job());
        out.mutable_update_job()->set_time_limit_minutes(1 + static_cast<std::uint32_t>(random_.below(9)));
        out.mutable_update_job()->set_max_nodes(1);
        break;
      case 10:
        out.mutable_update_node()->set_nodes("n" + std::to_string(1 + random_.below(4)));
        out.mutable_update_node()->set_state(random_.chance(1, 2) ? "resume" : "down");
        out.mutable_update_node()->set_reason("test");
        break;
      case 11:
        out.mutable_reserve()->set_name("r");
        out.mutable_reserve()->set_nodes("n[3-4]");
        out.mutable_reserve()->set_users("root");
        out.mutable_reserve()->set_start_us(1'700'000'000'000'000);
        out.mutable_reserve()->set_duration_us(600'000'000);
        break;
      case 12:
        out.mutable_remove_reservation()->set_name("r");
        break;
      case 13:
        change_accounts(*out.mutable_change_accounts());
        break;
      case 14:
        out.mutable_update_partition()->set_name("q");
        out.mutable_update_partition()->add_settings(random_.chance(1, 2) ? "QOS=fast" : "MaxTime=30");
        break;
      default:
        out.mutable_set_trigger()->mutable_trigger()->set_program("/bin/true");
        out.mutable_set_trigger()->mutable_trigger()->set_job_id(some_job());
    }
    return out;
  }

  std::string next_request() {
    std::string bytes = usual_request().SerializeAsString();
    if (random_.chance(1, 3)) {
      const auto rights = request_table();
      std::uint64_t tag = static_cast<std::uint64_t>(rights[random_.below(rights.size())].request) << 3 | 2;
      bytes.clear();
      for (; tag >= 128; tag >>= 7) bytes += static_cast<char>(tag | 128);
      bytes += static_cast<char>(tag);
      bytes += '\0';
    }
    return random_.chance(1, 2) ? bytes : fuzz::mutate_message(bytes, random_.next());
  }

  // A node says that what it should run has ended.
  void report() {
    const NodeIndex index{static_cast<std::uint32_t>(random_.below(2))};
    const State& state = controller_->durable();
    wire::ToController message;
    for (const JobKey key : state.node(index).jobs) {
      if (random_.chance(1, 2)) continue;
      wire::AttemptStatus& attempt = *message.mutable_report()->add_attempts();
      attempt.set_job_key(key.value);
      attempt.set_attempt(state.job(key).attempt.value);
      attempt.set_state(wire::AttemptStatus::ENDED);
      attempt.set_end(wire::AttemptStatus::EXITED);
      attempt.set_exit_code(static_cast<std::uint32_t>(random_.below(2)));
    }
    if (message.has_report()) controller_->from_agent(index.value == 0 ? "n1" : "n2", message.SerializeAsString());
  }

  Prng random_;
  std::unique_ptr<fuzz::SmallController> controller_ =
      std::make_unique<fuzz::SmallController>(fuzz::state_with_roles());
  std::uint32_t next_id_ = 6;
};

std::uint64_t number_from(const char* name, std::uint64_t usual) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

TEST(Requests, Keep_the_laws_in_any_order_and_through_restarts) {
  const std::uint64_t first = number_from("MR_SEED", number_from("MR_SIM_FIRST", 1));
  const std::uint64_t count = std::getenv("MR_SEED") ? 1 : number_from("MR_SEQUENCES", 200);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with MR_SEED=" + std::to_string(seed));
    Sequence{seed}.run(60);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace millrace
