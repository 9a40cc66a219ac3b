// tests/fuzz/small_agent.cpp - see small_agent.h.
#include "small_agent.h"

#include "target.h"

namespace millrace::fuzz {
namespace {

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

const CredentialSigner& signer() {
  static const auto one = CredentialSigner::from_cluster_key(std::string(key_size, 'k'));
  return *one;
}

constexpr std::uint64_t first_session = 100;

AgentSettings settings_of_node() {
  AgentSettings settings;
  settings.node = "n1", settings.boot_id = "boot", settings.first_session = first_session;
  return settings;
}

}  // namespace

struct SmallAgent::Parts {
  SimWorld world{1};
  SimProcess loop{world};
  QuietSupervisors supervisors;
  NoMeasurements measurements;
  OneDialer dialer;
  Agent agent{loop, dialer, supervisors, measurements, settings_of_node(), {}};
  std::uint64_t sequence = 0;
};

SmallAgent::SmallAgent() : parts_(std::make_unique<Parts>()) {
  parts_->agent.start();
  run();
  wire::ToAgent welcome;
  welcome.mutable_welcome()->set_verify_key(signer().verify_key());
  welcome.mutable_welcome()->set_heartbeat_seconds(5);
  obey(std::move(welcome));
  must(parts_->agent.is_welcome(), "an agent hears its controller");
}

SmallAgent::~SmallAgent() = default;

void SmallAgent::run() {
  const Time until = parts_->world.now() + milliseconds(100);
  while (parts_->world.next_at() <= until) parts_->world.step();
}

void SmallAgent::obey(wire::ToAgent message) {
  message.set_epoch(1);
  message.set_session(first_session + parts_->dialer.dials);
  message.set_sequence(++parts_->sequence);
  if (message.has_launch()) message.mutable_launch()->set_signature(signer().sign(message.launch().credential()));
  obey(message.SerializeAsString());
  run();
}

void SmallAgent::obey(std::string_view bytes) { parts_->dialer.handler->message(bytes); }

SupervisorObserver& SmallAgent::observer() { return *parts_->supervisors.agent; }

}  // namespace millrace::fuzz
