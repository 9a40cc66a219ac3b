// src/step/step_manager/step_manager_harness.h - a step manager with the test in the place of agents, sruns and clocks.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "step/step_manager/step_manager.h"

namespace millrace {

class StepManagerTest : public testing::Test, protected StepManagerPort {
 protected:
  static constexpr std::uint32_t user = 1234;
  static constexpr std::int64_t second = 1'000'000;

  void SetUp() override {
    plan_.set_job_key(7);
    plan_.set_job_id(86);
    plan_.set_attempt(2);
    plan_.set_kill_wait_seconds(30);
    plan_.mutable_job()->set_name("test");
    have_nodes("c1", 1);
    identity_.set_uid(user);
  }
  void have_nodes(const std::string& names, int count) {
    plan_.set_nodes(names);
    plan_.clear_cpus_per_node();
    for (int i = 0; i < count; ++i) plan_.add_cpus_per_node(1);
  }
  // Made when it is first used, of plan_.
  StepManager& manager() {
    if (!manager_) manager_.emplace(plan_, identity_, static_cast<StepManagerPort&>(*this), log_);
    return *manager_;
  }

  // Each srun has a secret of its own, and is a client of its own.
  wire::StepRequest request_of(std::uint64_t client, const char* program = "/usr/bin/solver") {
    wire::StepRequest request;
    request.set_client(client);
    request.set_number(1);
    request.set_uid(user);
    wire::JobDescription& step = *request.mutable_ask()->mutable_step();
    step.set_name("test");  // the job's
    step.set_command(program);
    step.add_arguments(program);
    step.mutable_stdio()->set_secret("secret " + std::to_string(client));
    request.mutable_ask()->set_overlap(true);
    return request;
  }
  void ask(const wire::StepRequest& request) {
    wire::StepToNode message;
    *message.mutable_request() = request;
    manager().hear(message);
  }
  std::uint32_t create(const wire::StepRequest& request) {
    ask(request);
    const auto reply = next_reply();
    EXPECT_TRUE(reply && reply->news().kind() == wire::StepNews::CREATED);
    return reply ? reply->news().step_id() : 99;
  }
  void report(std::uint32_t step, const std::string& node, const wire::AttemptStatus& how) {
    wire::StepToNode message;
    message.mutable_report()->set_node(node);
    *message.mutable_report()->mutable_status() = how;
    message.mutable_report()->mutable_status()->set_step(step);
    manager().hear(message);
  }
  void runs(std::uint32_t step, const std::string& node = "c1") {
    wire::AttemptStatus status;
    status.set_state(wire::AttemptStatus::RUNNING_NOW);
    report(step, node, status);
  }
  void ends(std::uint32_t step, std::uint32_t code, std::uint32_t signal = 0, const std::string& node = "c1") {
    wire::AttemptStatus status;
    status.set_state(wire::AttemptStatus::ENDED);
    status.set_end(wire::AttemptStatus::EXITED);
    status.set_exit_code(code);
    status.set_exit_signal(signal);
    status.mutable_usage()->set_user_us(250);
    report(step, node, status);
  }
  void facts_heard(std::uint64_t number) {
    wire::StepToNode message;
    message.mutable_facts_heard()->set_number(number);
    manager().hear(message);
  }
  void pass(std::int64_t time_us) {
    now_us_ += time_us;
    manager().on_time();
  }

  // What it said and nobody has taken yet: the first of a kind, and what was said before it.
  template <class Is>
  std::optional<wire::StepFromNode> next(Is&& is) {
    while (!said_.empty()) {
      wire::StepFromNode message = said_.front();
      said_.erase(said_.begin());
      if (is(message)) return message;
    }
    return std::nullopt;
  }
  std::optional<wire::StepReply> next_reply() {
    const auto message = next([](const wire::StepFromNode& one) { return one.has_reply(); });
    return message ? std::optional{message->reply()} : std::nullopt;
  }
  std::optional<wire::StepFacts> next_facts() {
    const auto message = next([](const wire::StepFromNode& one) { return one.has_facts(); });
    return message ? std::optional{message->facts()} : std::nullopt;
  }
  // All the facts it has, as its log will have them.
  wire::StepFact fact_of(std::uint32_t step) {
    for (const wire::StepFact& fact : manager().unheard_facts())
      if (fact.id() == step) return fact;
    ADD_FAILURE() << "nothing is to be told of step " << step;
    return {};
  }

  void send(const wire::StepFromNode& message) override { said_.push_back(message); }
  Result<void> write_step(std::uint32_t id) override {
    journal_.push_back(id);
    return {};
  }
  std::int64_t monotonic_us() const override { return now_us_; }
  std::int64_t wall_us() const override { return now_us_ + 1'700'000'000 * second; }

  wire::LaunchPlan plan_;
  wire::Credential identity_;
  Log log_;
  std::vector<wire::StepFromNode> said_;
  std::vector<std::uint32_t> journal_;
  std::int64_t now_us_ = 100 * second;
  std::optional<StepManager> manager_;
};

}  // namespace millrace
