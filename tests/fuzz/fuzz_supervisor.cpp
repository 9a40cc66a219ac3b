// tests/fuzz/fuzz_supervisor.cpp - what an agent tells the supervisor of a job's first node, which keeps the job's
// steps. It holds the job and starts nothing: there is no process to be signalled.
#include "small_plan.h"
#include "step/attempt/supervisor.h"
#include "target.h"
#include "task.pb.h"

using namespace millrace;

namespace {

wire::ToStep order_of_job() {
  wire::ToStep order;
  wire::LaunchPlan& plan = *order.mutable_run();
  plan = fuzz::plan_of_job();
  plan.set_job_key(7);
  plan.set_job_id(12);
  plan.mutable_job()->set_allocation_only(true);
  plan.set_kill_wait_seconds(30);
  wire::DeviceGrant& grant = *plan.add_devices();
  grant.set_name("gpu");
  grant.add_devices(0);
  order.mutable_identity()->set_uid(1000);
  return order;
}

wire::ToStep request_of(const char* name) {
  wire::ToStep message;
  wire::StepRequest& request = *message.mutable_step()->mutable_request();
  request.set_client(3);
  request.set_uid(1000);
  request.mutable_ask()->mutable_step()->set_tasks(2);
  request.mutable_ask()->mutable_step()->set_name(name);
  request.mutable_ask()->mutable_step()->add_arguments("hostname");
  request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret(std::string(32, *name));
  return message;
}

std::string pieces_of(const std::vector<wire::ToStep>& messages) {
  wire::MpiPairs pairs;
  for (const wire::ToStep& each : messages) pairs.add_keys(each.SerializeAsString());
  return pairs.SerializeAsString();
}

std::vector<wire::ToStep> about_steps() {
  wire::ToStep report, signal, update, lost, heard, left;
  report.mutable_step()->mutable_report()->set_node("n1");
  report.mutable_step()->mutable_report()->mutable_status()->set_step(0);
  report.mutable_step()->mutable_report()->mutable_status()->set_state(wire::AttemptStatus::ENDED);
  report.mutable_step()->mutable_report()->mutable_status()->mutable_usage()->set_user_us(5);
  signal.mutable_step()->mutable_signal()->set_uid(1000);
  signal.mutable_step()->mutable_signal()->set_signal(10);
  update.mutable_step()->mutable_update()->set_uid(1000);
  update.mutable_step()->mutable_update()->set_time_limit_minutes(5);
  lost.mutable_step()->mutable_lost()->add_nodes("n2");
  heard.mutable_step()->mutable_facts_heard()->set_number(1);
  left.mutable_step()->mutable_left()->set_client(3);
  return {report, signal, update, lost, heard, left};
}

}  // namespace

FUZZ_SEEDS(to_step) {
  wire::ToStep kill, signal, suspend, note, inquiry, gpus, log, end, prepared = request_of("c"), part = prepared;
  kill.mutable_kill()->set_kill_wait_seconds(1);
  signal.mutable_signal()->set_signal(10);
  suspend.mutable_suspend()->set_suspended(true);
  note.mutable_order()->set_note("from scontrol notify");
  inquiry.mutable_order()->set_inquiry(4);
  wire::GpuReading& gpu = *gpus.mutable_gpus()->add_gpus();
  gpu.set_busy_percent(50);
  gpu.set_used_mib(1000);
  log.mutable_log()->set_level(9);
  end.mutable_step()->mutable_end()->set_exit_code(3);
  prepared.mutable_step()->mutable_request()->mutable_ask()->set_prepare(true);
  wire::PartOfStep& of = *part.mutable_step()->mutable_request()->mutable_ask()->mutable_part();
  of.set_nodes("n1,n1");
  for (const std::uint32_t tasks : {2u, 2u}) of.add_tasks_per_node(tasks), of.add_cpus_per_node(4);
  of.set_tasks(4);
  wire::ToStep ports = request_of("d");
  ports.mutable_step()->mutable_request()->mutable_ask()->set_resv_ports(2);
  ports.mutable_step()->mutable_request()->mutable_ask()->set_job_ports("20000-20010");
  std::vector<std::string> out{pieces_of({kill}), pieces_of({signal, suspend, note}), pieces_of({log, inquiry, gpus}),
                               pieces_of({prepared, part}), pieces_of({ports, end})};
  for (const wire::ToStep& each : about_steps()) out.push_back(pieces_of({request_of("a"), request_of("b"), each}));
  return out;
}

FUZZ_BINARY(to_step) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 12) return;
  auto spool = AttemptSpool::enter(".");  // nothing was claimed: nothing is written
  if (!spool) return;
  Supervisor supervisor(order_of_job(), *std::move(spool), Channel{}, -1, -1);
  supervisor.begin();
  fuzz::use(supervisor.hear(input));
  for (const std::string& each : pairs.keys())
    if (!supervisor.hear(each)) return;
}
