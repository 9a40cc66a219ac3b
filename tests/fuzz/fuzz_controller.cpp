// tests/fuzz/fuzz_controller.cpp - requests of clients and messages of agents, to a controller on simulated time.
#include "agent.pb.h"
#include "client.pb.h"
#include "small_controller.h"
#include "target.h"
#include "task.pb.h"
#include "wire/frame.h"
#include "wire/request_limits.h"

using namespace millrace;

namespace {

// What is sent one after the other; the keys of the pairs by one sender, their values by another.
std::string sequence(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  wire::MpiPairs pairs;
  for (const std::string& each : first) pairs.add_keys(each);
  for (const std::string& each : second) pairs.add_values(each);
  return pairs.SerializeAsString();
}

template <class Fill>
std::string request(Fill fill) {
  wire::Request ask;
  ask.set_protocol(protocol_version);
  ask.set_number(1);
  fill(ask);
  return ask.SerializeAsString();
}

void describe_job(wire::JobDescription& job) {
  job.set_name("seed");
  job.set_work_dir("/tmp");
  job.set_partition("p,q");
  job.set_tasks(4);
  job.set_cpus_per_task(2);
  job.set_min_nodes(1);
  job.set_time_limit_minutes(10);
  job.set_dependency("afterok:1,afterany:2_3");
  job.set_array("1-10:2%3");
  job.set_begin_at_us(1'700'000'100'000'000);
  job.set_memory_per_cpu_mib(100);
  job.set_required_nodes("n[1-2]");
  job.set_excluded_nodes("n4");
  auto& wishes = *job.mutable_resources();
  wishes.set_features("a&b");
  wishes.set_licenses("foo:1");
  wishes.set_distribution("cyclic");
  wishes.set_node_counts("1,3");
  wishes.set_deadline_us(1'700'009'000'000'000);
  wishes.set_gres("gpu:a100:1");
}

std::vector<std::string> job_requests() {
  const auto name = [](auto* jobs, const char* tasks) {
    jobs->set_job_id(2);
    jobs->set_tasks(tasks);
  };
  return {
      request([](wire::Request& r) {
        describe_job(*r.mutable_submit()->mutable_job());
        r.mutable_submit()->set_script("#!/bin/sh\n");
        r.mutable_submit()->set_environment("PATH=/bin");
      }),
      request([](wire::Request& r) {
        r.mutable_submit()->mutable_job()->set_interactive(true);
        r.mutable_submit()->mutable_job()->set_tasks(2);
        *r.mutable_submit()->add_more_components() = r.submit().job();
      }),
      request([](wire::Request& r) {
        r.mutable_update_job()->mutable_job()->set_job_id(1);
        r.mutable_update_job()->set_begin_at_us(1'700'000'100'000'000);
        r.mutable_update_job()->set_memory_per_node_mib(10);
      }),
      request([&](wire::Request& r) { name(r.mutable_cancel()->add_jobs(), "[1-3,5]"); }),
      request([&](wire::Request& r) { name(r.mutable_query_jobs()->add_jobs(), "1-4:2"); }),
      request([&](wire::Request& r) { name(r.mutable_hold()->add_jobs(), "2"); }),
      request([&](wire::Request& r) { name(r.mutable_requeue()->add_jobs(), ""); }),
      request([&](wire::Request& r) { name(r.mutable_suspend()->add_jobs(), ""); }),
      request([&](wire::Request& r) { name(r.mutable_top_jobs()->add_jobs(), ""); }),
      request([](wire::Request& r) { r.mutable_wait_job()->set_job_id(1); }),
      request([](wire::Request& r) { r.mutable_get_script()->set_job_id(1); }),
      request([](wire::Request& r) { r.mutable_explain()->set_job_id(1); }),
      request([](wire::Request& r) {
        r.mutable_create_step()->set_job_id(1);
        describe_job(*r.mutable_create_step()->mutable_step());
      }),
      request([](wire::Request& r) { r.mutable_query_steps(); }),
      request([](wire::Request& r) { r.mutable_signal_step()->mutable_step()->mutable_job()->set_job_id(1); }),
      request([](wire::Request& r) { r.mutable_sample_steps()->add_steps()->mutable_job()->set_job_id(1); }),
  };
}

std::vector<std::string> other_requests() {
  return {
      request([](wire::Request& r) { r.mutable_query_nodes()->set_nodes("n[1-4]"); }),
      request([](wire::Request& r) { r.mutable_update_node()->set_nodes("n[1-2]"); }),
      request([](wire::Request& r) { r.mutable_update_partition()->set_name("p"); }),
      request([](wire::Request& r) { r.mutable_delete_partition()->set_name("q"); }),
      request([](wire::Request& r) {
        r.mutable_create_nodes()->set_names("x[1-3]");
        r.mutable_create_nodes()->set_configuration("CPUs=4 State=CLOUD");
      }),
      request([](wire::Request& r) { r.mutable_delete_nodes()->set_names("n4"); }),
      request([](wire::Request& r) {
        r.mutable_reserve()->set_name("r");
        r.mutable_reserve()->set_nodes("n[3-4]");
        r.mutable_reserve()->set_start_us(1'700'000'100'000'000);
        r.mutable_reserve()->set_end_us(1'700'000'900'000'000);
        r.mutable_reserve()->set_users("root");
      }),
      request([](wire::Request& r) { r.mutable_query_reservations(); }),
      request([](wire::Request& r) {
        r.mutable_set_crontab()->set_text("0 * * * * a\n");
        r.mutable_set_crontab()->add_entries();
      }),
      request([](wire::Request& r) { r.mutable_set_trigger()->mutable_trigger(); }),
      request([](wire::Request& r) { r.mutable_query_accounts(); }),
      request([](wire::Request& r) { r.mutable_change_accounts(); }),
      request([](wire::Request& r) { r.mutable_query_priorities(); }),
      request([](wire::Request& r) { r.mutable_query_topology(); }),
      request([](wire::Request& r) { r.mutable_query_diagnostics(); }),
      request([](wire::Request& r) { r.mutable_set_logging(); }),
  };
}

}  // namespace

FUZZ_SEEDS(request) {
  std::vector<std::string> out;
  for (const std::string& each : job_requests()) out.push_back(sequence({each}, {each}));
  for (const std::string& each : other_requests()) out.push_back(sequence({each}, {}));
  return out;
}

// What the check of limits lets pass is what protobuf reads; it comes back for any bytes.
FUZZ_SEEDS(request_limits) {
  std::vector<std::string> out = job_requests();
  for (std::string& each : other_requests()) out.push_back(std::move(each));
  return out;
}

FUZZ_BINARY(request_limits) {
  const auto problem = over_limit(input);
  fuzz::must(!problem || !problem->empty(), "a refusal says why");
  if (const auto of_agent = agent_word_over_limit(input)) fuzz::must(!of_agent->empty(), "a refusal says why");
  wire::Request ask;
  if (problem || !ask.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  fuzz::must(number_of_request(input) == ask.number(), "the answer goes to the request");
  fuzz::must(ask.submit().job().name().size() <= name_bytes_max, "a name is within its limit");
  fuzz::must(ask.set_trigger().trigger().due().empty(), "a list is within its limit");
}

FUZZ_BINARY(request) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  if (pairs.keys_size() + pairs.values_size() > 12) return;  // so many are enough, and each takes a pass of the planner
  fuzz::SmallController controller;
  for (const std::string& each : pairs.keys()) controller.request(0, each);
  for (const std::string& each : pairs.values()) controller.request(1000, each);
}

FUZZ_SEEDS(to_controller) {
  wire::ToController report, hello, step, sample;
  wire::AttemptStatus& attempt = *report.mutable_report()->add_attempts();
  attempt.set_job_key(1);
  attempt.set_state(wire::AttemptStatus::ENDED);
  attempt.set_end(wire::AttemptStatus::EXITED);
  attempt.set_exit_code(3);
  attempt.add_steps()->set_id(1);
  report.mutable_report()->mutable_telemetry()->set_load_hundredths(42);
  hello.mutable_hello()->set_protocol(protocol_version);
  hello.mutable_hello()->set_node("n1");
  hello.mutable_hello()->set_boot_id("another");
  hello.mutable_hello()->mutable_inventory()->add_devices()->set_name("gpu");
  *hello.mutable_hello()->add_attempts() = attempt;
  step.mutable_step()->set_job_key(1);
  step.mutable_step()->mutable_reply()->set_client(1);
  sample.mutable_sample()->set_job_key(1);
  return {sequence({report.SerializeAsString()}, {}), sequence({hello.SerializeAsString()}, {}),
          sequence({step.SerializeAsString()}, {}),
          sequence({sample.SerializeAsString()}, {report.SerializeAsString()})};
}

FUZZ_BINARY(to_controller) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  if (pairs.keys_size() + pairs.values_size() > 12) return;
  fuzz::SmallController controller;
  for (const std::string& each : pairs.keys()) controller.from_agent("n1", each);
  for (const std::string& each : pairs.values()) controller.from_agent("n2", each);
}
