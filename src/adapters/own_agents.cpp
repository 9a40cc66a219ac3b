// src/adapters/own_agents.cpp - see own_agents.h.
#include "adapters/own_agents.h"

#include "adapters/agent_words.h"
#include "adapters/client_words.h"
#include "agent.pb.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/request_limits.h"
#include "wire/step_busy.h"

namespace millrace {
namespace {

// A link that nobody reads ends with 2 * reply_size_max, and the node with it. A launch that does not fit below that is
// given again, by the controller or by the step manager of its step.
constexpr std::size_t launches_below = 2 * reply_size_max - (32u << 20);
constexpr std::size_t words_below = 1u << 20;  // so much is on its way when a word of a client joins it
constexpr std::size_t words_max = step_manager_backlog_max;
static_assert(request_size_max + envelope_max + words_below < (32u << 20), "a word fits behind launches");
constexpr std::int64_t registrations_at_once = 100;
constexpr std::int64_t beats_kept = 2;  // heartbeats for which a silent agent keeps its place from another machine

const char* order_name(const wire::ToAgent& message) {
  using B = wire::ToAgent::BodyCase;
  switch (message.body_case()) {
    case B::kWelcome:
      return "welcome";
    case B::kLaunch:
      return "launch";
    case B::kKill:
      return "kill";
    case B::kForget:
      return "forget";
    case B::kSignal:
      return "signal";
    case B::kRelayed:
      return "relayed answer";
    case B::kStop:
      return "stop";
    case B::kRefusal:
      return "refusal";
    case B::kHeard:
      return "heartbeat";
    case B::kStep:
      return "word to the step manager";
    case B::kSuspend:
      return "suspend";
    case B::kStepOrder:
      return "order to a step";
    case B::kReboot:
      return "reboot";
    case B::kReadConfiguration:
      return "order to read the configuration";
    case B::kSetLogging:
      return "level of the log";
    default:
      return "message";
  }
}

}  // namespace

class OwnAgents::Session final : public LinkHandler {
 public:
  Session(OwnAgents& agents, KeyName key) : agents_(agents), key_(std::move(key)), identity_(key_.node) {}
  void message(std::string_view bytes) override {
    // Before it is read: a key of one node must not take all memory.
    if (const auto problem = agent_word_over_limit(bytes))
      return agents_.left(*this, "said more than an agent may: " + *problem);
    wire::ToController message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return agents_.left(*this, "sent a message that cannot be read");
    agents_.received(*this, message);
  }
  void closed(std::string_view why) override { agents_.left(*this, why); }

  // Why another agent of this name has to wait. The next process of this one takes its place at once; a machine that
  // has booted comes while the connection from before may still look alive, but nothing is heard on it any more.
  std::optional<std::string> keeps_place(const wire::AgentHello& hello) const {
    const Duration silent = agents_.loop_.steady() - heard_at_;
    const Duration enough = seconds(beats_kept * std::int64_t{agents_.settings_.heartbeat_seconds});
    if (silent >= enough || (hello.boot_id() == boot_id_ && hello.spool_id() == spool_id_)) return std::nullopt;
    return "another machine with a key of this name is connected and was heard " +
           std::to_string(silent.value / 1'000'000) + " s ago; it counts until it has been silent for " +
           std::to_string(enough.value / 1'000'000) + " s";
  }

