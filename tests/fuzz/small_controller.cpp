// tests/fuzz/small_controller.cpp - see small_controller.h.
#include "small_controller.h"

#include <map>

#include "adapters/own_agents.h"
#include "agent.pb.h"
#include "client.pb.h"
#include "controller/controller.h"
#include "controller/requests/sessions.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"
#include "sim/sim_world.h"
#include "sim/watched_controller.h"
#include "small_state.h"
#include "target.h"
#include "task.pb.h"
#include "wire/event_codec.h"
#include "wire/frame.h"

namespace millrace::fuzz {
namespace {

// Everything is durable at once; payloads stay in memory.
class MemoryLog final : public EventLog {
 public:
  explicit MemoryLog(Loop& loop) : loop_(loop) {}
  void append(Batch batch, Durable done) override {
    for (const std::string& event : batch.events)
      must(decode_event(event).has_value(), "an event that was written is read back");
    for (auto& [id, bytes] : batch.payloads) payloads_[id] = std::move(bytes);
    for (std::string& event : batch.events) events.push_back(std::move(event));
    loop_.post([done = std::move(done), index = events.size()]() mutable { done(index); });
  }
  Room room(std::uint64_t) const override { return full ? Room::reserve_only : Room::enough; }
  bool has_payload(const PayloadId& id) const override { return payloads_.contains(id); }
  void read_payload(const PayloadId& id, std::move_only_function<void(Result<std::string>)> done) override {
    const auto it = payloads_.find(id);
    done(it == payloads_.end() ? Result<std::string>{fail(Errc::not_found, "no such payload")} : it->second);
  }
  void write_snapshot(std::uint64_t, std::string state, std::vector<PayloadId>,
                      std::move_only_function<void(Result<void>)> done) override {
    must(decode_state(state).has_value(), "a snapshot that was written is read back");
    done({});
  }
  std::uint64_t bytes_since_snapshot() const override { return 0; }
  std::vector<std::string> events;
  bool full = false;

 private:
  Loop& loop_;
  std::map<PayloadId, std::string> payloads_;
};

class AnyIdentity final : public Identities {
 public:
  void find(UserId uid, GroupId gid, std::move_only_function<void(Result<UserIdentity>)> done) override {
    const std::string name = uid.value == 0 ? "root" : uid.value == 1000 ? "alice" : "u" + std::to_string(uid.value);
    done(UserIdentity{uid, gid, name, "users", {gid.value}});
  }
};

class DeafLink final : public Link {
 public:
  explicit DeafLink(Task gone) : gone_(std::move(gone)) {}
  ~DeafLink() override { gone_(); }
  void send(std::string) override {}
  void close() override {}
  std::size_t unsent() const override { return 0; }

