// tests/bench/plan_bench.cpp - one planning pass over a deep queue on many nodes, whole and after one change; prints
// one JSON line per size.
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "base/prng.h"
#include "core/admission/accept_placement.h"
#include "core/admission/change_account.h"
#include "core/admission/expire.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/planner/pass.h"

namespace millrace {
namespace {

// Processor time of this thread: the machine may have other work.
double cpu_seconds() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

class Cluster {
 public:
  explicit Cluster(std::uint32_t nodes) {
    ClusterConfigured facts;
    facts.policy.memory_is_consumable = true;
    facts.policy.max_job_count = 10'000'000;
    facts.policy.basic_priority = false;
    facts.policy.priority.age = 1000;
    facts.policy.priority.fairshare = 10'000;
    facts.policy.priority.job_size = 500;
    facts.policy.enforce = enforce_associations | enforce_limits;
    facts.at = now_;
    const char* names[] = {"cpu", "gpu", "long", "debug"};
    for (const char* name : names) {
      facts.partitions.emplace_back().name = name;
      facts.partitions.back().is_default = facts.partitions.size() == 1;
    }
    facts.partitions[3].priority_tier = 2;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      NodeDef def;
      def.name = "n" + std::to_string(i);
      const bool gpus = i % 5 == 0;
      def.cpus = Cpus{gpus ? 64 : i % 3 == 0 ? 32 : 128};
      def.memory = Mebibytes{def.cpus.value * (i % 7 == 0 ? 8192 : 4096)};
      def.sockets = 2;
      def.cores_per_socket = static_cast<std::uint32_t>(def.cpus.value / 2);
      if (gpus) def.kinds.push_back({"gpu", i % 10 == 0 ? "h100" : "a100", 4, {}, false, {}, {}});
      facts.partitions[gpus ? 1 : 0].nodes.push_back(def.name);
      if (!gpus) facts.partitions[2].nodes.push_back(def.name);
      if (i % 50 == 1) facts.partitions[3].nodes.push_back(def.name);
      facts.nodes.push_back(std::move(def));
    }
    happen({ControllerStarted{Epoch{1}, now_}, facts});
    for (std::uint32_t i = 0; i < nodes; ++i)
      happen(decide_register(
          state_, {NodeIndex{i}, "boot", {facts.nodes[i].cpus, facts.nodes[i].memory, {}, {}, {}, {}, {}, {}, {}}},
          now_));
    for (int account = 0; account < 10; ++account) account_change({"add", "account", "a" + std::to_string(account)});
    for (int user = 0; user < 50; ++user)
      account_change({"add", "user", "u" + std::to_string(user), "account=a" + std::to_string(user % 10),
                      "fairshare=" + std::to_string(1 + user % 7),
                      "MaxJobs=" + std::to_string(nodes / 40 + 20 * static_cast<std::uint32_t>(user % 5)),
                      "GrpTRES=cpu=" + std::to_string(nodes * 4)});
    for (std::uint32_t user = 0; user < 50; ++user)
      owners_.push_back(
          SharedValue(Owner{UserId{1000 + user}, GroupId{1000}, "u" + std::to_string(user), "g", {1000}, "host", {}}));
  }

  void account_change(const std::vector<std::string>& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    const auto change = parse_account_change(views);
    const auto decision = change ? decide_accounts(state_, *change, {UserId{0}, true}, now_)
                                 : Result<AccountDecision>(std::unexpected(change.error()));
    if (!decision) {
      std::fprintf(stderr, "accounts: %s\n", decision.error().story.c_str());
      std::exit(1);
    }
    happen(decision->events);
  }

  // The first thousands are decided, later ones are copies of them: what is measured is the planner.
  void submit() {
    if (known_.size() < 4000) return submit_new();
    JobSubmitted event = known_[random_.below(known_.size())];
    event.key = state_.next_key;
    event.id = next_job_id(state_, state_.last_id);
    event.priority = initial_priority(state_, event.key, 0);
    event.at = now_;
    happen({event});
  }

  void submit_new() {
    SubmitJob ask;
    ask.spec.owner = owners_[random_.below(owners_.size())];
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    ask.spec.name = "job";
    ask.spec.min_nodes = ask.spec.tasks = ask.spec.cpus_per_task = 0;
    const std::uint64_t kind = random_.below(100);
    constexpr std::uint32_t sizes[] = {1, 1, 2, 4, 8, 16, 32};
    ask.spec.cpus_per_task = sizes[random_.below(7)];
    ask.spec.memory_per_cpu = Mebibytes{static_cast<std::int64_t>(1 + random_.below(4)) * 1000};
    if (kind < 20) {
      ask.partition = "gpu";
      ResourceRequest request;
      request.gres.push_back({"gpu", random_.chance(1, 3) ? "h100" : "",
                              static_cast<std::int64_t>(1 + random_.below(4)), GresScope::node});
      ask.spec.resources = SharedValue(request);
    } else if (kind < 40) {
      ask.spec.min_nodes = static_cast<std::uint32_t>(2u << random_.below(6));
      ask.spec.tasks_per_node = static_cast<std::uint32_t>(1 + random_.below(4));
      if (random_.chance(1, 2)) ask.partition = "long";
    } else if (kind < 45) {
      ask.partition = "debug";
    } else if (kind < 60) {
      ask.spec.tasks = static_cast<std::uint32_t>(1u << random_.below(8));
      ask.spec.cpus_per_task = 1;
    }
    constexpr std::uint32_t limits[] = {10, 30, 60, 120, 240, 480, 720, 1440, 2880};
    ask.time_limit_minutes = limits[random_.below(9)];
    const auto decision = decide(state_, ask, Actor{ask.spec.owner->uid, false}, now_);
    if (!decision) {
      std::fprintf(stderr, "refused: %s\n", slurm_text(decision.error().code));
      std::exit(1);
    }
    known_.push_back(std::get<JobSubmitted>(decision->events.front()));
    happen(decision->events);
  }

