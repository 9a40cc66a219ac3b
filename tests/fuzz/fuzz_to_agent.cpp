// tests/fuzz/fuzz_to_agent.cpp - orders to an agent, and what supervisors say to it.
#include "agent/supervisor_words.h"
#include "small_agent.h"
#include "target.h"
#include "task.pb.h"
#include "wire/frame.h"
#include "wire/limits.h"

using namespace millrace;

namespace {

wire::ToAgent launch_of_job() {
  wire::ToAgent launch;
  wire::Credential credential;
  credential.set_job_key(7);
  credential.set_nodes("n[1-2]");
  credential.set_boot_id("boot");
  credential.set_expires_at_us(INT64_MAX);
  launch.mutable_launch()->set_credential(credential.SerializeAsString());
  launch.mutable_launch()->mutable_plan()->set_job_key(7);
  launch.mutable_launch()->mutable_plan()->set_nodes("n[1-2]");
  return launch;
}

// One message after the other: an input is a list of them.
std::string only(const auto& message) {
  wire::MpiPairs pairs;
  pairs.add_keys(message.SerializeAsString());
  return pairs.SerializeAsString();
}

}  // namespace

FUZZ_SEEDS(to_agent) {
  wire::ToAgent kill, step, relayed;
  kill.mutable_kill()->set_job_key(7);
  step.mutable_step()->set_job_key(7);
  relayed.mutable_relayed()->set_client(1);
  return {only(launch_of_job()), only(kill), only(step), only(relayed)};
}

FUZZ_BINARY(to_agent) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 12) return;
  fuzz::SmallAgent agent;
  for (const std::string& each : pairs.keys()) {
    wire::ToAgent message;
    if (message.ParseFromString(each)) agent.obey(std::move(message));
  }
  agent.obey(input);  // last: after what cannot be read nothing is
}

FUZZ_SEEDS(from_step) {
  wire::FromStep ended, said, sampled, step_manager;
  ended.mutable_status()->set_job_key(7);
  ended.mutable_status()->set_state(wire::AttemptStatus::ENDED);
  said.mutable_log()->set_text("done");
  sampled.mutable_sample()->set_job_key(7);
  sampled.mutable_sample()->add_tasks()->set_pid(12);
  std::vector<std::string> out{only(ended), only(said), only(sampled)};
  for (const std::uint32_t body : {3u, 4u, 5u, 6u, 600u, 601u}) {
    wire::StepFromNode& step = *step_manager.mutable_step();
    step.set_job_key(7);
    step.set_node("n1");
    if (body == 3) step.mutable_reply()->set_client(1);
    if (body == 4)
      step.mutable_launch()->mutable_plan()->set_job_key(7), step.mutable_launch()->mutable_plan()->set_step(0);
    if (body == 5) step.mutable_kill()->set_job_key(7);
    if (body == 6) step.mutable_forget()->set_job_key(7);
    if (body == 600) step.mutable_facts()->add_facts()->set_id(1);
    if (body == 601) step.mutable_signal()->set_job_key(7);
    out.push_back(only(step_manager));
  }
  return out;
}

FUZZ_BINARY(from_step) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 12) return;
  const AttemptName name{7, 0};
  FrameReader raw(supervisor_frame_max);
  fuzz::use(hear_supervisor(raw, name, input));
  fuzz::SmallAgent agent;
  agent.obey(launch_of_job());
  FrameReader reader(supervisor_frame_max);
  for (const std::string& each : pairs.keys()) {
    const auto words = hear_supervisor(reader, name, frame(each));
    if (!words) return;
    for (const wire::StepSample& sample : words->samples) agent.observer().step_sampled(sample);
    for (const wire::StepFromNode& step : words->steps) agent.observer().step_manager_said(step);
    if (words->status) fuzz::must(name_of(*words->status) == name, "a supervisor speaks for its own attempt");
    if (words->status) agent.observer().attempt_changed(*words->status);
    agent.run();
  }
}

FUZZ_BINARY(relay) {
  Relay relay;
  const Relay::ClientId client = relay.open(1000, 1000, [](std::string reply) { fuzz::use(reply); });
  relay.request(client, input);
  relay.connected({[&](const wire::RelayedRequest& request) { fuzz::use(request); }, [](Relay::ClientId) {}});
  relay.request(client, input);
  relay.reply(client, input);
  relay.request(client, input);
  relay.disconnected();
}
