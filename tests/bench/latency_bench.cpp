// tests/bench/latency_bench.cpp - how long sbatch and squeue wait for the controller while it plans without pause,
// against when it rests. One process: real loop, workers and log; nodes that only say yes. Prints one JSON line.
//   latency_bench DIRECTORY JOBS NODES ROUNDS
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "agent.pb.h"
#include "base/prng.h"
#include "client.pb.h"
#include "controller/controller.h"
#include "core/model/account_change.h"
#include "platform/event_loop.h"
#include "platform/real_filesystem.h"
#include "platform/worker.h"
#include "store/wal.h"
#include "wire/frame.h"

namespace millrace {
namespace {

using Clock = std::chrono::steady_clock;

// Nodes of which nothing is asked but to be there: what is launched runs on.
class QuietNodes final : public ResourceManager {
 public:
  void launch(const std::string&, const wire::LaunchPlan&, const Owner&, const std::string&) override {}
  void kill(const std::string&, const wire::Kill&) override {}
  void forget(const std::string&, const wire::Forget&) override {}
  bool tell_step_manager(const std::string&, const wire::StepToNode&) override { return true; }
  bool tell_step(const std::string&, const wire::StepOrder&) override { return true; }
  void signal(const std::string&, const wire::SignalAttempt&) override {}
  void suspend(const std::string&, const wire::Suspend&) override {}
  void stop_nodes() override {}
};

class SameUser final : public Identities {
 public:
  void find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) override {
    done(UserIdentity{uid, gid, "u" + std::to_string(uid.value), "g", {gid.value}});
  }
};

class Answers final : public Clients {
 public:
  std::future<void> expect(std::uint64_t number) {
    const std::lock_guard held(mutex_);
    return waiting_[number].get_future();
  }
  void reply(ClientId, const wire::Reply& reply) override {
    if (reply.has_failure()) {
      std::fprintf(stderr, "refused: %s\n", reply.failure().text().c_str());
      std::exit(1);
    }
    if (!reply.more()) done(reply.number());
  }
  void when_read(ClientId, Task then) override { then(); }
  void reply_encoded(ClientId client, std::string bytes) override {
    wire::Reply parsed;
    if (parsed.ParseFromString(bytes)) reply(client, parsed);
  }

 private:
  void done(std::uint64_t number) {
    const std::lock_guard held(mutex_);
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    found->second.set_value();
    waiting_.erase(found);
  }
  std::mutex mutex_;
  std::map<std::uint64_t, std::promise<void>> waiting_;
};

ClusterConfigured facts_of(std::uint32_t nodes) {
  ClusterConfigured facts;
  facts.policy.max_job_count = 10'000'000;
  facts.policy.basic_priority = false;
  facts.policy.priority.fairshare = 10'000;
  facts.policy.priority.age = 1000;
  facts.partitions.emplace_back().name = "main";
  facts.partitions.back().is_default = true;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodeDef& def = facts.nodes.emplace_back();
    def.name = "n" + std::to_string(i);
    def.cpus = Cpus{i % 3 == 0 ? 32 : 64};
    def.memory = Mebibytes{256'000};
    facts.partitions.back().nodes.push_back(def.name);
  }
  return facts;
}

wire::Request submission(Prng& random) {
  wire::Request request;
  wire::JobDescription& job = *request.mutable_submit()->mutable_job();
  job.set_name("job");
  job.set_work_dir("/");
  job.set_cpus_per_task(static_cast<std::uint32_t>(1u << random.below(6)));
  job.set_min_nodes(random.chance(1, 5) ? static_cast<std::uint32_t>(2u << random.below(4)) : 1);
  job.set_time_limit_minutes(static_cast<std::uint32_t>(10 * (1 + random.below(100))));
  request.mutable_submit()->set_script("#!/bin/sh\n");
  return request;
}

// Seconds of processor time the planning thread has had.
double planner_seconds() {
  double found = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = tasks ? readdir(tasks) : nullptr) {
    std::string name;
    std::getline(std::ifstream(std::string("/proc/self/task/") + entry->d_name + "/comm"), name);
    std::uint64_t nanoseconds = 0;
    if (name == "plan" && std::ifstream(std::string("/proc/self/task/") + entry->d_name + "/schedstat") >> nanoseconds)
      found = static_cast<double>(nanoseconds) / 1e9;
  }
  if (tasks) closedir(tasks);
  return found;
}

class Bench {
 public:
  Bench(const std::string& directory, std::uint32_t nodes) : facts_(facts_of(nodes)) {
    files_ = *RealFilesystem::open_directory(directory);
    auto opened = Wal::open(*files_, log_worker_, Wal::Settings{});
    if (!opened) std::exit(1);
    wal_ = std::move(opened->first);
    controller_ = std::make_unique<Controller>(
        Controller::Parts{loop_, *wal_, plan_worker_, query_worker_, identities_, answers_}, ControllerSettings{},
        ControllerHooks{}, State{});
    controller_->add_manager(nodes_);
    std::promise<void> ready;
    controller_->start(facts_, [this, &ready] {
      for (const NodeDef& def : facts_.nodes) {
        NodeRegistration registration;
        registration.node = def.name;
        registration.boot_id = "boot";
        registration.inventory.cpus = def.cpus;
        registration.inventory.memory = def.memory;
        controller_->node_registered(nodes_, registration);
      }
      ready.set_value();
    });
    thread_ = std::thread([this] { loop_.run(); });
    ready.get_future().wait();
  }
  ~Bench() {
    loop_.stop();
    thread_.join();
  }

