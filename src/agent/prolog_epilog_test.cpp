// src/agent/prolog_epilog_test.cpp - what stands between agent and supervisors: order, kills, and what a death leaves
// in the journal.
#include "agent/prolog_epilog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sim/sim_world.h"
#include "wire/limits.h"

namespace millrace {
namespace {

using Status = wire::AttemptStatus;

// Programs that end when the test says so.
class HeldPrograms final : public Programs {
 public:
  std::vector<std::string> find(const std::string& pattern) override { return {pattern}; }
  Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) override {
    running = what.program;
    environment = what.environment;
    ended_ = std::move(ended);
    return 1;
  }
  void kill(Id) override { running.clear(); }
  void end(int code) {
    running.clear();
    std::exchange(ended_, {})(ProgramEnd{code, 0, false, {}});
  }
  std::string running;
  std::vector<std::string> environment;

 private:
  std::move_only_function<void(const ProgramEnd&)> ended_;
};

struct FakeSupervisors final : Supervisors {
  std::vector<Status> adopt(SupervisorObserver& to) override { return observer = &to, known; }
  void launch(const wire::LaunchPlan& plan, const wire::Credential&) override { launched.push_back(name_of(plan)); }
  void kill(const wire::Kill& kill) override { killed.push_back(name_of(kill)); }
  void signal(const wire::SignalAttempt&) override {}
  void suspend(const wire::Suspend&) override {}
  void tell_step_manager(const wire::StepToNode&) override { ++told; }
  void tell_step(const wire::StepOrder&) override {}
  void forget(const wire::Forget&) override {}
  SupervisorObserver* observer = nullptr;
  std::vector<Status> known;
  std::vector<AttemptName> launched, killed;
  int told = 0;
};

struct MemoryJournal final : ProgramJournal {
  std::vector<wire::ProgramRecord> read() override {
    std::vector<wire::ProgramRecord> out;
    for (const auto& [name, record] : records) out.push_back(record);
    return out;
  }
  Result<void> write(const wire::ProgramRecord& record) override {
    return records[{record.job_key(), record.attempt()}] = record, Result<void>{};
  }
  void erase(AttemptName name) override { records.erase(name); }
  std::string mark_of(AttemptName name) const override { return "MARK=" + text_of(name); }
  bool end_leftovers(AttemptName) override { return true; }
  std::map<AttemptName, wire::ProgramRecord> records;
};

class PrologEpilogTest : public testing::Test, protected SupervisorObserver {
 protected:
  PrologEpilogTest() { start_agent(); }
  void start_agent() {
    hooks_.reset();
    programs_ = std::make_unique<HeldPrograms>();
    hooks_.emplace(process_, supervisors_, *programs_, journal_, ProgramSettings{{"prolog"}, {"epilog"}, {}, {}});
    adopted_ = hooks_->adopt(*this);
    while (world_.step()) {
    }
  }
  void attempt_changed(const Status& status) override { heard_[name_of(status)] = status; }
  void step_manager_said(const wire::StepFromNode& message) override { answers_.push_back(message.reply()); }
  void step_sampled(const wire::StepSample&) override {}

  void launch(std::optional<std::uint32_t> step = {}) {
    wire::LaunchPlan plan;
    plan.set_job_key(7);
    plan.set_job_id(70);
    plan.set_script("script");
    if (step) plan.set_step(*step);
    hooks_->launch(plan, {});
  }
  void ends_inside(std::uint32_t code, std::optional<std::uint32_t> step = {}) {
    Status status;
    status.set_job_key(7);
    if (step) status.set_step(*step);
    status.set_state(Status::ENDED);
    status.set_end(Status::EXITED);
    status.set_exit_code(code);
    supervisors_.known = {status};
    supervisors_.observer->attempt_changed(status);
  }
  const Status& job() { return heard_[{7, 0}]; }

