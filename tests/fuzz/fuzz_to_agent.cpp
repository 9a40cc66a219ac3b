// tests/fuzz/fuzz_to_agent.cpp - orders to an agent: numbered and signed as the controller would, so that they are
// read.
#include "agent/agent.h"
#include "sim/sim_world.h"
#include "target.h"
#include "task.pb.h"
#include "wire/credential.h"
#include "wire/frame.h"

using namespace millrace;

namespace {

class QuietSupervisors final : public Supervisors {
 public:
  std::vector<wire::AttemptStatus> adopt(SupervisorObserver&) override { return {}; }
  void launch(const wire::LaunchPlan&, const wire::Credential&) override {}
  void kill(const wire::Kill&) override {}
  void signal(const wire::SignalAttempt&) override {}
  void suspend(const wire::Suspend&) override {}
  void tell_keeper(const wire::StepToNode&) override {}
  void tell_step(const wire::StepOrder&) override {}
  void forget(const wire::Forget&) override {}
};

class NoMeasurements final : public Measurements {
 public:
  wire::Inventory inventory() override { return {}; }
  wire::Telemetry telemetry() override { return {}; }
};

class OneDialer final : public Dialer {
 public:
  class DeafLink final : public Link {
   public:
    void send(std::string) override {}
    void close() override {}
    std::size_t unsent() const override { return 0; }
  };
  std::unique_ptr<Link> dial(LinkHandler& to) override {
    handler = &to;
    ++dials;
    return std::make_unique<DeafLink>();
  }
  LinkHandler* handler = nullptr;
  std::uint64_t dials = 0;
};

}  // namespace

FUZZ_SEEDS(to_agent) {
  wire::ToAgent launch, kill, step, relayed;
  wire::Credential credential;
  credential.set_job_key(7);
  credential.set_nodes("n[1-2]");
  credential.set_boot_id("boot");
  credential.set_expires_at_us(INT64_MAX);
  launch.mutable_launch()->set_credential(credential.SerializeAsString());
  launch.mutable_launch()->mutable_plan()->set_job_key(7);
  launch.mutable_launch()->mutable_plan()->set_nodes("n[1-2]");
  kill.mutable_kill()->set_job_key(7);
  step.mutable_step()->set_job_key(7);
  relayed.mutable_relayed()->set_client(1);
  std::vector<std::string> out;
  for (const wire::ToAgent* each : {&launch, &kill, &step, &relayed}) {
    wire::MpiPairs pairs;
    pairs.add_keys(each->SerializeAsString());
    out.push_back(pairs.SerializeAsString());
  }
  return out;
}

FUZZ_BINARY(to_agent) {
  static const auto signer = CredentialSigner::from_cluster_key(std::string(key_size, 'k'));
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 12) return;
  SimWorld world(1);
  SimProcess loop(world);
  QuietSupervisors supervisors;
  NoMeasurements measurements;
  OneDialer dialer;
  AgentSettings settings;
  settings.node = "n1", settings.boot_id = "boot", settings.first_session = 100;
  Agent agent(loop, dialer, supervisors, measurements, settings, {});
  const auto run = [&] {
    const Time until = world.now() + milliseconds(100);
    while (world.next_at() <= until) world.step();
  };
  agent.start();
  run();
  std::uint64_t sequence = 0;
  const auto tell = [&](wire::ToAgent& message) {
    message.set_epoch(1);
    message.set_session(99 + dialer.dials);
    message.set_sequence(++sequence);
    if (message.has_launch()) message.mutable_launch()->set_signature(signer->sign(message.launch().credential()));
    dialer.handler->message(message.SerializeAsString());
    run();
  };
  wire::ToAgent welcome;
  welcome.mutable_welcome()->set_verify_key(signer->verify_key());
  welcome.mutable_welcome()->set_heartbeat_seconds(5);
  tell(welcome);
  dialer.handler->message(input);
  for (const std::string& each : pairs.keys()) {
    wire::ToAgent message;
    if (message.ParseFromString(each)) tell(message);
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