  std::future<void> send(wire::Request request, std::uint32_t uid) {
    const std::uint64_t number = ++last_;
    request.set_protocol(protocol_version);
    request.set_number(number);
    auto answer = answers_.expect(number);
    loop_.post(
        [this, uid, request = std::move(request)] { controller_->request({1, UserId{uid}, GroupId{uid}}, request); });
    return answer;
  }
  double ask(wire::Request request, std::uint32_t uid) {
    const auto begin = Clock::now();
    send(std::move(request), uid).wait();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  void fill(std::uint32_t jobs) {
    std::vector<std::future<void>> answers;
    for (std::uint32_t i = 0; i < jobs; ++i) {
      answers.push_back(send(submission(random_), 1000 + i % 50));
      if (answers.size() < 500) continue;
      for (auto& each : answers) each.wait();
      answers.clear();
    }
    for (auto& each : answers) each.wait();
  }
  void accounts() {
    change(AccountAction::add, AccountEntity::account, "a", {});
    for (int user = 1000; user < 1050; ++user)
      change(AccountAction::add, AccountEntity::user, "u" + std::to_string(user), {"account", "a"});
  }
  // Another share of one user gives every waiting job another priority.
  void reorder(std::uint32_t shares) {
    change(AccountAction::modify, AccountEntity::user, "u1007", {"fairshare", std::to_string(shares)});
  }

  // Waits until the planner has had nothing to do for a while.
  void rest() {
    double before = -1;
    for (double now = planner_seconds(); now - before > 0.001; now = planner_seconds()) {
      before = now;
      usleep(300'000);
    }
  }

  std::map<std::string, std::vector<double>> sample(int rounds) {
    std::map<std::string, std::vector<double>> out;
    for (int i = 0; i < rounds; ++i) {
      out["sbatch"].push_back(ask(submission(random_), 1000 + static_cast<std::uint32_t>(i) % 50));
      wire::Request one, mine;
      one.mutable_query_jobs()->add_jobs()->set_job_id(1 + static_cast<std::uint32_t>(random_.below(1000)));
      out["squeue -j"].push_back(ask(one, 1000));
      mine.mutable_query_jobs()->set_uid(1000 + static_cast<std::uint32_t>(random_.below(50)));
      mine.mutable_query_jobs()->set_brief(true);
      out["squeue -u"].push_back(ask(mine, 1000));
      usleep(5'000);
    }
    return out;
  }

 private:
  void change(AccountAction action, AccountEntity entity, const std::string& name,
              const std::vector<std::string>& setting) {
    wire::Request request;
    wire::ChangeAccounts& ask_for = *request.mutable_change_accounts();
    ask_for.set_action(static_cast<std::uint32_t>(action));
    ask_for.set_entity(static_cast<std::uint32_t>(entity));
    auto* where = ask_for.add_where();
    where->set_key("name");
    where->set_op("=");
    where->set_value(name);
    if (!setting.empty()) {
      auto* set = ask_for.add_set();
      set->set_key(setting[0]);
      set->set_op("=");
      set->set_value(setting[1]);
    }
    ask(request, 0);
  }

  ClusterConfigured facts_;
  EventLoop loop_;
  std::unique_ptr<RealFilesystem> files_;
  ThreadWorker log_worker_{loop_, "log"}, plan_worker_{loop_, "plan"}, query_worker_{loop_, "query"};
  SameUser identities_;
  Answers answers_;
  QuietNodes nodes_;
  std::unique_ptr<Wal> wal_;
  std::unique_ptr<Controller> controller_;
  std::atomic<std::uint64_t> last_{0};
  Prng random_{7};
  std::thread thread_;
};

double p95(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() * 95 / 100];
}

int run(const std::string& directory, std::uint32_t jobs, std::uint32_t nodes, int rounds) {
  Bench bench(directory, nodes);
  bench.accounts();
  bench.fill(jobs);
  bench.rest();
  auto idle = bench.sample(rounds);
  std::atomic<bool> going{true};
  std::thread churn([&] {
    for (std::uint32_t i = 0; going; ++i) {
      bench.reorder(1 + i % 2 * 50);
      usleep(1'000);
    }
  });
  const double before = planner_seconds();
  const auto begin = Clock::now();
  auto busy = bench.sample(rounds);
  const double share = (planner_seconds() - before) / std::chrono::duration<double>(Clock::now() - begin).count();
  going = false;
  churn.join();
  std::printf("{\"jobs\":%u,\"nodes\":%u,\"planner_busy\":%.2f", jobs, nodes, share);
  for (const auto& [what, values] : idle)
    std::printf(",\"%s idle p95_ms\":%.3f,\"%s busy p95_ms\":%.3f", what.c_str(), p95(values), what.c_str(),
                p95(busy[what]));
  std::printf("}\n");
  std::fflush(stdout);
  std::_Exit(0);  // a pass under way is not waited for
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: latency_bench DIRECTORY JOBS NODES ROUNDS\n");
    return 2;
  }
  return millrace::run(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])),
                       static_cast<std::uint32_t>(std::atoi(argv[3])), std::atoi(argv[4]));
}