  SimWorld world_{1};
  SimProcess process_{world_};
  FakeSupervisors supervisors_;
  std::unique_ptr<HeldPrograms> programs_;
  MemoryJournal journal_;
  std::optional<PrologEpilog> hooks_;
  std::vector<Status> adopted_;
  std::map<AttemptName, Status> heard_;
  std::vector<wire::StepReply> answers_;
};

wire::StepToNode asks_for_step(std::uint64_t client, std::size_t bytes = 0) {
  wire::StepToNode message;
  message.set_job_key(7);
  message.mutable_request()->set_client(client);
  message.mutable_request()->set_number(1);
  message.mutable_request()->mutable_ask()->set_environment(std::string(bytes, 'x'));
  message.mutable_request()->mutable_ask()->mutable_step()->mutable_stdio()->set_secret("of " + std::to_string(client));
  return message;
}

TEST_F(PrologEpilogTest, launches_after_the_prolog_and_ends_after_the_epilog) {
  launch();
  launch(0);  // a step waits with it
  hooks_->tell_step_manager([] {
    wire::StepToNode m;
    m.set_job_key(7);
    return m;
  }());
  EXPECT_TRUE(job().in_prolog());
  EXPECT_TRUE(supervisors_.launched.empty());
  EXPECT_EQ(supervisors_.told, 0);
  programs_->end(0);
  EXPECT_EQ(supervisors_.launched, (std::vector<AttemptName>{{7, 0}, {7, 0, 0}}));
  EXPECT_EQ(supervisors_.told, 1);
  ends_inside(5);
  EXPECT_TRUE(job().exited());
  EXPECT_EQ(job().exit_code(), 5u);
  EXPECT_TRUE(programs_->running.empty()) << "the step still lives";
  ends_inside(0, 0);
  EXPECT_EQ(programs_->running, "epilog");
  EXPECT_NE(std::ranges::find(programs_->environment, "SLURM_JOB_EXIT_CODE=1280"), programs_->environment.end());
  EXPECT_EQ(job().state(), Status::RUNNING_NOW);
  programs_->end(0);
  EXPECT_EQ(job().state(), Status::ENDED);
  EXPECT_EQ(job().exit_code(), 5u);
  EXPECT_FALSE(job().epilog_failed());
  EXPECT_EQ(journal_.records.size(), 1u);
  wire::Forget forget;
  forget.set_job_key(7);
  hooks_->forget(forget);
  EXPECT_TRUE(journal_.records.empty());
}

TEST_F(PrologEpilogTest, requests_for_steps_that_fill_a_prolog_are_to_come_again) {
  launch();
  constexpr std::size_t large = 6u << 20, most = step_manager_backlog_max / large;
  for (std::uint64_t client = 1; client <= most + 5; ++client) hooks_->tell_step_manager(asks_for_step(client, large));
  ASSERT_EQ(answers_.size(), 5u);
  EXPECT_EQ(answers_[0].client(), most + 1);
  EXPECT_EQ(answers_[0].news().kind(), wire::StepNews::WAITING);
  EXPECT_TRUE(answers_[0].news().ask_again());
  wire::StepToNode at_once = asks_for_step(100, large);
  at_once.mutable_request()->mutable_ask()->set_immediate(true);
  hooks_->tell_step_manager(at_once);
  EXPECT_EQ(answers_.back().failure().code(), 2016u) << "srun --immediate does not wait";
  wire::StepToNode end;
  end.set_job_key(7);
  end.mutable_end()->set_exit_code(1);
  hooks_->tell_step_manager(end);
  EXPECT_EQ(answers_.size(), 6u) << "the end of an allocation always has a place";
  programs_->end(0);
  EXPECT_EQ(supervisors_.told, static_cast<int>(most) + 1);
}

TEST_F(PrologEpilogTest, who_asks_for_a_step_again_or_leaves_during_a_prolog_takes_no_second_place) {
  launch();
  for (std::uint64_t client = 1; client <= 2 * step_manager_backlog_count_max; ++client) {
    wire::StepToNode left;
    left.set_job_key(7);
    left.mutable_left()->set_client(client);
    hooks_->tell_step_manager(asks_for_step(client));
    hooks_->tell_step_manager(left);
  }
  for (int i = 0; i < 100; ++i) hooks_->tell_step_manager(asks_for_step(1, 6u << 20));
  EXPECT_TRUE(answers_.empty());
  programs_->end(0);
  EXPECT_EQ(supervisors_.told, 1);
}

TEST_F(PrologEpilogTest, launches_of_steps_that_fill_a_prolog_are_not_taken_and_not_reported) {
  launch();
  wire::LaunchPlan plan;
  plan.set_job_key(7);
  plan.set_environment(std::string(6u << 20, 'x'));
  for (std::uint32_t step = 0; step < 20; ++step) {
    plan.set_step(step);
    hooks_->launch(plan, {});
  }
  EXPECT_EQ(heard_.size(), 11u) << "the job and ten of its steps; the step manager gives the others again";
  programs_->end(0);
  EXPECT_EQ(supervisors_.launched.size(), 11u);
}

TEST_F(PrologEpilogTest, a_failed_prolog_is_followed_by_the_epilog_only) {
  launch();
  launch(0);
  programs_->end(3);
  EXPECT_EQ(heard_[(AttemptName{7, 0, 0})].end(), Status::LAUNCH_FAILED);
  EXPECT_EQ(job().end(), Status::PROLOG_FAILED);
  EXPECT_TRUE(job().exited());
  EXPECT_EQ(programs_->running, "epilog");
  programs_->end(1);
  EXPECT_EQ(job().state(), Status::ENDED);
  EXPECT_TRUE(job().epilog_failed());
  EXPECT_TRUE(supervisors_.launched.empty());
}

TEST_F(PrologEpilogTest, killed_in_its_prolog_a_job_never_begins) {
  launch();
  wire::Kill kill;
  kill.set_job_key(7);
  hooks_->kill(kill);
  EXPECT_TRUE(job().in_prolog());
  EXPECT_EQ(programs_->running, "prolog");
  programs_->end(0);
  EXPECT_EQ(job().exit_signal(), 15u);
  EXPECT_EQ(programs_->running, "epilog");
  EXPECT_TRUE(supervisors_.launched.empty());
}

TEST_F(PrologEpilogTest, an_agent_after_a_killed_one_goes_on_where_it_was) {
  launch();
  start_agent();
  ASSERT_EQ(adopted_.size(), 1u);
  EXPECT_TRUE(adopted_[0].in_prolog());
  EXPECT_EQ(programs_->running, "prolog");
  programs_->end(0);
  ASSERT_EQ(supervisors_.launched.size(), 1u);
  EXPECT_TRUE(journal_.records.begin()->second.plan().script().empty());

  // It died between the journal and the launch: nothing is there, and the epilog follows.
  start_agent();
  EXPECT_EQ(adopted_[0].end(), Status::SUPERVISOR_LOST);
  EXPECT_TRUE(adopted_[0].exited());
  EXPECT_EQ(programs_->running, "epilog");

  // It died in the epilog: once more from its beginning.
  start_agent();
  EXPECT_TRUE(adopted_[0].exited());
  EXPECT_EQ(programs_->running, "epilog");
  programs_->end(0);
  EXPECT_EQ(job().state(), Status::ENDED);

  // The controller has not heard of it.
  start_agent();
  EXPECT_EQ(adopted_[0].state(), Status::ENDED);
  EXPECT_TRUE(programs_->running.empty());
}

TEST_F(PrologEpilogTest, an_end_while_no_agent_was_there_is_followed_by_the_epilog) {
  launch();
  programs_->end(0);
  ends_inside(2);
  programs_->running.clear();
  journal_.records.begin()->second.set_phase(wire::ProgramRecord::LAUNCHED);  // it ended after the death
  journal_.records.begin()->second.clear_end();
  start_agent();
  EXPECT_TRUE(adopted_[0].exited());
  EXPECT_EQ(adopted_[0].exit_code(), 2u);
  EXPECT_EQ(programs_->running, "epilog");
}

}  // namespace
}  // namespace millrace
