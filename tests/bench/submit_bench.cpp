// tests/bench/submit_bench.cpp - submits many separate jobs through the client library from several threads; each
// answer means a durable job. Fills queues for the other measures, too.
//   submit_bench --socket PATH --count N [--threads T] [--script FILE | --script-bytes B] [--environment-bytes B]
//   [--distinct]
//                [--work-dir DIR] [--hold] [--array SPEC] [--ids FILE]
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "client.pb.h"
#include "client/session.h"

namespace {

using namespace millrace;
using Clock = std::chrono::steady_clock;

struct Plan {
  std::string socket, script, work_dir = "/tmp", array, ids_path;
  std::size_t script_bytes = 1024, environment_bytes = 3072;
  int count = 0;
  int threads = 8;
  bool distinct = false;  // each environment differs in one variable, so that none can be stored once for many
  bool hold = false;
};

struct Outcome {
  std::vector<std::uint32_t> ids;
  std::vector<double> milliseconds;
  std::string trouble;
};

bool read_plan(int argc, char** argv, Plan& plan) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--distinct") {
      plan.distinct = true;
      continue;
    }
    if (name == "--hold") {
      plan.hold = true;
      continue;
    }
    if (++i == argc) return false;
    const std::string value = argv[i];
    if (name == "--socket")
      plan.socket = value;
    else if (name == "--count")
      plan.count = std::stoi(value);
    else if (name == "--threads")
      plan.threads = std::stoi(value);
    else if (name == "--script") {
      std::ifstream file(value);
      plan.script.assign(std::istreambuf_iterator<char>(file), {});
    } else if (name == "--script-bytes")
      plan.script_bytes = std::stoul(value);
    else if (name == "--environment-bytes")
      plan.environment_bytes = std::stoul(value);
    else if (name == "--work-dir")
      plan.work_dir = value;
    else if (name == "--array")
      plan.array = value;
    else if (name == "--ids")
      plan.ids_path = value;
    else
      return false;
  }
  if (plan.script.empty()) {
    plan.script = "#!/bin/sh\n";
    while (plan.script.size() + 9 < plan.script_bytes)
      plan.script += "# a line of a script that is as long as scripts are\n";
    plan.script.resize(std::max<std::size_t>(plan.script_bytes, 20));
    plan.script.replace(plan.script.size() - 9, 9, "\nexit 0 \n");
  }
  return !plan.socket.empty() && plan.count > 0 && plan.threads > 0;
}

std::string environment_of(const Plan& plan, int number) {
  std::string out = "PATH=/usr/local/bin:/usr/bin:/bin";
  out += '\0';
  if (plan.distinct) out += "BENCH_NUMBER=" + std::to_string(number) + '\0';
  for (int i = 0; out.size() < plan.environment_bytes; ++i) {
    out += "BENCH_VARIABLE_" + std::to_string(i) + "=/a/value/as/long/as/values/of/variables/often/are/" +
           std::to_string(i * 7919);
    out += '\0';
  }
  return out;
}

wire::SubmitJob ask_of(const Plan& plan, int number) {
  wire::SubmitJob ask;
  wire::JobDescription& job = *ask.mutable_job();
  job.set_name("bench");
  job.set_work_dir(plan.work_dir);
  job.set_submit_line("submit_bench");
  job.set_submit_host("localhost");
  job.set_umask(022);
  job.set_hold(plan.hold);
  job.set_array(plan.array);
  ask.set_script(plan.script);
  ask.set_environment(environment_of(plan, number));
  return ask;
}

void submit_some(const Plan& plan, std::atomic<int>& next, Outcome& outcome) {
  SessionOptions options;
  options.socket_path = plan.socket;
  options.timeout = seconds(60);
  Session session(options);
  for (int number; (number = next++) < plan.count;) {
    const auto begin = Clock::now();
    const auto reply = session.submit(ask_of(plan, number));
    if (!reply || reply->has_failure()) {
      outcome.trouble = reply ? reply->failure().text() : reply.error().story;
      return;
    }
    outcome.ids.push_back(reply->submitted().job_id());
    outcome.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  if (!read_plan(argc, argv, plan))
    return std::fputs("submit_bench: see the head of tests/bench/submit_bench.cpp for its options\n", stderr), 2;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(plan.threads));
  std::atomic<int> next = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (Outcome& outcome : outcomes) threads.emplace_back([&] { submit_some(plan, next, outcome); });
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<std::uint32_t> ids;
  std::vector<double> times;
  for (const Outcome& outcome : outcomes) {
    ids.insert(ids.end(), outcome.ids.begin(), outcome.ids.end());
    times.insert(times.end(), outcome.milliseconds.begin(), outcome.milliseconds.end());
    if (!outcome.trouble.empty()) std::fprintf(stderr, "submit_bench: %s\n", outcome.trouble.c_str());
  }
  if (times.empty()) return 1;
  std::ranges::sort(times);
  if (!plan.ids_path.empty()) {
    std::ofstream file(plan.ids_path);
    for (const auto id : ids) file << id << '\n';
  }
  const auto count = static_cast<double>(ids.size());
  std::printf(
      "{\"count\": %zu, \"failed\": %d, \"seconds\": %.6f, \"per_second\": %.1f, \"median_ms\": %.3f, \"p95_ms\": "
      "%.3f}\n",
      ids.size(), plan.count - static_cast<int>(ids.size()), took, count / took, times[times.size() / 2],
      times[times.size() * 95 / 100]);
  return ids.size() == static_cast<std::size_t>(plan.count) ? 0 : 1;
}