 private:
  Task gone_;
};

const CredentialSigner& signer() {
  static const auto made = CredentialSigner::from_cluster_key(std::string(key_size, 'k'));
  return *made;
}

}  // namespace

struct SmallController::Parts {
  Parts()
      : loop(world),
        plan_worker(world, loop, milliseconds(1)),
        query_worker(world, loop, milliseconds(1)),
        log(loop),
        agents(loop, signer(), OwnAgents::Settings{"c", 1}, [](const std::string&) {}) {}
  ~Parts() { loop.kill(); }
  SimWorld world{1};
  SimProcess loop;
  SimWorker plan_worker, query_worker;
  MemoryLog log;
  AnyIdentity identities;
  Sessions sessions;
  struct Agent {
    LinkHandler* handler = nullptr;
    std::uint64_t sequence = 0, connection = 0;
  };
  std::map<std::string, Agent> nodes;  // their links tell them of their ends
  OwnAgents agents;
  std::unique_ptr<Controller> controller;
  std::map<std::uint32_t, ClientId> clients;
  std::string answer;  // the last one
  std::uint64_t number = 0;
  State first;  // what it began with
};

namespace {

const State& usual_state() {
  static const State state = small_state();
  return state;
}

}  // namespace

SmallController::SmallController() : SmallController(usual_state()) {}

SmallController::SmallController(State state) : parts_(std::make_unique<Parts>()) {
  static const ClusterConfigured cluster = small_cluster();
  Parts& p = *parts_;
  p.first = state;
  ControllerSettings settings;
  settings.crontabs = settings.user_triggers = true;
  settings.slurm_user = UserId{990};
  settings.ask_all_laws = true;
  ControllerHooks hooks;
  hooks.say = bugs_go_to([](const std::string& bug) {
    std::fprintf(stderr, "%s\n", bug.c_str());
    must(false, "no request leads to a decision that breaks a law");
  });
  p.controller = std::make_unique<Controller>(
      Controller::Parts{p.loop, p.log, p.plan_worker, p.query_worker, p.identities, p.sessions, nullptr}, settings,
      std::move(hooks), std::move(state));
  p.sessions.serve(*p.controller);
  p.controller->add_manager(p.agents);
  p.controller->start(cluster, [&p] { p.agents.serve(*p.controller, p.controller->epoch()); });
  run();
  for (const std::string node : {"n1", "n2"}) {
    wire::ToController hello;
    hello.mutable_hello()->set_protocol(protocol_version);
    hello.mutable_hello()->set_node(node);
    hello.mutable_hello()->set_boot_id("boot");
    hello.mutable_hello()->mutable_inventory()->set_cpus(8);
    hello.mutable_hello()->mutable_inventory()->set_sockets(2);
    hello.mutable_hello()->mutable_inventory()->set_cores_per_socket(4);
    hello.mutable_hello()->mutable_inventory()->set_threads_per_core(1);
    hello.mutable_hello()->mutable_inventory()->set_memory_mib(1000);
    from_agent(node, hello.SerializeAsString());
  }
  run();
}

SmallController::~SmallController() {
  const auto broken = broken_law(parts_->controller->durable());
  if (broken) std::fprintf(stderr, "%s\n", broken->c_str());
  must(!broken, "the laws of the ledger hold after any request");
}

wire::Reply SmallController::request(std::uint32_t uid, std::string_view bytes) {
  wire::Request ask;
  if (!ask.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  ask.set_protocol(protocol_version);
  ask.set_number(++parts_->number);  // one that is not answered may not be used again
  ClientId& client = parts_->clients[uid];
  if (client == 0)
    client = parts_->sessions.accept_relayed(UserId{uid}, GroupId{uid},
                                             [this](std::string answer) { parts_->answer = std::move(answer); });
  parts_->answer.clear();
  parts_->sessions.relayed_message(client, ask.SerializeAsString());
  run();
  wire::Reply reply;
  must(reply.ParseFromString(parts_->answer), "an answer can be read");
  return reply;
}

void SmallController::from_agent(const std::string& node, std::string_view bytes) {
  wire::ToController message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  Parts::Agent& agent = parts_->nodes[node];
  if (agent.handler == nullptr || message.has_hello()) {
    auto link = std::make_unique<DeafLink>([&agent, mine = ++agent.connection] {
      if (agent.connection == mine) agent.handler = nullptr;
    });
    agent.handler = &parts_->agents.accept(std::move(link), node);
    agent.sequence = 0;
  }
  message.set_session(1);
  message.set_sequence(++agent.sequence);
  // A relay may be told of clients only by those who are one; what it carries is the target `request`.
  if (message.has_relayed() || message.has_relay_closed()) return;
  agent.handler->message(message.SerializeAsString());
  run();
}

const State& SmallController::durable() const { return parts_->controller->durable(); }

State SmallController::replayed() const {
  State state = parts_->first;
  for (const std::string& bytes : parts_->log.events) millrace::apply(state, *decode_event(bytes));
  return state;
}

void SmallController::fill_disk(bool full) { parts_->log.full = full; }

void SmallController::run() {
  const Time until = parts_->world.now() + seconds(3);
  while (parts_->world.next_at() <= until) parts_->world.step();
}

}  // namespace millrace::fuzz