  OwnAgents& agents_;
  const KeyName key_;
  const std::string& identity_;
  std::unique_ptr<Link> link_;
  std::vector<Task> waiting_;  // for the agent to read
  ClientWords words_{words_max};
  std::uint64_t session_ = 0;  // the agent's number; 0 until its hello
  std::uint64_t heard_ = 0;    // highest sequence seen from it
  std::uint64_t sent_ = 0;
  std::optional<Duration> told_ahead_;  // our clock, as it was last told: ahead of the one that nobody sets
  bool relay_only_ = false;
  Time heard_at_;                   // by the clock that nobody sets
  std::string boot_id_, spool_id_;  // as its hello said
  std::uint64_t number_ = 0;
};

OwnAgents::OwnAgents(Loop& loop, const CredentialSigner& signer, Settings settings,
                     std::function<void(const std::string&)> say)
    : loop_(loop),
      signer_(signer),
      settings_(std::move(settings)),
      say_(std::move(say)),
      say_often_([this](const std::string&, const std::string& line) { say_(line); }) {}
OwnAgents::~OwnAgents() = default;

void OwnAgents::serve(ResourceObserver& observer, Epoch epoch, RelayHooks relay) {
  observer_ = &observer;
  epoch_ = epoch;
  relay_ = std::move(relay);
}

LinkHandler& OwnAgents::accept(std::unique_ptr<Link> link, KeyName key) {
  auto session = std::make_unique<Session>(*this, std::move(key));
  session->link_ = std::move(link);
  Session* raw = session.get();
  session->number_ = ++arrived_;
  const auto what = [&] { return "connection of node " + raw->identity_ + " accepted"; };
  lines_->debug(what);
  lines_->about(DebugFlag::network, what);
  sessions_.emplace(session->number_, std::move(session));
  return *raw;
}

OwnAgents::Session* OwnAgents::of_node(const std::string& node) {
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? nullptr : it->second;
}

OwnAgents::Session* OwnAgents::of_relay(RelayId relay) {
  const auto it = sessions_.find(relay);
  return it == sessions_.end() ? nullptr : it->second.get();
}

void OwnAgents::received(Session& session, const wire::ToController& message) {
  if (message.has_hello()) {
    // A doubled or delayed hello of an older connection must not put the clock back.
    if (session.session_ != 0 && message.session() <= session.session_) return;
    session.session_ = message.session();
    session.heard_ = message.sequence();
    session.sent_ = 0;
    session.told_ahead_.reset();
    return hello(session, message.hello());
  }
  if (session.session_ == 0 || message.session() != session.session_ || message.sequence() <= session.heard_) return;
  if (of_node(session.identity_) != &session) return;  // not let in: it is nobody
  session.heard_ = message.sequence();
  session.heard_at_ = loop_.steady();
  if (message.has_report()) {
    if (message.report().has_telemetry()) {  // a heartbeat: it wants to know that we are here
      wire::ToAgent heard;
      heard.mutable_heard();
      send(session, heard);
    }
    if (!session.relay_only_)
      observer_->node_reported(*this, session.identity_, reports_of(message.report().attempts()),
                               message.report().telemetry());
  } else if (message.has_step() && !session.relay_only_) {
    observer_->step_manager_said(*this, session.identity_, message.step());
  } else if (message.has_sample() && !session.relay_only_) {
    observer_->step_sampled(*this, session.identity_, message.sample());
  } else if (message.has_relayed() && relay_.request) {
    const auto& relayed = message.relayed();
    relay_.request(session.number_, session.key_, relayed.client(), UserId{relayed.uid()}, GroupId{relayed.gid()},
                   relayed.request());
  } else if (message.has_relay_closed() && relay_.closed) {
    relay_.closed(session.number_, message.relay_closed().client());
  }
}

// The link still takes the words to the agent; whatever else it has sent is not looked at.
void OwnAgents::refuse(Session& session, const std::string& reason) {
  say_often_(session.identity_ + " refused", "agent " + session.identity_ + " refused: " + reason);
  wire::ToAgent refusal;
  refusal.mutable_refusal()->set_reason(reason);
  send(session, refusal);
  end(session);
}

// What a node is becomes an event, which the log keeps and everybody is shown. One that says something else each time
// has to take its time: one for each heartbeat, and some at once. To come back as it was costs nothing.
bool OwnAgents::may_register(const std::string& node, const wire::AgentHello& hello) {
  wire::AgentHello what = hello;
  what.clear_attempts();
  what.clear_clock_us();
  const std::string digest = sha256(what.SerializeAsString());
  Registrations& known = registrations_[node];
  if (digest == known.last) return true;
  const Time now = loop_.steady();
  const Duration beat = seconds(std::int64_t{settings_.heartbeat_seconds});
  const Time paid = std::max(known.paid_until, now) + beat;
  if (paid > now + beat * registrations_at_once) return false;
  known.paid_until = paid;
  known.last = digest;
  return true;
}

void OwnAgents::hello(Session& session, const wire::AgentHello& hello) {
  if (hello.protocol() != protocol_version)
    return refuse(session, "it speaks protocol " + std::to_string(hello.protocol()) + ", we speak " +
                               std::to_string(protocol_version));
  if (hello.node() != session.identity_)
    return refuse(session, "it says it is node " + hello.node() + ", but its key is that of " + session.identity_);
  if (hello.relay_only() && session.key_.role != KeyRole::login && session.key_.role != KeyRole::login_root)
    return refuse(session, "its key is that of a compute node; a relay needs one of `millrace key node " +
                               session.identity_ + " --login`");
  if (!may_register(session.identity_, hello))
    return refuse(session, "it says too often that it has become another one; it may again in some seconds");
  Session* older = of_node(session.identity_);
  if (older == &session && hello.relay_only() != session.relay_only_)
    return refuse(session, "it says that it is a node, and that it is a relay");
  // A newer connection of the same agent replaces the older one. Two machines would do so to each other for ever, and
  // each time all jobs of the node would be lost.
  if (older && older != &session) {
    if (const auto why = older->keeps_place(hello)) return refuse(session, *why);
    const RelayId gone = older->number_;
    by_node_.erase(session.identity_);
    sessions_.erase(gone);
    if (relay_.relay_gone) relay_.relay_gone(gone);
  }
  session.relay_only_ = hello.relay_only();
  session.heard_at_ = loop_.steady();
  session.boot_id_ = hello.boot_id();
  session.spool_id_ = hello.spool_id();
  by_node_[session.identity_] = &session;
  wire::ToAgent welcome;
  welcome.mutable_welcome()->set_verify_key(signer_.verify_key());
  welcome.mutable_welcome()->set_heartbeat_seconds(settings_.heartbeat_seconds);
  welcome.mutable_welcome()->set_cluster(settings_.cluster_name);
  welcome.mutable_welcome()->set_configuration(configuration_number());
  send(session, welcome);
  if (session.relay_only_)
    return say_often_(session.identity_ + " connected", "relay " + session.identity_ + " connected");
  observer_->node_registered(*this, registration_of(hello, session.identity_));
}

void OwnAgents::revoke(const std::string& node, std::uint32_t generation) {
  std::vector<Session*> revoked;
  for (const auto& [number, session] : sessions_)
    if (session->identity_ == node && session->key_.role != KeyRole::munge && session->key_.generation < generation)
      revoked.push_back(session.get());
  for (Session* session : revoked) left(*session, "its key was revoked");
}

void OwnAgents::left(Session& session, std::string_view why) {
  const std::string& node = session.identity_;
  say_often_(node + " disconnected: " + std::string{why}, "agent " + node + " disconnected: " + std::string{why});
  end(session);
}

void OwnAgents::end(Session& session) {
  const std::string node = session.identity_;
  const RelayId number = session.number_;
  const bool current = of_node(node) == &session;
  const bool was_node = current && !session.relay_only_;
  if (current) by_node_.erase(node);
  sessions_.erase(number);
  if (current && relay_.relay_gone) relay_.relay_gone(number);
  if (was_node && observer_) observer_->node_unreachable(*this, node);
}

void OwnAgents::send(Session& session, wire::ToAgent& message) {
  message.set_epoch(epoch_.value);
  message.set_session(session.session_);
  message.set_sequence(++session.sent_);
  // It is our clock by which launches expire, whatever the node's own says.
  const Time now = loop_.now();
  const Duration ahead = now - loop_.steady();
  const auto differs = [&](Duration told) { return ahead - told > seconds(1) || told - ahead > seconds(1); };
  if (!session.told_ahead_ || message.has_heard() || differs(*session.told_ahead_)) {
    message.set_clock_us(now.value);
    session.told_ahead_ = ahead;
  }
  const auto what = [&] {
    return std::string{order_name(message)} + " to node " + session.identity_ + " (" + std::to_string(session.sent_) +
           ")";
  };
  if (message.has_heard())
    lines_->debug3(what);
  else
    lines_->debug2(what);
  if (!message.has_heard()) lines_->about(DebugFlag::agent, what);
  session.link_->send(message.SerializeAsString());
}

void OwnAgents::launch(const std::string& node, const wire::LaunchPlan& plan, const Owner& owner,
                       const std::string& boot_id) {
  Session* session = of_node(node);
  if (!session) return;
  const std::size_t unsent = session->link_->unsent();
  if (unsent != 0 && unsent + plan.ByteSizeLong() > launches_below) return;
  wire::ToAgent message;
  wire::Launch& launch = *message.mutable_launch();
  *launch.mutable_plan() = plan;
  wire::Credential credential;
  credential.set_cluster(settings_.cluster_name);
  credential.set_job_key(plan.job_key());
  credential.set_job_id(plan.job_id());
  credential.set_attempt(plan.attempt());
  if (plan.has_step()) credential.set_step(plan.step());
  credential.set_uid(owner.uid.value);
  credential.set_gid(owner.gid.value);
  for (const std::uint32_t gid : owner.groups) credential.add_groups(gid);
  credential.set_user_name(owner.user_name);
  credential.set_nodes(plan.nodes());
  credential.set_expires_at_us((loop_.now() + settings_.credential_life).value);
  credential.set_plan_digest(sha256(plan.SerializeAsString()));
  credential.set_epoch(epoch_.value);
  credential.set_boot_id(boot_id);
  launch.set_credential(credential.SerializeAsString());
  launch.set_signature(signer_.sign(launch.credential()));
  send(*session, message);
}

void OwnAgents::kill(const std::string& node, const wire::Kill& kill) {
  Session* session = of_node(node);
  if (!session) return;
  wire::ToAgent message;
  *message.mutable_kill() = kill;
  send(*session, message);
}

void OwnAgents::forget(const std::string& node, const wire::Forget& forget) {
  Session* session = of_node(node);
  if (!session) return;
  wire::ToAgent message;
  *message.mutable_forget() = forget;
  send(*session, message);
}

// What clients cause waits for its turn: launches, kills and what else we want of the node do not stand behind it.
bool OwnAgents::pass_on(Session& session, JobKey job, wire::ToAgent& message, bool must_arrive) {
  if (session.words_.empty() && session.link_->unsent() < words_below) return send(session, message), true;
  if (!must_arrive && !session.words_.has_room_for(job, message.ByteSizeLong())) return false;
  const bool first = session.words_.empty();
  session.words_.add(job, message.SerializeAsString());
  if (first) send_words(session);
  return true;
}

void OwnAgents::send_words(Session& session) {
  while (!session.words_.empty() && session.link_->unsent() < words_below) {
    wire::ToAgent message;
    if (message.ParseFromString(*session.words_.next())) send(session, message);
  }
  if (!session.words_.empty())
    when_unsent_below(session.number_, words_below, [this, number = session.number_] {
      if (Session* there = of_relay(number)) send_words(*there);
    });
}

bool OwnAgents::tell_step_manager(const std::string& node, const wire::StepToNode& step) {
  Session* session = of_node(node);
  if (!session) return true;  // lost, as with a link that breaks
  wire::ToAgent message;
  *message.mutable_step() = step;
  return pass_on(*session, JobKey{step.job_key()}, message, !is_from_client(step));
}

void OwnAgents::signal(const std::string& node, const wire::SignalAttempt& signal) {
  Session* session = of_node(node);
  if (!session) return;
  wire::ToAgent message;
  *message.mutable_signal() = signal;
  pass_on(*session, JobKey{signal.job_key()}, message, false);
}

void OwnAgents::suspend(const std::string& node, const wire::Suspend& suspend) {
  Session* session = of_node(node);
  if (!session) return;
  wire::ToAgent message;
  *message.mutable_suspend() = suspend;
  send(*session, message);
}

bool OwnAgents::tell_step(const std::string& node, const wire::StepOrder& order) {
  Session* session = of_node(node);
  if (!session) return true;
  wire::ToAgent message;
  *message.mutable_step_order() = order;
  return pass_on(*session, JobKey{order.job_key()}, message, false);
}

void OwnAgents::set_logging(const std::string& node, const wire::SetLogging& wish) {
  Session* session = of_node(node);
  if (!session) return;
  wire::ToAgent message;
  *message.mutable_set_logging() = wish;
  send(*session, message);
}

void OwnAgents::reboot(const std::string& node) {
  Session* session = of_node(node);
  if (!session) return;
  wire::ToAgent message;
  message.mutable_reboot();
  send(*session, message);
}

void OwnAgents::read_configuration() {
  ++configuration_;
  for (const auto& [node, session] : by_node_) {
    wire::ToAgent message;
    message.mutable_read_configuration()->set_configuration(configuration_number());
    send(*session, message);
  }
}

void OwnAgents::stop_nodes() {
  for (const auto& [node, session] : by_node_) {
    wire::ToAgent message;
    message.mutable_stop();
    send(*session, message);
  }
}

// Later, because it may be its own word that is being heard.
void OwnAgents::start_again(const std::string& node) {
  const Session* session = of_node(node);
  if (!session) return;
  loop_.post([this, number = session->number_] {
    const auto found = sessions_.find(number);
    if (found != sessions_.end()) left(*found->second, "it has to register anew");
  });
}

void OwnAgents::reply_relayed(RelayId relay, std::uint64_t client, std::string reply) {
  Session* session = of_relay(relay);
  if (!session) return;
  wire::ToAgent message;
  message.mutable_relayed()->set_client(client);
  message.mutable_relayed()->set_reply(std::move(reply));
  send(*session, message);
}

std::size_t OwnAgents::unsent_to(RelayId relay) {
  const Session* session = of_relay(relay);
  return session ? session->link_->unsent() : 0;
}

void OwnAgents::when_unsent_below(RelayId relay, std::size_t bytes, Task then) {
  Session* session = of_relay(relay);
  if (!session) return;  // its clients are gone with it
  session->waiting_.push_back(std::move(then));
  if (session->waiting_.size() > 1) return;
  session->link_->when_unsent_below(bytes, [this, relay] {
    Session* there = of_relay(relay);
    if (!there) return;
    for (Task& each : std::exchange(there->waiting_, {})) each();
  });
}

}  // namespace millrace
