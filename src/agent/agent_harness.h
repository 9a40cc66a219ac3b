// src/agent/agent_harness.h - plays loop, network and supervisors for tests of the agent.
#pragma once

#include <deque>

#include "agent/agent.h"
#include "client.pb.h"

namespace millrace {

class FakeLoop final : public Loop {
 public:
  Time now() const override { return now_; }
  void post(Task task) override { queue_.push_back(std::move(task)); }
  TimerId after(Duration delay, Task task) override {
    timers_.emplace(std::pair{now_ + delay, ++last_}, std::move(task));
    return last_;
  }
  void cancel(TimerId timer) override {
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
  }
  void run() {  // what is posted, and timers that are due already
    for (;;) {
      if (!queue_.empty()) {
        Task task = std::move(queue_.front());
        queue_.pop_front();
        task();
      } else if (!timers_.empty() && timers_.begin()->first.first <= now_) {
        auto node = timers_.extract(timers_.begin());
        node.mapped()();
      } else {
        return;
      }
    }
  }
  void advance(Duration by) {
    const Time until = now_ + by;
    run();
    while (!timers_.empty() && timers_.begin()->first.first <= until) {
      auto node = timers_.extract(timers_.begin());
      now_ = node.key().first;
      node.mapped()();
      run();
    }
    now_ = until;
  }

 private:
  Time now_{1'000'000'000'000'000};
  std::deque<Task> queue_;
  std::map<std::pair<Time, TimerId>, Task> timers_;
  TimerId last_ = 0;
};

class FakeDialer final : public Dialer {
 public:
  struct FakeLink final : Link {
    explicit FakeLink(FakeDialer& owner) : dialer(owner) {}
    ~FakeLink() override { dialer.is_open = false; }
    void send(std::string bytes) override {
      wire::ToController message;
      EXPECT_TRUE(message.ParseFromString(bytes));
      dialer.sent.push_back(message);
    }
    void close() override { dialer.is_open = false; }
    std::size_t unsent() const override { return dialer.unsent; }
    FakeDialer& dialer;
  };
  std::unique_ptr<Link> dial(LinkHandler& to) override {
    handler = &to;
    is_open = true;
    ++dials;
    return std::make_unique<FakeLink>(*this);
  }
  LinkHandler* handler = nullptr;
  bool is_open = false;
  int dials = 0;
  std::size_t unsent = 0;
  std::deque<wire::ToController> sent;
};

class FakeSupervisors final : public Supervisors {
 public:
  std::vector<wire::AttemptStatus> adopt(SupervisorObserver& to) override {
    observer = &to;
    return known;
  }
  void launch(const wire::LaunchPlan& plan, const wire::Credential&) override {
    launched.push_back(plan.job_key());
    tell(plan.job_key(), wire::AttemptStatus::RUNNING_NOW);
  }
  void kill(const wire::Kill& kill) override { killed.push_back(kill.job_key()); }
  void signal(const wire::SignalAttempt& signal) override { signalled.push_back(signal.signal()); }
  void suspend(const wire::Suspend& suspend) override { suspends.push_back(suspend); }
  void tell_step_manager(const wire::StepToNode& message) override { told_step_manager.push_back(message); }
  void tell_step(const wire::StepOrder& order) override { step_orders.push_back(order); }
  void forget(const wire::Forget& forget) override { forgotten.push_back(forget.job_key()); }
  void tell(std::uint64_t key, wire::AttemptStatus::State state) {
    wire::AttemptStatus status;
    status.set_job_key(key);
    status.set_state(state);
    if (state == wire::AttemptStatus::ENDED) status.set_end(wire::AttemptStatus::EXITED);
    observer->attempt_changed(status);
  }
  SupervisorObserver* observer = nullptr;
  std::vector<wire::AttemptStatus> known;
  std::vector<std::uint64_t> launched, killed, forgotten;
  std::vector<std::uint32_t> signalled;
  std::vector<wire::Suspend> suspends;
  std::vector<wire::StepToNode> told_step_manager;
  std::vector<wire::StepOrder> step_orders;
};

class FakeMeasurements final : public Measurements {
 public:
  wire::Inventory inventory() override {
    wire::Inventory inventory;
    inventory.set_cpus(4);
    return inventory;
  }
  wire::Telemetry telemetry() override {
    wire::Telemetry telemetry;
    telemetry.set_load_hundredths(42);
    return telemetry;
  }
};

}  // namespace millrace
