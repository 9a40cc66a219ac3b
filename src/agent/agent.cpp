// src/agent/agent.cpp - see agent.h.
#include "agent/agent.h"

#include <algorithm>

#include "base/constant_time.h"
#include "base/hostlist.h"
#include "wire/credential.h"
#include "wire/frame.h"
#include "wire/launch_plan_check.h"
#include "wire/report_words.h"
#include "wire/request_limits.h"

namespace millrace {

namespace {

constexpr Duration running_report_wait = milliseconds(100);
constexpr Duration backoff_min = milliseconds(100);
constexpr Duration backoff_max = seconds(2);
constexpr int silent_beats_max = 3;

bool names_node(const std::string& nodes, const std::string& node) {
  if (nodes == node) return true;
  const auto names = expand_hostlist(nodes);
  return names && std::ranges::find(*names, node) != names->end();
}

}  // namespace

Agent::Agent(Loop& loop, Dialer& dialer, Supervisors& supervisors, Measurements& measurements, AgentSettings settings,
             AgentHooks hooks)
    : loop_(loop),
      dialer_(dialer),
      supervisors_(supervisors),
      measurements_(measurements),
      settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      lines_(hooks_.lines ? *hooks_.lines : silent_),
      highest_epoch_(settings_.highest_epoch),
      heartbeat_(settings_.heartbeat),
      session_(settings_.first_session),
      backoff_(backoff_min) {}

Agent::~Agent() {
  loop_.cancel(report_timer_);
  loop_.cancel(reconnect_timer_);
  loop_.cancel(beat_timer_);
}

void Agent::log(std::string text) const {
  if (hooks_.log) hooks_.log(text);
}

void Agent::start() {
  for (const wire::AttemptStatus& status : supervisors_.adopt(*this)) {
    wire::AttemptStatus& kept = attempts_[name_of(status)] = status;
    if (kept.problem().size() > problem_bytes_max) kept.mutable_problem()->resize(problem_bytes_max);
  }
  for (const auto& [name, status] : std::map(attempts_)) follow_steps(name, status);  // ends nobody followed up
  connect();
}

void Agent::connect() {
  reconnect_timer_ = 0;
  ++session_;
  sent_ = received_ = 0;
  welcome_ = false;
  verify_key_.clear();
  last_heard_ = loop_.steady();
  lines_.debug([&] { return "connecting to the controller, session " + std::to_string(session_); });
  lines_.about(DebugFlag::network, [&] { return "connecting to the controller, session " + std::to_string(session_); });
  link_ = dialer_.dial(*this);
  wire::ToController message;
  wire::AgentHello* hello = message.mutable_hello();
  hello->set_protocol(protocol_version);
  hello->set_node(settings_.node);
  hello->set_boot_id(settings_.boot_id);
  hello->set_version(settings_.version);
  hello->set_relay_only(settings_.relay_only);
  hello->set_dynamic(settings_.dynamic);
  hello->set_configuration(settings_.configuration);
  hello->set_spool_id(settings_.spool_id);
  hello->set_clock_us(loop_.now().value);
  *hello->mutable_inventory() = measurements_.inventory();
  for (const auto& [name, status] : attempts_) *hello->add_attempts() = as_reported(name, status);
  send(std::move(message));
  if (beat_timer_ == 0) beat_timer_ = loop_.after(heartbeat_, [this] { beat(); });
}

void Agent::disconnect(std::string_view why) {
  if (!link_) return;
  log("connection to the controller lost: " + std::string{why});
  link_.reset();
  welcome_ = false;
  loop_.cancel(std::exchange(beat_timer_, 0));
  reconnect_timer_ = loop_.after(backoff_, [this] { connect(); });
  backoff_ = std::min(backoff_ * 2, backoff_max);
  relay_.disconnected();
}

void Agent::closed(std::string_view why) { disconnect(why); }

void Agent::beat() {
  beat_timer_ = 0;
  if (!link_) return;
  if (loop_.steady() - last_heard_ > heartbeat_ * silent_beats_max)
    return disconnect("nothing heard for three heartbeats");
  look_at_killed();
  if (welcome_) send_report(true);
  beat_timer_ = loop_.after(heartbeat_, [this] { beat(); });
}

void Agent::send(wire::ToController message) {
  if (!link_) return;
  message.set_session(session_);
  message.set_sequence(++sent_);
  std::string bytes = message.SerializeAsString();
  // With more than an agent may say the controller ends the connection, which is all jobs'.
  if (const auto problem = agent_word_over_limit(bytes)) return log("not sent to the controller: " + *problem);
  link_->send(std::move(bytes));
}

void Agent::attempt_changed(const wire::AttemptStatus& status) {
  const AttemptName name = name_of(status);
  wire::AttemptStatus& kept = attempts_[name];
  const bool is_unkillable = status.state() != wire::AttemptStatus::ENDED && status.problem() == kill_failed;
  if (is_unkillable && kept.problem() != kill_failed && hooks_.unkillable) hooks_.unkillable(status);
  kept = status;
  if (kept.problem().size() > problem_bytes_max) kept.mutable_problem()->resize(problem_bytes_max);
  lines_.verbose([&] {
    const bool ended = status.state() == wire::AttemptStatus::ENDED;
    return "attempt " + text_of(name) +
           (ended ? " ended with " + std::to_string(status.exit_code()) + ":" + std::to_string(status.exit_signal())
            : status.in_prolog() ? " is in its prolog"
                                 : " runs") +
           (status.problem().empty() ? "" : ": " + status.problem());
  });
  follow_steps(name, status);
  // That something runs is no news to whoever ordered it: it can wait for company, or for the end of a short job.
  if (status.state() == wire::AttemptStatus::RUNNING_NOW)
    report_within(running_report_wait);
  else
    report_soon();
}

// Many changes make one report: those of one turn of the loop, or of `wait`.
void Agent::report_within(Duration wait) {
  if (report_timer_ != 0) {
    if (report_at_ <= loop_.steady() + wait) return;
    loop_.cancel(report_timer_);
  }
  report_at_ = loop_.steady() + wait;
  report_timer_ = loop_.after(wait, [this] {
    report_timer_ = 0;
    send_report(false);
  });
}

void Agent::send_report(bool with_telemetry) {
  if (!welcome_) return;  // the hello of the next session brings it
  wire::ToController message;
  wire::AgentReport* report = message.mutable_report();
  for (const auto& [name, status] : attempts_) *report->add_attempts() = as_reported(name, status);
  if (with_telemetry) *report->mutable_telemetry() = measurements_.telemetry();
  lines_.debug3([&] {
    return "report of " + std::to_string(attempts_.size()) + " attempts" + (with_telemetry ? " with telemetry" : "");
  });
  send(std::move(message));
}

void Agent::message(std::string_view bytes) {
  wire::ToAgent message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return disconnect("the controller sent something that is no message");
  if (!is_in_order(message)) return;
  last_heard_ = loop_.steady();
  if (message.clock_us() != 0) {
    controller_clock_ = Time{message.clock_us()};
    clock_heard_ = last_heard_;
  }
  if (message.epoch() > highest_epoch_) {
    highest_epoch_ = message.epoch();
    if (hooks_.epoch_rose) hooks_.epoch_rose(highest_epoch_);
  }
  obey(message);
}

// Launches expire by the clock of whoever signed them. Ours may be wrong, and may be set while we look.
Time Agent::controller_now() const {
  return controller_clock_.is_set() ? controller_clock_ + (loop_.steady() - clock_heard_) : loop_.now();
}

bool Agent::is_in_order(const wire::ToAgent& message) {
  if (message.session() != session_) return false;  // meant for a connection before this one
  if (message.epoch() < highest_epoch_) {
    // It does not know yet that another leads. Not hearing us is the least it can notice.
    disconnect("the controller's epoch " + std::to_string(message.epoch()) + " is older than " +
               std::to_string(highest_epoch_));
    return false;
  }
  if (message.sequence() <= received_) return false;
  // Before the welcome nothing can be checked. Counting what came early would make the welcome itself look old.
  if (!welcome_ && !message.has_welcome() && !message.has_refusal()) return false;
  received_ = message.sequence();
  return true;
}

void Agent::obey(const wire::ToAgent& message) {
  const auto what = [&] {
    return "order " + std::to_string(message.sequence()) + " of kind " + std::to_string(message.body_case()) +
           " from the controller, epoch " + std::to_string(message.epoch());
  };
  lines_.debug3(what);
  lines_.about(DebugFlag::protocol, what);
  switch (message.body_case()) {
    case wire::ToAgent::kWelcome:
      return be_welcome(message.welcome());
    case wire::ToAgent::kLaunch:
      return launch(message.launch());
    case wire::ToAgent::kKill:
      if (attempts_.contains(name_of(message.kill()))) return kill(message.kill());
      return bury_unlaunched(message.kill());
    case wire::ToAgent::kForget:
      return forget(message.forget());
    case wire::ToAgent::kSignal:
      return signal(message.signal());
    case wire::ToAgent::kSuspend:
      return suspend(message.suspend());
    case wire::ToAgent::kStep:
      return supervisors_.tell_step_manager(message.step());
    case wire::ToAgent::kStepOrder:
      return supervisors_.tell_step(message.step_order());
    case wire::ToAgent::kRelayed:
      return relay_.reply(message.relayed().client(), message.relayed().reply());
    case wire::ToAgent::kRefusal:
      backoff_ = backoff_max;
      return disconnect("refused: " + message.refusal().reason());
    case wire::ToAgent::kStop:
      if (hooks_.stop) hooks_.stop();
      return;
    case wire::ToAgent::kReboot:
      if (hooks_.reboot) hooks_.reboot();
      return;
    case wire::ToAgent::kReadConfiguration:
      return know_configuration(message.read_configuration().configuration());
    case wire::ToAgent::kSetLogging:
      if (hooks_.set_logging) hooks_.set_logging(message.set_logging());
      return;
    case wire::ToAgent::kHeard:
    case wire::ToAgent::BODY_NOT_SET:
      return;  // newer controllers may say more than we know
  }
}

// The first number is that of the files as they were read at the start.
void Agent::know_configuration(std::uint64_t number) {
  const std::uint64_t known = std::exchange(configuration_, number);
  if (known != 0 && number != 0 && known != number && hooks_.read_configuration) hooks_.read_configuration();
}

void Agent::be_welcome(const wire::Welcome& welcome) {
  verify_key_ = welcome.verify_key();
  cluster_ = welcome.cluster();
  if (welcome.heartbeat_seconds() != 0) heartbeat_ = seconds(welcome.heartbeat_seconds());
  welcome_ = true;
  backoff_ = backoff_min;
  loop_.cancel(beat_timer_);
  beat_timer_ = loop_.after(heartbeat_, [this] { beat(); });
  log("registered with cluster " + cluster_);
  know_configuration(welcome.configuration());
  relay_.connected({[this](const wire::RelayedRequest& request) {
                      wire::ToController message;
                      *message.mutable_relayed() = request;
                      send(std::move(message));
                    },
                    [this](Relay::ClientId client) {
                      wire::ToController message;
                      message.mutable_relay_closed()->set_client(client);
                      send(std::move(message));
                    },
                    [this] { return link_ ? link_->unsent() : 0; },
                    [this](std::size_t bytes, Task then) {
                      if (link_) link_->when_unsent_below(bytes, std::move(then));
                    }});
  send_report(true);
}

// Refusals that only mean "not for us" or "not believable" are dropped, because answering would end an attempt that may
// be well elsewhere or that nobody asked for. Where the credential is the controller's own and for this node, the
// attempt ends as LAUNCH_FAILED with words, so that the job does not wait for ever.
void Agent::launch(const wire::Launch& launch) {
  if (!verify_credential(verify_key_, launch.credential(), launch.signature()))
    return log("launch dropped: the credential is not signed by this cluster's controller");
  wire::Credential credential;
  if (!credential.ParseFromString(launch.credential())) return log("launch dropped: the credential cannot be read");
  const AttemptName name = name_of(credential);
  if (attempts_.contains(name)) return report_soon();  // sent twice: it runs, or it has ended, once
  if (credential.cluster() != cluster_) return log("launch dropped: it is for cluster " + credential.cluster());
  if (!names_node(credential.nodes(), settings_.node))
    return log("launch dropped: attempt " + text_of(name) + " is for " + credential.nodes() + ", not for us");
  // The hello has told the controller of the new boot, which ends the attempt as a failure of the node; a launch
  // failure from us would be a second, different end.
  if (credential.boot_id() != settings_.boot_id && credential.boot_id() != settings_.boot_id + "/" + settings_.spool_id)
    return log("launch dropped: attempt " + text_of(name) + " was placed before this node booted or lost its spool");
  credential.set_boot_id(settings_.boot_id);
  // Signed under another leader: the one we listen to makes its own if it still wants this.
  if (credential.epoch() != highest_epoch_)
    return log("launch dropped: attempt " + text_of(name) + " was signed in epoch " +
               std::to_string(credential.epoch()));
  if (settings_.relay_only)
    return refuse_launch(credential, "this agent only relays and runs no jobs", wire::AttemptStatus::OF_NODE);
  if (!equal_in_constant_time(sha256(launch.plan().SerializeAsString()), credential.plan_digest()))
    return refuse_launch(credential, "the plan is not the one the controller signed");
  if (name_of(launch.plan()) != name || launch.plan().node_name() != settings_.node)
    return refuse_launch(credential, "the plan is for another job or node than the credential");
  if (const auto good = check_plan(launch.plan()); !good) return refuse_launch(credential, good.error().story);
  // Long on its way, or read late: whoever misses it in our reports gives it again.
  if (controller_now().value > credential.expires_at_us()) {
    log("launch dropped: attempt " + text_of(name) + " expired " +
        std::to_string((controller_now().value - credential.expires_at_us()) / 1'000'000) + " s ago");
    return report_soon();
  }
  lines_.verbose([&] {
    return "launch of attempt " + text_of(name) + ": JobId=" + std::to_string(credential.job_id()) +
           " for UID=" + std::to_string(credential.uid());
  });
  if (name.is_step())
    lines_.about(DebugFlag::steps, [&] {
      return "launch of JobId=" + std::to_string(credential.job_id()) + " StepId=" + std::to_string(name.step) +
             " for UID=" + std::to_string(credential.uid());
    });
  supervisors_.launch(launch.plan(), credential);
}

void Agent::refuse_launch(const wire::Credential& credential, std::string problem, wire::AttemptStatus::Cause cause) {
  log("launch of attempt " + text_of(name_of(credential)) + " refused: " + problem);
  wire::AttemptStatus status;
  status.set_job_key(credential.job_key());
  status.set_attempt(credential.attempt());
  if (credential.has_step()) status.set_step(credential.step());
  status.set_state(wire::AttemptStatus::ENDED);
  status.set_end(wire::AttemptStatus::LAUNCH_FAILED);
  status.set_exit_signal(53);  // as Slurm's accounting shows it
  status.set_problem(std::move(problem));
  status.set_cause(cause);
  status.set_ended_at_us(loop_.now().value);
  attempt_changed(status);
}

// Killed before it was launched: a launch that still comes in this session is older and dropped, one of an earlier
// session too, so it never runs here. It ends now, and is reported until the controller says that its end is durable.
void Agent::bury_unlaunched(const wire::Kill& kill) {
  wire::AttemptStatus status;
  status.set_job_key(kill.job_key());
  status.set_attempt(kill.attempt());
  if (kill.has_step()) status.set_step(kill.step());
  status.set_state(wire::AttemptStatus::ENDED);
  status.set_end(wire::AttemptStatus::EXITED);
  status.set_exit_signal(15);
  status.set_ended_at_us(loop_.now().value);
  attempt_changed(status);
}

void Agent::forget(const wire::Forget& forget) {
  const auto found = attempts_.find(name_of(forget));
  if (found == attempts_.end()) return report_soon();
  if (found->second.state() != wire::AttemptStatus::ENDED) return log("forget dropped: the attempt has not ended");
  lines_.debug2([&] { return "attempt " + text_of(name_of(forget)) + " is recorded and forgotten"; });
  supervisors_.forget(forget);
  attempts_.erase(found);
  report_soon();
}

}  // namespace millrace