  // Starts jobs until the machine is full, at times spread over a day, so that they end at times of their own.
  void fill(std::uint32_t jobs) {
    for (std::uint32_t i = 0; i < jobs; ++i) {
      submit();
      if (i % 200 != 199) continue;
      pass(true);
      wait(seconds(20));
    }
  }

  double pass(bool place, Plan* out = nullptr) {
    const double start = cpu_seconds();
    Pass pass(state_, settings_, now_, memo_used_ ? &memo_ : nullptr);
    while (!pass.advance(200'000)) {
    }
    Plan plan = pass.take();
    const double took = cpu_seconds() - start;
    if (place)
      for (const Proposal& p : plan.placements)
        happen(decide_place(state_, {p.key, p.attempt, p.shares, p.by_backfill, p.partition}, now_));
    if (out) *out = std::move(plan);
    return took;
  }

  // Whoever reached the limit is gone.
  void wait(Duration span) {
    now_ = now_ + span;
    for (;;) {
      const auto events = decide_expired(state_, now_);
      if (events.empty()) return;
      happen(events);
      if (const auto* over = std::get_if<JobTimedOut>(&events.front())) end(over->key);
    }
  }

  void end(JobKey key) {
    const Job& job = state_.job(key);
    happen(decide_end(state_, {key, job.attempt, job.placement->shares.front().node, AttemptEnd::exited, 0, 0}, now_));
  }

  void end_one() {
    auto it = state_.active.lower_bound(JobKey{random_.below(state_.next_key.value)});
    if (it == state_.active.end()) it = state_.active.begin();
    end((*it).first);
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }

  State state_;
  Memo memo_;
  bool memo_used_ = true;
  PlannerSettings settings_;
  Time now_{1'700'000'000'000'000};
  Prng random_{42};
  std::vector<JobSubmitted> known_;
  std::vector<SharedValue<Owner>> owners_;
};

void measure(std::uint32_t jobs, std::uint32_t nodes, std::uint32_t depth) {
  Cluster cluster(nodes);
  cluster.settings_.backfill = Backfill::conservative;
  cluster.settings_.depth = depth;
  cluster.fill(jobs / 4);  // running ones and a first queue
  for (std::size_t waiting = cluster.state_.queue.size(); waiting < jobs; ++waiting) cluster.submit();
  Plan plan;
  cluster.memo_used_ = false;
  double whole = 1e9;
  for (int i = 0; i < 3; ++i) whole = std::min(whole, cluster.pass(false, &plan));
  const std::size_t running = cluster.state_.active.size();
  const std::size_t starts = plan.placements.size(), planned = plan.findings.size();
  const long steps = static_cast<long>(plan.steps);
  cluster.memo_used_ = true;
  while (cluster.pass(true, &plan), !plan.placements.empty()) {
  }
  double submit_worst = 0, submit_sum = 0, end_worst = 0, end_sum = 0;
  constexpr int rounds = 20;
  for (int i = 0; i < rounds; ++i) {
    cluster.wait(seconds(1));
    cluster.submit();
    const double took = cluster.pass(true);
    submit_worst = std::max(submit_worst, took);
    submit_sum += took;
    cluster.wait(seconds(1));
    cluster.end_one();
    const double ended = cluster.pass(true);
    end_worst = std::max(end_worst, ended);
    end_sum += ended;
  }
  std::printf(
      "{\"jobs\":%u,\"nodes\":%u,\"depth\":%u,\"running\":%zu,\"starts\":%zu,\"planned\":%zu,\"steps\":%ld,\"full_pass_"
      "s\":%.4f,"
      "\"after_submit_ms\":%.3f,\"after_submit_worst_ms\":%.3f,\"after_end_ms\":%.3f,\"after_end_worst_ms\":%.3f}\n",
      jobs, nodes, depth, running, starts, planned, steps, whole, 1e3 * submit_sum / rounds, 1e3 * submit_worst,
      1e3 * end_sum / rounds, 1e3 * end_worst);
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  const auto depth = static_cast<std::uint32_t>(argc > 3 ? std::atoi(argv[3]) : 100);
  if (argc > 2) {
    millrace::measure(static_cast<std::uint32_t>(std::atoi(argv[1])), static_cast<std::uint32_t>(std::atoi(argv[2])),
                      depth);
    return 0;
  }
  millrace::measure(10'000, 1'000, depth);
  millrace::measure(100'000, 10'000, depth);
}
