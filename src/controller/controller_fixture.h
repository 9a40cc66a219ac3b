// src/controller/controller_fixture.h - for tests: a whole controller on simulated time, with a log in memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent.pb.h"
#include "config/slurm_conf.h"
#include "controller/controller.h"
#include "controller/loop/config_facts.h"
#include "controller/requests/sessions.h"
#include "controller/requests/submission.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"
#include "sim/sim_world.h"
#include "sim/watched_controller.h"
#include "wire/frame.h"
#include "wire/reply_parts.h"

namespace millrace {

inline constexpr Time start_of_test{1'700'000'000'000'000};

// Everything is durable at once.
class MemoryLog final : public EventLog {
 public:
  explicit MemoryLog(Loop& loop) : loop_(loop) {}
  void append(Batch batch, Durable done) override {
    for (const std::string& event : batch.events) written += event.size();
    for (auto& [id, bytes] : batch.payloads) {
      written += bytes.size();
      payloads_[id] = std::move(bytes);
    }
    index_ += batch.events.size();
    loop_.post([done = std::move(done), index = index_]() mutable { done(index); });
  }
  Room room(std::uint64_t bytes) const override { return written + bytes <= size ? Room::enough : Room::reserve_only; }
  bool has_payload(const PayloadId& id) const override { return payloads_.contains(id); }
  void read_payload(const PayloadId& id, std::move_only_function<void(Result<std::string>)> done) override {
    const auto it = payloads_.find(id);
    done(it == payloads_.end() ? Result<std::string>{fail(Errc::not_found, "no such payload")} : it->second);
  }
  void write_snapshot(std::uint64_t, std::string, std::vector<PayloadId>,
                      std::move_only_function<void(Result<void>)> done) override {
    done({});
  }
  std::uint64_t bytes_since_snapshot() const override { return 0; }

  std::uint64_t written = 0;
  std::uint64_t size = UINT64_MAX / 2;  // of the disk

 private:
  Loop& loop_;
  std::map<PayloadId, std::string> payloads_;
  std::uint64_t index_ = 0;
};

// Of nodes that hear nothing and report what the test says.
class SilentNodes final : public ResourceManager {
 public:
  void launch(const std::string&, const wire::LaunchPlan& plan, const Owner&, const std::string&) override {
    launched.push_back(plan);
  }
  void kill(const std::string&, const wire::Kill&) override { ++kills; }
  void forget(const std::string&, const wire::Forget&) override { ++forgets; }
  bool tell_step_manager(const std::string&, const wire::StepToNode& message) override {
    told.push_back(message);
    return has_room;
  }
  void signal(const std::string&, const wire::SignalAttempt&) override {}
  void suspend(const std::string&, const wire::Suspend&) override {}
  bool tell_step(const std::string&, const wire::StepOrder& order) override {
    note = order.note();
    return has_room;
  }
  void stop_nodes() override {}
  bool has_room = true;
  std::size_t kills = 0, forgets = 0;
  std::vector<wire::LaunchPlan> launched;
  std::vector<wire::StepToNode> told;  // step managers
  std::string note;                    // of the last order to a step
};

class AnyIdentity final : public Identities {
 public:
  void find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) override {
    if (uid.value != 0 && trouble) return done(std::unexpected(*trouble));
    done(UserIdentity{uid, gid, uid.value == 0 ? "root" : name, "users", {gid.value}});
  }
  std::string name = "alice";
  std::optional<Error> trouble;  // instead of an answer
};

inline ClusterConfigured nodes_named(const std::string& nodes, int cpus = 8) {
  const ConfigurationReport report =
      parse_configuration_text("ClusterName=c\nSlurmctldHost=h\nNodeName=" + nodes + " CPUs=" + std::to_string(cpus) +
                                   " RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\n",
                               "/test/slurm.conf");
  EXPECT_TRUE(report.errors.empty());
  ClusterConfigured out = to_facts(report.configuration, [](const std::string&) { return std::nullopt; });
  out.at = start_of_test;
  return out;
}

class ControllerTest : public testing::Test {
 protected:
  ControllerTest()
      : loop(world), plan_worker(world, loop, milliseconds(1)), query_worker(world, loop, milliseconds(1)), log(loop) {}
  ~ControllerTest() override { loop.kill(); }

  // Submitted when nothing had a limit yet: straight into the ledger.
  void add_job(const wire::SubmitJob& ask, UserId uid = UserId{1000}) {
    if (!state.partitions || state.partitions->empty()) apply(state, nodes_named(nodes, cpus));
    const auto decided = decide(state, to_submit_jobs(ask, {uid, GroupId{1000}, "alice", "users", {1000}}).front(),
                                {uid}, start_of_test);
    ASSERT_TRUE(decided);
    for (const Event& event : decided->events) apply(state, event);
  }

  void start() {
    ControllerSettings settings;
    settings.ask_all_laws = true;
    ControllerHooks all = hooks;
    all.say = [say = hooks.say,
               bugs = bugs_go_to([](const std::string& bug) { ADD_FAILURE() << bug; })](const std::string& line) {
      say(line);
      bugs(line);
    };
    controller = std::make_unique<Controller>(
        Controller::Parts{loop, log, plan_worker, query_worker, identities, sessions, nullptr}, settings,
        std::move(all), state);
    sessions.serve(*controller);
    if (manager) controller->add_manager(*manager);
    controller->start(nodes_named(nodes, cpus));
    run();
  }

  void run() {
    const Time until = world.now() + seconds(3);
    while (world.next_at() <= until) world.step();
  }

  // All replies to it, put together.
  wire::Reply ask(UserId uid, wire::Request request) {
    request.set_protocol(protocol_version);
    request.set_number(5);
    std::vector<std::string> frames;
    const ClientId client = sessions.accept_relayed(uid, GroupId{uid.value},
                                                    [&](std::string frame) { frames.push_back(std::move(frame)); });
    sessions.relayed_message(client, request.SerializeAsString());
    run();
    wire::Reply whole;
    ReplyJoiner joiner;
    for (const std::string& frame : frames) {
      largest_frame = std::max(largest_frame, frame.size());
      auto reply = joiner.take(frame);
      EXPECT_TRUE(reply);
      if (!reply || !*reply) continue;
      const bool more = (*reply)->more();
      whole.MergeFrom(**reply);
      if (!more) whole.clear_more();
    }
    EXPECT_EQ(whole.number(), 5u);
    EXPECT_FALSE(whole.more());
    sessions.relayed_closed(client);
    EXPECT_EQ(broken_law(controller->durable()), std::nullopt);
    return whole;
  }

  std::string nodes = "n1";
  int cpus = 8;  // of each
  ResourceManager* manager = nullptr;
  SimWorld world{1};
  SimProcess loop;
  SimWorker plan_worker, query_worker;
  MemoryLog log;
  AnyIdentity identities;
  Sessions sessions;
  ControllerHooks hooks;
  State state;
  std::unique_ptr<Controller> controller;
  std::size_t largest_frame = 0;
};

inline wire::SubmitJob a_job(std::size_t name_size) {
  wire::SubmitJob ask;
  ask.set_script("#!/bin/sh\n");
  ask.mutable_job()->set_name(std::string(name_size, 'n'));
  ask.mutable_job()->set_work_dir("/tmp");
  return ask;
}

}  // namespace millrace
