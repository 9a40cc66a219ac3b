// src/sim/replay_test.cpp - small workloads whose schedule can be worked out by hand, the rules of traces, and the
// numbers about them.
#include "sim/replay.h"

#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"
#include "core/ledger/invariants.h"
#include "sim/gantt.h"
#include "sim/metrics.h"
#include "sim/workload.h"

namespace millrace {
namespace {

struct Row {
  std::int64_t submit, run, requested;
  std::uint32_t processors, user = 0;
};

Workload workload_of(std::initializer_list<Row> rows) {
  Workload workload;
  for (const Row& row : rows) {
    WorkloadJob job;
    job.submit = row.submit;
    job.run = row.run;
    job.requested = row.requested;
    job.tasks = row.processors;
    job.user = row.user;
    workload.jobs.push_back(job);
  }
  return workload;
}

std::vector<std::int64_t> starts(const Workload& workload, Backfill backfill, OrderPolicy order = OrderPolicy::fcfs,
                                 Estimates estimates = Estimates::requested) {
  ReplaySettings settings;
  settings.planner.backfill = backfill;
  settings.planner.order = order;
  settings.planner.depth = UINT32_MAX;
  settings.planner.use_expected = true;
  settings.planner.score_origin = trace_time(0);
  settings.estimates = estimates;
  std::vector<std::int64_t> out;
  for (const ReplayedJob& job : replay(workload, one_machine(10), settings).jobs) out.push_back(job.start);
  return out;
}

using Seconds = std::vector<std::int64_t>;

// A wide job waits for two running ones; three small ones come behind it.
const Workload queue =
    workload_of({{0, 100, 100, 6}, {0, 50, 50, 3}, {1, 10, 10, 8}, {2, 200, 200, 1}, {3, 90, 90, 1}, {4, 95, 95, 1}});

TEST(Replay, nobody_overtakes_without_backfill) {
  EXPECT_EQ(starts(queue, Backfill::none), (Seconds{0, 0, 100, 100, 100, 110}));
}

TEST(Replay, easy_lets_overtake_who_does_not_delay_the_first) {
  // The wide job starts at 100 and leaves two processors over then: the 200 seconds take one at 2, the 90 seconds the
  // other at 50, and the 95 seconds would end at 145 with none left.
  EXPECT_EQ(starts(queue, Backfill::easy), (Seconds{0, 0, 100, 2, 50, 110}));
}

TEST(Replay, sjbf_takes_the_shortest_first) {
  const Workload workload =
      workload_of({{0, 100, 100, 9}, {1, 10, 10, 10}, {2, 90, 90, 1}, {2, 30, 30, 1}, {2, 40, 40, 1}});
  EXPECT_EQ(starts(workload, Backfill::easy), (Seconds{0, 100, 2, 110, 110}));
  EXPECT_EQ(starts(workload, Backfill::shortest_first), (Seconds{0, 100, 110, 2, 32}));
}

TEST(Replay, conservative_moves_everyone_up_in_order_when_a_job_ends_early) {
  // Promised at 1: nine processors at 100, ten at 110, two at 120; one processor fits beside them at once. At 40 the
  // first job is gone.
  const Workload workload =
      workload_of({{0, 40, 100, 8}, {1, 10, 10, 9}, {1, 10, 10, 10}, {1, 100, 100, 2}, {1, 60, 60, 1}});
  EXPECT_EQ(starts(workload, Backfill::conservative), (Seconds{0, 40, 61, 71, 1}));
}

TEST(Replay, conservative_never_breaks_a_promise) {
  Prng random(9);
  PlannerSettings settings;
  settings.backfill = Backfill::conservative;
  settings.use_expected = true;
  Replay machine(one_machine(16), settings);
  std::map<JobKey, Time> promised;
  std::map<JobKey, std::int64_t> runs;
  std::multimap<std::int64_t, JobKey> ends;
  std::size_t bettered = 0;
  for (std::int64_t second = 0; second < 6'000; ++second) {
    for (; !ends.empty() && ends.begin()->first <= second; ends.erase(ends.begin()))
      machine.end(ends.begin()->second, trace_time(second));
    if (second < 5'000 && random.chance(1, 12)) {
      const std::int64_t requested = random.between(10, 300);
      const Workload one = workload_of({{second, 1, requested, static_cast<std::uint32_t>(random.between(1, 16))}});
      const auto key =
          machine.submit(ask_of(one, one.jobs[0]), static_cast<std::uint32_t>(requested), trace_time(second));
      ASSERT_TRUE(key);
      runs[*key] = random.between(1, requested);
    }
    for (const JobKey key : machine.plan(trace_time(second))) {
      const auto before = promised.find(key);
      EXPECT_TRUE(before == promised.end() || trace_time(second) <= before->second)
          << "job " << key.value << " at " << second;
      promised.erase(key);
      ends.emplace(second + runs[key], key);
    }
    for (const Finding& finding : machine.findings()) {
      ASSERT_TRUE(finding.planned_start.is_set());
      const auto [before, fresh] = promised.emplace(finding.key, finding.planned_start);
      EXPECT_LE(finding.planned_start, before->second) << "job " << finding.key.value << " at " << second;
      bettered += finding.planned_start < before->second ? 1 : 0;
      before->second = finding.planned_start;
    }
  }
  EXPECT_GT(bettered, 100u);
}

TEST(Replay, exact_and_predicted_estimates_open_holes_that_requests_close) {
  const Workload workload = workload_of(
      {{0, 5, 1000, 1, 7}, {10, 5, 1000, 1, 7}, {20, 100, 100, 9, 1}, {30, 10, 10, 10, 1}, {40, 5, 1000, 1, 7}});
  EXPECT_EQ(starts(workload, Backfill::easy), (Seconds{0, 10, 20, 120, 130}));
  EXPECT_EQ(starts(workload, Backfill::easy, OrderPolicy::fcfs, Estimates::exact), (Seconds{0, 10, 20, 120, 40}));
  EXPECT_EQ(starts(workload, Backfill::easy, OrderPolicy::fcfs, Estimates::predicted), (Seconds{0, 10, 20, 120, 40}));
}

TEST(Replay, conservative_with_wrong_predictions_comes_to_an_end) {
  // The third job of user 7 is thought to take 5 seconds and takes 500; whoever was promised its processors waits for
  // its real end.
  const Workload workload = workload_of({{0, 5, 1000, 1, 7},
                                         {10, 5, 1000, 1, 7},
                                         {20, 500, 505, 9, 7},
                                         {21, 10, 10, 5, 1},
                                         {22, 10, 10, 10, 2},
                                         {23, 7, 70, 1, 7}});
  EXPECT_EQ(starts(workload, Backfill::conservative, OrderPolicy::fcfs, Estimates::predicted),
            (Seconds{0, 10, 20, 520, 530, 23}));
}

TEST(Replay, shortest_job_first_orders_the_queue) {
  const Workload workload = workload_of({{0, 50, 50, 10}, {1, 30, 30, 10}, {2, 10, 10, 10}, {3, 20, 20, 10}});
  EXPECT_EQ(starts(workload, Backfill::none, OrderPolicy::sjf), (Seconds{0, 80, 50, 60}));
}

TEST(Replay, forgets_what_has_ended_and_keeps_the_laws) {
  Replay machine(one_machine(4), {});
  const Workload workload = workload_of({{0, 10, 10, 3}});
  for (std::int64_t second = 0; second < 50; ++second) {
    const auto key = machine.submit(ask_of(workload, workload.jobs[0]), 10, trace_time(second));
    ASSERT_TRUE(key);
    ASSERT_EQ(machine.plan(trace_time(second)).size(), 1u);
    machine.end(*key, trace_time(second));
    EXPECT_FALSE(broken_law(machine.state()));
  }
  EXPECT_EQ(machine.state().jobs.size(), 0u);
  EXPECT_EQ(machine.state().deadlines.size(), 0u);
}

TEST(Replay, says_what_was_refused_and_what_never_started) {
  Workload workload = workload_of({{0, 10, 10, 11}, {0, 10, 10, 2}, {0, 10, 10'000, 1}});
  ClusterConfigured facts = one_machine(10);
  facts.partitions[0].max_time_minutes = 60;
  const ReplayResult result = replay(workload, facts, {});
  ASSERT_EQ(result.notes.size(), 2u);
  EXPECT_TRUE(result.notes[0].starts_with("1 job refused: Requested node configuration is not available"))
      << result.notes[0];
  EXPECT_EQ(result.notes[1], "1 job never started: PartitionTimeLimit");
  EXPECT_EQ(measure(result.jobs, 10).jobs, 1u);
}

TEST(Workload, of_a_whole_trace_follows_the_rules) {
  const auto trace = parse_swf(
      "; MaxProcs: 8\n"
      "1 5 -1 100 4 -1 -1 2 60 -1 1 3 1 -1 -1 -1 -1 -1\n"   // cut at 60, two processors requested
      "2 3 -1 0 4 -1 -1 -1 60 -1 1 3 1 -1 2 -1 -1 -1\n"     // comes first; 0 becomes 1, four allocated
      "3 6 -1 -1 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1\n"    // no run time
      "4 7 -1 10 9 -1 -1 9 60 -1 1 3 1 -1 -1 -1 -1 -1\n"    // too wide
      "5 8 -1 10 -1 -1 -1 -1 60 -1 1 3 1 -1 -1 -1 -1 -1\n"  // no width
      "6 9 -1 10 1 -1 -1 1 -1 -1 1 3 1 -1 -1 -1 -1 -1\n",   // no request
      "t.swf");
  ASSERT_TRUE(trace) << trace.error().story;
  const Workload workload = whole_trace(*trace, trace_processors(*trace).value());
  ASSERT_EQ(workload.jobs.size(), 3u);
  EXPECT_EQ(workload.jobs[0].run, 1);
  EXPECT_EQ(workload.jobs[0].tasks, 4u);
  EXPECT_EQ(workload.jobs[1].run, 60);
  EXPECT_EQ(workload.jobs[1].tasks, 2u);
  EXPECT_EQ(workload.jobs[2].requested, 10);
  EXPECT_EQ(workload.notes.size(), 5u);
}

TEST(Workload, is_shaken_by_its_seed_and_cut_in_halves) {
  Workload workload;
  for (std::int64_t i = 0; i < 101; ++i) workload.jobs.push_back({i * 1000, 10, 10, 1, 0, 0, 0, 0, 0, 0, 0});
  Workload one = workload, same = workload, other = workload, first = workload, second = workload;
  shake(one, 1);
  shake(same, 1);
  shake(other, 2);
  const auto submits = [](const Workload& w) {
    Seconds out;
    for (const WorkloadJob& job : w.jobs) out.push_back(job.submit);
    return out;
  };
  EXPECT_EQ(submits(one), submits(same));
  EXPECT_NE(submits(one), submits(other));
  for (std::size_t i = 1; i < 101; ++i)
    EXPECT_LE(std::abs(one.jobs[i].submit - workload.jobs[i].submit), shake_seconds);
  keep_half(first, Half::first);
  keep_half(second, Half::second);
  EXPECT_EQ(first.jobs.size() + second.jobs.size(), workload.jobs.size());
  EXPECT_EQ(second.jobs.front().submit, 50'000);
}

TEST(Workload, csv_names_its_columns_and_what_is_wrong) {
  const auto good =
      parse_workload_csv("# made by hand\nrun,submit,partition,tasks,gres\n60,5,short,4,gpu:2\n\n30,1,,,\n", "w.csv");
  ASSERT_TRUE(good) << good.error().story;
  ASSERT_EQ(good->jobs.size(), 2u);
  EXPECT_EQ(good->jobs[0].submit, 1);
  EXPECT_EQ(good->jobs[0].requested, 30);
  const SubmitJob ask = ask_of(*good, good->jobs[1]);
  EXPECT_EQ(ask.partition, "short");
  EXPECT_EQ(ask.spec.tasks, 4u);
  ASSERT_TRUE(ask.spec.resources);
  EXPECT_EQ(ask.spec.resources->gres.at(0).count, 2);
  const auto story = [](std::string_view text) { return parse_workload_csv(text, "w.csv").error().story; };
  const std::string names = "submit,run,limit,user,account,partition,nodes,tasks,cpus_per_task,mem,gres";
  EXPECT_EQ(story("submit,runs\n"), "w.csv line 1: there is no column 'runs'; the columns are " + names);
  EXPECT_EQ(story("submit,user\n"),
            "w.csv line 1: the first line names the columns, and 'run' must be one of " + names);
  EXPECT_EQ(story("submit,run\n1\n"), "w.csv line 2: 1 values, but the first line names 2 columns");
  EXPECT_EQ(story("submit,run\n1,x\n"), "w.csv line 2: column 'run' is 'x'; a whole number of at least 0 is right");
}

TEST(Metrics, are_those_of_the_literature) {
  const std::vector<ReplayedJob> jobs = {
      {0, 0, 100, 2, {}}, {0, 90, 95, 4, {}}, {10, 100, 200, 1, {}}, {0, -1, -1, 3, {}}};
  const Metrics metrics = measure(jobs, 4);
  EXPECT_EQ(metrics.jobs, 3u);
  EXPECT_DOUBLE_EQ(metrics.bounded_slowdown, (1 + 9.5 + 1.9) / 3);
  EXPECT_DOUBLE_EQ(metrics.mean_wait, 60);
  EXPECT_EQ(metrics.p95_wait, 90);
  EXPECT_EQ(metrics.max_wait, 90);
  EXPECT_EQ(metrics.makespan, 200);
  EXPECT_DOUBLE_EQ(metrics.utilisation, 320.0 / 800);
  EXPECT_DOUBLE_EQ(measure(jobs, 4, Until::last_start).utilisation, 320.0 / 400);
  EXPECT_EQ(metrics_json(metrics),
            "{\"jobs\": 3, \"bounded_slowdown\": 4.1333, \"mean_wait\": 60.00, \"p95_wait\": 90, \"p99_wait\": 90, "
            "\"max_wait\": 90, "
            "\"utilisation\": 0.4000, \"makespan\": 200}\n");
  EXPECT_EQ(measure({}, 4).jobs, 0u);
}

TEST(Metrics, waits_are_by_nearest_rank) {
  std::vector<ReplayedJob> jobs;
  for (std::int64_t wait = 1; wait <= 100; ++wait) jobs.push_back({0, wait, wait + 1, 1, {}});
  const Metrics metrics = measure(jobs, 4);
  EXPECT_EQ(metrics.p95_wait, 95);
  EXPECT_EQ(metrics.p99_wait, 99);
}

TEST(Gantt, draws_each_job_or_bands_of_many) {
  std::vector<ReplayedJob> jobs = {{0, 0, 100, 2, {}}, {0, 100, 300, 4, {}}};
  const std::string picture = gantt_svg(jobs, {{"", 4}}, "a <b>");
  EXPECT_NE(picture.find("job 2: 4 processors, waited 1m 40s, ran 3m 20s"), std::string::npos);
  EXPECT_NE(picture.find("a &lt;b&gt;"), std::string::npos);
  EXPECT_EQ(picture.find("polygon"), std::string::npos);
  for (std::int64_t i = 0; i < 5'000; ++i) jobs.push_back({i, i, i + 1, 1, {}});
  EXPECT_NE(gantt_svg(jobs, {{"", 4}}, "many").find("polygon"), std::string::npos);
  EXPECT_NE(gantt_svg({}, {{"", 4}}, "none").find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace millrace
